// SPDX-License-Identifier: MIT
// A sweep whose points other machines simulate: as a job array of Slurm, into a folder that all of them see.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "cli/session.h"
#include "study/sweep/sweep.h"

namespace orrery::cli {

struct LaunchOptions {
  std::string launcher = "local";
  std::size_t tasks = 0;  // 0: one for a point, up to 64
  std::string partition;
  std::string time_limit;
  std::size_t array_limit = 0;
  std::size_t retries = 3;
  std::string sbatch_arguments;

  bool is_slurm() const { return launcher == "slurm"; }
};

void add_launch_options(CLI::App& command, LaunchOptions& options);

// InputError if options of a launcher are given without it, or do not go with the sweep's file or folder.
void check_launch(const LaunchOptions& options, const std::string& file, const Outputs& outputs);

// What a task is to do, as for its own command line.
struct LaunchedSweep {
  std::string file;
  std::vector<std::string> where;  // as --where has them
  unsigned cores = 1;              // of a task
};

// Cancels the tasks of a sweep to this folder that wait or run, and waits for their end.
void end_launched(const Session& session, const std::function<bool()>& is_stopped);

// All points; those that are missing were not simulated because it was stopped. `done` as run_sweep() calls it.
std::vector<study::SweepPoint> launch_sweep(const LaunchOptions& options, const LaunchedSweep& launched,
                                            const study::Sweep& sweep, const study::SweepOptions& sweep_options,
                                            const Session& session, const study::PointDone& done);

}  // namespace orrery::cli
