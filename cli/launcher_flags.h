// SPDX-License-Identifier: MIT
// `--launcher-flags NAME` and `--launcher-flags NAME=FILE`: arguments that make a launcher train the job of an answer.
#pragma once

#include <string>

#include "cli/output.h"
#include "cli/session.h"
#include "experiment/experiment.h"
#include "experiment/launchers/launcher.h"

namespace orrery::cli {

struct LauncherFlags {
  std::string option;  // as it is given; empty: not at all

  bool wanted() const { return !option.empty(); }
  // Parts of the option: the launcher, InputError where none has this name, and the file; empty: none.
  experiment::Launcher launcher() const;
  std::string file() const;
  // Arguments of a job.
  experiment::WrittenLaunch of(const experiment::Experiment& experiment) const;
  // Before the work: InputError for an unknown launcher, and where the file cannot be written or is another output.
  void check(const Outputs& outputs) const;
};

// `of`: whose arguments they are, as "the best plan".
void add_launcher_flags(CLI::App& command, LauncherFlags& flags, std::string_view of);

// Adds arguments to the answer: to its document, and behind its text unless they go to a file, which is written.
void add_flags(const LauncherFlags& flags, const experiment::WrittenLaunch& launch, Answer& answer);

}  // namespace orrery::cli
