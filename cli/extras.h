// SPDX-License-Identifier: MIT
// Answers that only `orrery-study` gives to options of `run` and `compare`: drawings, pages, arguments of launchers,
// seeds. kExtraOptions (cli/commands.h) names these options: `orrery` hands a command line that has one of them over.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/output.h"
#include "cli/own_commands.h"
#include "cli/pictures.h"
#include "cli/point_options.h"
#include "cli/run_options.h"
#include "experiment/experiment.h"
#include "experiment/launchers/launcher.h"
#include "experiment/runs/run.h"
#include "report/plot/picture.h"
#include "report/rank_choice.h"
#include "study/compare/compare.h"

namespace orrery::cli {

// The experiment with so many seeds, as the options of `run` say.
struct SeedsRequest {
  std::string experiment;
  std::vector<std::string> settings;
  bool fast_forward = true;
  std::size_t count = 1;
  const PointOptions& points;
};

class Extras {
 public:
  virtual ~Extras() = default;

  // `run --seeds`: prints and writes how the iteration times are distributed; returns the exit code.
  virtual int run_seeds(const SeedsRequest& request, const Session& session) const = 0;

  // Arguments of a job for a launcher, and what they leave out, as comments.
  virtual experiment::WrittenLaunch launcher_arguments(experiment::Launcher launcher,
                                                       const experiment::Experiment& experiment) const = 0;
  virtual std::string unsaid_text(const experiment::WrittenLaunch& launch) const = 0;

  // The look of a picture that is as wide as the text of --width says, which must not be empty; InputError where it is
  // no width.
  virtual report::PictureLook look_of_width(const std::string& width) const = 0;
  virtual void write_comparison(const PictureOptions& options, const std::vector<study::NamedResult>& runs) const = 0;

  virtual void write_timeline(const RunOptions& options, const experiment::Run& run,
                              const report::RankChoice& choice) const = 0;
  // The schedule as text, which --schedule adds to the answer.
  virtual std::string schedule_of_run(const experiment::Run& run) const = 0;
  virtual void write_schedule(const RunOptions& options, const experiment::Run& run) const = 0;

  virtual Page page_of_run(const RunOptions& options, const experiment::Run& run) const = 0;
  virtual std::string page_text(const Page& page) const = 0;
};

}  // namespace orrery::cli
