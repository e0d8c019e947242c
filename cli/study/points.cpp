// SPDX-License-Identifier: MIT
#include "cli/study/points.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "cli/output.h"
#include "core/config/quantity_text.h"
#include "core/error.h"
#include "core/files/output_file.h"
#include "core/files/read_file.h"
#include "core/files/shell_word.h"
#include "core/sha256.h"
#include "study/launch/process.h"
#include "study/launch/slurm.h"

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

// The same for every study that keeps its points in this folder, so that a later one finds the tasks of one that was
// cut off.
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

// The words of a command line as it was given, without some options.
std::vector<std::string> words_of(const CLI::App& command, std::span<const std::string> left_out) {
  std::vector<std::string> words = {command.get_name()};
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || std::ranges::find(left_out, name) != left_out.end()) continue;
    if (option->get_items_expected_max() == 0) {
      words.push_back(name);
      continue;
    }
    for (const std::string& value : option->results())
      words.push_back(option->get_positional() ? value : name + "=" + value);
  }
  return words;
}

// Script of every task: this command, with the part of the points that its number selects.
std::string script_of(const PointOptions& options, std::size_t tasks, const std::string& fingerprint) {
  std::vector<std::string> left_out = point_option_names();
  left_out.insert(left_out.end(), options.of_answer.begin(), options.of_answer.end());
  left_out.emplace_back("--format");
  std::string command = shell_word(std::filesystem::read_symlink("/proc/self/exe").string()) + " ";
  for (const std::string& word : words_of(*options.command, left_out)) command += shell_word(word) + " ";
  command += fmt::format("--jobs={} ", options.cores());
  return fmt::format(
      "#!/bin/sh\n"
      "# One task of {}, submitted by `orrery {} --launcher slurm`.\n"
      "# The points are {}.\n"
      "cd {} || exit\n"
      "exec {}--shard \"$((SLURM_ARRAY_TASK_ID + 1))/{}\"\n",
      tasks, options.command->get_name(), fingerprint, shell_word(std::filesystem::current_path().string()), command,
      tasks);
}

// Tasks of before go on if they do the same. The shell that runs the script reads it as Slurm has copied it.
void prepare_array(const study::SlurmArray& array, const std::string& script, const std::string& out,
                   const std::function<bool()>& is_stopped) {
  make_folder(array.logs, {}, FolderUse::kShared);
  if (beginning_of_file(array.script, kLargestScript) == script) return;
  if (const std::size_t ended = study::end_array(array, is_stopped); ended > 0)
    spdlog::warn("warning: cancelled {} of another study to {}", counted(ended, "task"), printable(out));
  write_file(array.script, script, Telling::kNone);
}

[[noreturn]] void refuse_shard(const std::string& text, std::string message) {
  throw InputError({"--shard"}, fmt::format("'{}' {}", printable(text, 40), message),
                   "the first of four: --shard 1/4; in a job array of Slurm: --shard slurm");
}

std::optional<std::int64_t> whole_variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::nullopt : parse_whole_number(text);
}

// Options of a launcher without one, or one without what it needs.
void check_launch(const LaunchOptions& options, const std::string& file, const std::string& out) {
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
  if (out.empty())
    throw InputError({"--launcher"}, "slurm keeps results in a folder that all machines see", "name it: --out DIR");
  if (file == kStandardInput)
    throw InputError({"--launcher"}, "the tasks of a job array cannot read standard input",
                     "write it to a file and name that");
}

