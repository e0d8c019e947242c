// SPDX-License-Identifier: MIT
// `run --seeds`: a study, which `orrery-study` does.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/point_options.h"

namespace orrery::cli {

// The experiment with so many seeds, as the options of `run` say.
struct SeedsRequest {
  std::string experiment;
  std::vector<std::string> settings;
  bool fast_forward = true;
  std::size_t count = 1;
  const PointOptions& points;
};

// Prints and writes how the iteration times are distributed; returns the exit code.
int run_seeds(const SeedsRequest& request, const Session& session);

}  // namespace orrery::cli
