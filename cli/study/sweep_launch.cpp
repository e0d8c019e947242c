// SPDX-License-Identifier: MIT
#include "cli/study/sweep_launch.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "cli/output.h"
#include "core/config/quantity_text.h"
#include "core/error.h"
#include "core/files/read_file.h"
#include "core/sha256.h"
#include "study/launch/array.h"
#include "study/launch/process.h"
#include "study/launch/slurm.h"
#include "study/sweep/collection.h"

namespace orrery::cli {
namespace {

constexpr std::size_t kUsualTasks = 64;
constexpr std::size_t kLargestScript = std::size_t{1} << 20;  // bytes

std::filesystem::path absolute_folder(const std::string& out) {
  std::error_code code;
  std::filesystem::path folder = std::filesystem::weakly_canonical(out, code);
  return code ? std::filesystem::absolute(out) : folder;
}

std::vector<std::string> words_in(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), std::istream_iterator<std::string>()};
}

// The same for every sweep to this folder, so that a later one finds the tasks of one that was cut off.
study::SlurmArray array_of(const LaunchOptions& options, unsigned cores, const std::string& out) {
  const std::filesystem::path folder = absolute_folder(out);
  study::SlurmArray array;
  array.name = "orrery-" + sha256_of(folder.string()).substr(0, 12);
  array.logs = (folder / "slurm").string();
  array.script = array.logs + "/task.sh";
  array.partition = options.partition;
  array.time_limit = options.time_limit;
  array.at_a_time = options.array_limit;
  array.cores = cores;
  array.arguments = words_in(options.sbatch_arguments);
  return array;
}

// What every task runs: this program, with the part of the points that its number says.
std::string script_of(const LaunchedSweep& launched, std::size_t tasks, const std::string& fingerprint,
                      const Session& session) {
  std::vector<std::string> words = {std::filesystem::read_symlink("/proc/self/exe").string(), "sweep", launched.file};
  for (const std::string& setting : session.settings) words.push_back("--set=" + setting);
  for (const std::string& constraint : launched.where) words.push_back("--where=" + constraint);
  if (session.allow_oom) words.push_back("--allow-oom");
  words.push_back(fmt::format("--jobs={}", launched.cores));
  words.push_back("--out=" + session.outputs.out);
  std::string command;
  for (const std::string& word : words) command += study::shell_word(word) + " ";
  return fmt::format(
      "#!/bin/sh\n"
      "# One task of {} of a sweep, submitted by `orrery sweep --launcher slurm`.\n"
      "# The points are {}.\n"
      "cd {} || exit\n"
      "exec {}--shard \"$((SLURM_ARRAY_TASK_ID + 1))/{}\"\n",
      tasks, fingerprint, study::shell_word(std::filesystem::current_path().string()), command, tasks);
}

// Tasks of before go on if they do the same. The shell that runs the script reads it as Slurm has copied it.
void prepare_array(const study::SlurmArray& array, const std::string& script, const Session& session,
                   const std::function<bool()>& is_stopped) {
  make_folder(array.logs, {}, FolderUse::kShared);
  if (beginning_of_file(array.script, kLargestScript) == script) return;
  if (const std::size_t ended = study::end_array(array, is_stopped); ended > 0)
    spdlog::warn("warning: cancelled {} of another sweep to {}", counted(ended, "task"),
                 printable(session.outputs.out));
  write_file(array.script, script, Telling::kNone);
}

}  // namespace

void add_launch_options(CLI::App& command, LaunchOptions& options) {
  command
      .add_option("--launcher", options.launcher,
                  "Who simulates: this machine, or tasks of a job array (docs/sweeps.md)")
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

void check_launch(const LaunchOptions& options, const std::string& file, const Outputs& outputs) {
  const LaunchOptions usual;
  if (!options.is_slurm()) {
    const auto refuse = [](const char* option) {
      throw InputError({option}, "is of a job array of Slurm", "add --launcher slurm, or leave it out");
    };
    if (options.tasks != usual.tasks) refuse("--tasks");
    if (options.array_limit != usual.array_limit) refuse("--array-limit");
    if (!options.partition.empty()) refuse("--partition");
    if (!options.time_limit.empty()) refuse("--time-limit");
    if (options.retries != usual.retries) refuse("--retries");
    if (!options.sbatch_arguments.empty()) refuse("--sbatch-args");
    return;
  }
  if (outputs.out.empty())
    throw InputError({"--launcher"}, "slurm keeps results in a folder that all machines see", "name it: --out DIR");
  if (file == kStandardInput)
    throw InputError({"--launcher"}, "the tasks of a job array cannot read standard input",
                     "write the sweep to a file and name that");
}

void end_launched(const Session& session, const std::function<bool()>& is_stopped) {
  study::end_array(array_of({}, 1, session.outputs.out), is_stopped);
}

std::vector<study::SweepPoint> launch_sweep(const LaunchOptions& options, const LaunchedSweep& launched,
                                            const study::Sweep& sweep, const study::SweepOptions& sweep_options,
                                            const Session& session, const study::PointDone& done) {
  study::check_slurm();
  study::PointCollection collection(sweep, sweep_options, session.files);
  if (sweep_options.is_stopped()) return collection.take_points();
  const std::size_t tasks = options.tasks > 0 ? options.tasks : std::min(sweep.point_count(), kUsualTasks);
  collection.collect(done);
  if (const std::size_t found = sweep_options.store->found(); found > 0)
    spdlog::info("{} of {} points were there from before", found, sweep.point_count());
  const study::SlurmArray array = array_of(options, launched.cores, session.outputs.out);
  prepare_array(array, script_of(launched, tasks, collection.fingerprint(), session), session,
                sweep_options.is_stopped);
  study::ArrayWork work;
  work.collect = [&] {
    collection.collect(done);
    return collection.missing(tasks);
  };
  work.is_stopped = sweep_options.is_stopped;
  work.tell = [](const std::string& text) { spdlog::info("{}", text); };
  study::run_array(array, options.retries, work);
  return collection.take_points();
}

}  // namespace orrery::cli