// Ends a shard; --merge prints its results with those of the others.
void check_part(const PointOptions& options, const std::string& out) {
  if (!options.is_part()) return;
  const char* option = options.merge ? "--merge" : "--shard";
  if (options.launch.is_slurm())
    throw InputError({option}, "is of points whose parts are started by hand", "--launcher slurm does that, too");
  if (out.empty()) throw InputError({option}, "is of results that are kept in a folder", "name it: --out DIR");
  if (!options.shard.empty())
    for (const std::string& other : options.of_answer)
      if (const CLI::Option* given = options.command->get_option_no_throw(other);
          given != nullptr && given->count() > 0)
        throw InputError({"--shard"}, fmt::format("has no answer of its own, which {} asks for", other),
                         fmt::format("only --merge prints and writes one: give {} to it", other));
  if (std::error_code code; options.merge && !std::filesystem::is_directory(out + "/points", code))
    throw InputError({out}, "has no results of shards to merge", "the folder that --shard had as --out");
  if (options.merge && !options.shard.empty())
    throw InputError({"--merge"}, "collects what all shards found, and --shard is one of them",
                     "leave one of them out");
  if (options.fresh)
    throw InputError({"--fresh"}, fmt::format("would remove what other shards found, with {}", option),
                     "begin with an empty folder");
}

}  // namespace

void check_points(const PointOptions& options, const std::string& file, const Session& session) {
  check_part(options, session.outputs.out);
  check_launch(options.launch, file, session.outputs.out);
}

// "2/4"; "slurm": that of the task of a job array, whose numbers follow one another.
RunningPoints::Shard RunningPoints::read_shard(const std::string& text) {
  if (text == "slurm") {
    const auto id = whole_variable("SLURM_ARRAY_TASK_ID"), first = whole_variable("SLURM_ARRAY_TASK_MIN"),
               count = whole_variable("SLURM_ARRAY_TASK_COUNT");
    if (!id || !first || !count) refuse_shard(text, "needs the variables of a job array of Slurm, which are not set");
    if (*id < *first || *id - *first >= *count) refuse_shard(text, "needs a job array without gaps");
    return {static_cast<std::size_t>(*id - *first), static_cast<std::size_t>(*count)};
  }
  const std::size_t slash = text.find('/');
  const auto part = parse_whole_number(text.substr(0, slash));
  const auto parts = slash == std::string::npos ? std::nullopt : parse_whole_number(text.substr(slash + 1));
  if (!part || !parts || *part < 1 || *parts < *part) refuse_shard(text, "is no part of a study");
  return {static_cast<std::size_t>(*part - 1), static_cast<std::size_t>(*parts)};
}

RunningPoints::RunningPoints(const PointOptions& options, const Session& session, Stopping stopping)
    : choice_(options),
      session_(session),
      shard_(options.shard.empty() ? std::nullopt : std::optional(read_shard(options.shard))),
      points_(options_for_points(stopping)) {
  if (!options.fresh || !store_) return;
  const auto is_stopped = [this] { return is_interrupted(); };
  if (options.launch.is_slurm()) study::end_array(array_of({}, 1, out()), is_stopped);
  if (!is_interrupted()) store_->clear();
}

// Opens the store as well; whoever sees it may interrupt.
study::PointsOptions RunningPoints::options_for_points(Stopping stopping) {
  if (!out().empty() || stopping == Stopping::kAlways) interruption_.emplace();
  if (choice_.follows())
    store_.emplace(out() + "/points", study::PointStore::OnlyRead{});
  else if (!out().empty())
    store_.emplace(out() + "/points", shard_                      ? std::to_string(shard_->part)
                                      : choice_.launch.is_slurm() ? "launcher"
                                                                  : "");
  study::PointsOptions options;
  options.jobs = choice_.jobs;
  options.store = store_ ? &*store_ : nullptr;
  options.only_known = choice_.merge;
  if (shard_) options.part = shard_->part, options.parts = shard_->parts;
  options.is_stopped = [this] { return is_interrupted(); };
  options.progress = std::ref(progress_);
  options.is_watched = progress_.is_seen();
  if (choice_.follows()) options.wait_for_others = [this](const study::AwaitedPoints& awaited) { follow(awaited); };
  if (choice_.launch.is_slurm())
    options.wait_for_others = [this](const study::AwaitedPoints& awaited) { wait_for_slurm(awaited); };
  return options;
}

// Results that there are, none of which is of this study: the folder of another, or from before it was changed.
std::size_t RunningPoints::results_of_others(std::size_t missing, std::size_t all) const {
  return store_ && missing == all ? store_->keys().size() : 0;
}

