// SPDX-License-Identifier: MIT
// Options of `orrery run` beside those that commands share.
#pragma once

#include <cstddef>
#include <string>

#include "cli/launcher_flags.h"
#include "cli/point_options.h"

namespace orrery::cli {

struct RunOptions {
  std::string experiment;
  std::string ranks = "classes";  // of the tables in --out
  bool gzip = false;              // those tables
  bool deterministic = false;
  bool no_fold = false;
  bool verify_fold = false;
  bool no_fast_forward = false;
  bool critical_path = false;
  bool details = false;
  std::string timeline;
  std::string timeline_ranks = "classes";
  bool schedule = false;         // as text
  std::string schedule_svg;      // file
  std::string width = "column";  // of that
  std::string figures;           // names, in place of the summary
  bool csv = false;
  std::string sources;    // format of the list of figures, in place of the summary
  bool cost = false;      // of `perturb`
  std::size_t seeds = 0;  // to simulate with; 0: its own only
  PointOptions points;    // of these
  LauncherFlags flags;
};

}  // namespace orrery::cli
