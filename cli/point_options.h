// SPDX-License-Identifier: MIT
// The options of all commands that simulate variants of an experiment: how many at a time, where their results are
// kept, which part of them this program has, who else simulates them. cli/study/points.h does what they say.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

#include "cli/session.h"
#include "core/in_parallel.h"

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

struct PointOptions {
  const CLI::App* command = nullptr;
  const CLI::Option* jobs_option = nullptr;
  unsigned jobs = hardware_threads();
  bool fresh = false;
  bool merge = false;
  bool watch = false;  // draws the answer as its points come
  std::string shard;
  LaunchOptions launch;
  // Options of the command that concern its answer alone: no task gets them, and no part takes them.
  std::vector<std::string> of_answer{"--json", "--html"};

  // True if others simulate, and their results are only read as they come.
  bool follows() const { return merge && watch; }
  bool is_part() const { return merge || !shard.empty(); }
  // Options of a launched task.
  unsigned cores() const { return jobs_option->count() > 0 ? jobs : 1; }
};

// Adds the options; `what` they simulate, as "points". `of_answer`: more options than --json and --html.
void add_points(CLI::App& command, PointOptions& options, const std::string& what,
                std::initializer_list<std::string> of_answer = {});
// The names of the options that it adds.
const std::vector<std::string>& point_option_names();

}  // namespace orrery::cli
