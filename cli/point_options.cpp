// SPDX-License-Identifier: MIT
#include "cli/point_options.h"

#include <fmt/format.h>

namespace orrery::cli {
namespace {

void add_launch_options(CLI::App& command, LaunchOptions& options) {
  command
      .add_option("--launcher", options.launcher,
                  "Who simulates: this machine, or tasks of a job array (docs/points.md)")
      ->check(one_of("--launcher", {"local", "slurm"}));
  command.add_option("--tasks", options.tasks, "slurm: tasks of the array (default: one per point, at most 64)")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000).description(""));
  command.add_option("--array-limit", options.array_limit, "slurm: tasks that run at a time (default: all that fit)")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000).description(""));
  command.add_option("--partition", options.partition, "slurm: partition (default: Slurm's own)")->type_name("NAME");
  command.add_option("--time-limit", options.time_limit, "slurm: time limit of a task, as sbatch --time has it")
      ->type_name("TIME");
  command
      .add_option("--retries", options.retries,
                  "slurm: how often a task without a new result starts again (default: 3)")
      ->type_name("N")
      ->check(CLI::Range(0, 1000).description(""));
  command.add_option("--sbatch-args", options.sbatch_arguments, "slurm: more arguments, as \"--account=x --mem=4G\"")
      ->type_name("WORDS");
}

}  // namespace

void add_points(CLI::App& command, PointOptions& options, const std::string& what,
                std::initializer_list<std::string> of_answer) {
  options.command = &command;
  options.of_answer.insert(options.of_answer.end(), of_answer);
  add_jobs(command, options.jobs, what + " to simulate");
  options.jobs_option = command.get_option("--jobs");
  command
      .add_option("--shard", options.shard,
                  fmt::format("Simulate this part of the {}, as 1/4, or slurm for that of a job array", what))
      ->type_name("K/N");
  command.add_flag("--merge", options.merge, "Simulate nothing: the answer from what all shards have put in --out");
  add_launch_options(command, options.launch);
  command.add_flag("--fresh", options.fresh,
                   fmt::format("Simulate all {} again, also those with results in --out", what));
}

const std::vector<std::string>& point_option_names() {
  static const std::vector<std::string> kNames = {"--jobs",    "--shard",       "--merge",     "--launcher",
                                                  "--tasks",   "--array-limit", "--partition", "--time-limit",
                                                  "--retries", "--sbatch-args", "--fresh"};
  return kNames;
}

}  // namespace orrery::cli