void RunningPoints::follow(const study::AwaitedPoints& awaited) const {
  if (const std::size_t others = results_of_others(awaited.missing().size(), awaited.total); others > 0)
    spdlog::warn("warning: {} in {}, and none is of this sweep; waiting for those that will be",
                 counted(others, "result"), printable(out() + "/points"));
  while (!is_interrupted() && !awaited.missing().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(500));
}

void RunningPoints::wait_for_slurm(const study::AwaitedPoints& awaited) {
  const std::function<bool()> is_stopped = [this] { return is_interrupted(); };
  const std::size_t tasks = choice_.launch.tasks > 0 ? choice_.launch.tasks : std::min(awaited.total, kUsualTasks);
  if (!array_) {
    study::check_slurm();
    tell_found(awaited.total);
    study::SlurmArray array = array_of(choice_.launch, choice_.cores(), out());
    prepare_array(array, script_of(choice_, tasks, awaited.fingerprint), out(), is_stopped);
    tasks_ = tasks;
    array_.emplace(std::move(array), choice_.launch.retries, is_stopped,
                   [](const std::string& text) { spdlog::info("{}", text); });
  }
  const auto collect = [&] {
    std::vector<std::size_t> missing(tasks_);
    for (const std::size_t number : awaited.missing()) ++missing[number % tasks_];
    return missing;
  };
  array_->wait(collect, awaited.has_more);
}

// Returns whether the study has all its points.
bool RunningPoints::has_all(const std::function<void()>& study) {
  try {
    study();
  } catch (const study::PointsMissing&) {
    return false;
  } catch (const InputError&) {
    progress_.clear();
    if (points_.has_failed()) tell_kept();
    throw;
  }
  return points_.missing() == 0;
}

std::optional<int> RunningPoints::run(const std::function<void()>& study, const PointTexts& texts) {
  const bool is_complete = has_all(study);
  progress_.clear();
  if (array_) array_->end();
  if (store_)
    for (const std::string& file : store_->damaged())
      spdlog::warn("warning: {} is damaged; its point was simulated again", printable(file));
  tell_found(points_.wanted());
  if (is_interrupted() && !is_complete) {
    const std::string more = texts.when_stopped ? texts.when_stopped() : std::string();
    spdlog::error("error: interrupted{}", more);
    if (!choice_.follows()) tell_kept();
    return interruption_->exit_code();
  }
  if (shard_) return end_part(texts);
  if (!is_complete) refuse_missing();
  if (store_ && !choice_.follows()) clean_up();
  return std::nullopt;
}

// Ends a shard; --merge prints its results with those of the others.
int RunningPoints::end_part(const PointTexts& texts) const {
  print_text(fmt::format("shard {} of {}: {} of {} points{}, in {}\n", shard_->part + 1, shard_->parts, points_.done(),
                         points_.all(), texts.of_part ? texts.of_part() : std::string(), printable(out() + "/points")));
  return kDone;
}

void RunningPoints::refuse_missing() const {
  const std::size_t others = results_of_others(points_.missing(), points_.all());
  const std::string hint = others == 0 ? "run their shards"
                                       : fmt::format("the {} there are of another sweep: run the shards of this one",
                                                     counted(others, "result"));
  throw InputError({out()},
                   fmt::format("{} of {} points have no result yet; the first is point {}", points_.missing(),
                               points_.all(), points_.first_missing() + 1),
                   hint + ", or leave --merge out, which simulates them here");
}

void RunningPoints::tell_kept() const {
  if (store_)
    spdlog::info("{} of {} points are done and kept in {}; the same command goes on with the others", points_.done(),
                 points_.wanted(), printable(out() + "/points"));
}

void RunningPoints::tell_found(std::size_t total) {
  if (!std::exchange(told_found_, true) && points_.found() > 0)
    spdlog::info("{} of {} points were there from before", points_.found(), total);
}

// Everything is there: what stands beside it belongs to other experiments, or was half written.
void RunningPoints::clean_up() {
  if (const std::size_t others = store_->clear_others(); others > 0)
    spdlog::warn("warning: removed {} of other experiments or versions from {}", counted(others, "result"),
                 printable(out() + "/points"));
  remove_partial_files(out());
}

}  // namespace orrery::cli
