// SPDX-License-Identifier: MIT
#include "study/validate/traces/traces.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/files/interruption.h"
#include "experiment/runs/run.h"
#include "report/parts.h"
#include "workload/import/kineto/kineto.h"

extern char** environ;

namespace orrery::study {
namespace {

namespace fs = std::filesystem;

// A folder that goes away.
class ScratchFolder {
 public:
  ScratchFolder() : path_(fs::temp_directory_path() / "orrery-traces-XXXXXX") {
    std::string name = path_.string();
    if (mkdtemp(name.data()) == nullptr)
      throw InputError({name}, "no folder can be made to unpack traces", "set TMPDIR to a folder with room");
    path_ = name;
    unfinished_.emplace(name, Unfinished::Kind::kFolder);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  std::optional<Unfinished> unfinished_;
};

bool is_archive(const std::string& file) { return file.find(".tar.") != std::string::npos; }

// Unpacks by `tar`, which knows the compressions; returns whether it could.
bool unpack(const fs::path& archive, const fs::path& folder) {
  std::string program = "tar", extract = "-xf", from = archive.string(), change = "-C", to = folder.string();
  std::array<char*, 6> arguments = {program.data(), extract.data(), from.data(), change.data(), to.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1 /* O_WRONLY */, 0);
  pid_t child = 0;
  const int spawned = posix_spawnp(&child, "tar", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  return spawned == 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The files of the table, unpacked; why they are not to be had in `skipped`.
std::vector<std::string> trace_files(const TraceTable& table, const fs::path& data, const ScratchFolder& scratch,
                                     std::string& skipped) {
  std::vector<std::string> files;
  for (const std::string& name : table.traces) {
    const fs::path path = data / name;
    std::error_code error;
    if (!fs::is_regular_file(path, error)) {
      skipped = fmt::format("{} is not there", path.lexically_normal().string());
      return {};
    }
    if (!is_archive(name)) {
      files.push_back(path.string());
      continue;
    }
    if (!unpack(path, scratch.path())) {
      skipped = fmt::format("{} cannot be unpacked: that takes tar, gzip and zstd", path.lexically_normal().string());
      return {};
    }
  }
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(scratch.path()))
    if (entry.is_regular_file() && !entry.path().filename().string().starts_with('.'))
      files.push_back(entry.path().string());
  std::ranges::sort(files);
  return files;
}

// The experiment with its traces.
ConfigValue experiment_of(const TraceTable& table, const std::vector<std::string>& traces, const fs::path& scratch,
                          const ConfigFiles& files, Diagnostics& diagnostics) {
  const auto scalar = [&](std::string text) {
    return ConfigValue{ConfigValue::Kind::kScalar, table.where, std::move(text), {}, {}};
  };
  ConfigValue experiment = table.experiment;
  if (!table.prefix.empty()) {
    set_value(experiment, "workload.chakra.prefix", scalar((scratch / table.prefix).string()), files, diagnostics);
    return experiment;
  }
  ConfigValue list{ConfigValue::Kind::kList, table.where, {}, {}, {}};
  for (const std::string& trace : traces) list.items.push_back(scalar(fs::absolute(trace).string()));
  set_value(experiment, "workload.profile", std::move(list), files, diagnostics);
  return experiment;
}

// Time of a rank's operations on the device.
Duration time_on_device(const experiment::Run& run, RankId rank) {
  Duration sum{};
  const workload::ExecutionGraph& graph = run.job.graph(rank);
  for (const system::OperationRecord& operation : run.log.of(run.acting[index_of(rank)]))
    if (workload::is_on_device(graph.kind(operation.node))) sum += operation.end - operation.moving;
  return sum;
}

// Time that the first rank spends in collectives of all ranks, counted from the arrival of the last rank.
Duration time_in_collectives(const experiment::Run& run) {
  Duration sum{};
  const workload::ExecutionGraph& graph = run.job.graph(RankId{0});
  for (const system::OperationRecord& operation : run.log.of(run.acting[0])) {
    if (graph.kind(operation.node) != workload::NodeKind::kCollective) continue;
    const GroupId group = run.job.communicator(RankId{0}, operation.node);
    if (run.job.communicators[index_of(group)].members.size() == run.job.ranks.size())
      sum += operation.end - operation.moving;
  }
  return sum;
}

// The shares of the replayed step, mean over ranks.
void add_shares(const experiment::Run& run, Prediction& replayed) {
  double as_recorded = 0, communicating = 0, waiting = 0;
  for (const report::Part& part : report::mean_parts(run.result)) {
    const double share = part.seconds / replayed.seconds;
    if (part.kind == report::PartKind::kCommunication) communicating += share;
    if (part.kind == report::PartKind::kWait) waiting += share;
    if (part.kind == report::PartKind::kCompute || part.kind == report::PartKind::kHost) as_recorded += share;
  }
  replayed.facts["as_recorded"] = as_recorded;
  replayed.facts["simulated"] = communicating;
  replayed.facts["waiting"] = waiting;
}

// Beside what the profiles say themselves.
void add_overlaps(const workload::KinetoFacts& recorded, const experiment::Run& run, Prediction& replayed) {
  if (recorded.has_common_clock && recorded.exchanging > Duration::zero()) {
    replayed.facts["calls_measured_s"] = seconds(recorded.exchanging);
    replayed.facts["calls_simulated_s"] = seconds(time_in_collectives(run));
  }
  replayed.facts["overlap_measured"] =
      (seconds(recorded.computing) + seconds(recorded.communicating)) / seconds(recorded.longest);
  replayed.facts["overlap_replayed"] = seconds(time_on_device(run, RankId{0})) / replayed.seconds;
}

// Stands for the table and the contents of its files: the experiment names folders that go away.
std::string key_of_replay(const TraceTable& table, const fs::path& data) {
  std::vector<std::string> files;
  for (const std::string& name : table.traces) files.push_back((data / name).string());
  return key_of(fmt::format("validate {} {}", table.name, table.step.value_or(Duration::zero()).count()),
                table.experiment, files);
}

Prediction replay(const TraceTable& table, const fs::path& data, const ConfigFiles& files,
                  const experiment::RunProgress& progress) {
  const ScratchFolder scratch;
  std::string skipped;
  const std::vector<std::string> traces = trace_files(table, data, scratch, skipped);
  if (!skipped.empty()) return {0, {}, {{"skipped", skipped}}};
  Diagnostics diagnostics;
  ConfigValue root = experiment_of(table, traces, scratch.path(), files, diagnostics);
  diagnostics.throw_if_errors();
  const experiment::Experiment experiment =
      experiment::read_experiment(table.where.file, std::move(root), files, diagnostics);
  const experiment::Run run = experiment::run_experiment(experiment, true, diagnostics, progress);
  workload::KinetoFacts recorded;
  Diagnostics repeated;  // the run has them
  const bool profiles = table.prefix.empty();
  if (profiles)
    workload::import_kineto(traces, repeated, {experiment.jobs.front().workload.profile->symmetric}, &recorded);
  Prediction replayed{seconds(report::iteration_time(run.result)),
                      seconds(table.step.value_or(recorded.measured)),
                      {{"ranks", run.job.ranks.size()},
                       {"profiles", recorded.profiles},
                       {"overlap_measured", 0.0},
                       {"overlap_replayed", 0.0}}};
  add_shares(run, replayed);
  if (profiles) add_overlaps(recorded, run, replayed);
  return replayed;
}

// InputError where none of the recordings is in the folder: a table without a row is no answer.
void refuse_missing(const MeasuredRows& traces, const std::string& folder) {
  if (!std::ranges::all_of(traces, is_skipped)) return;
  std::string first;
  if (!traces.empty())
    first = fmt::format(": {}: {}", traces.front().table->name, traces.front().facts["skipped"].get<std::string>());
  throw InputError({folder}, fmt::format("has none of the recordings that are replayed{}", first),
                   std::string(kNoRecordings));
}

}  // namespace

void read_table(Section& section, TraceTable& table) {
  table.name = read_words(section, "table", "its name, which no other table has");
  table.where = section.where("table");
  table.title = read_words(section, "title", "how results call it");
  table.source = read_words(section, "source", "where it was published, with its licence");
  table.measured = read_words(section, "measured", "the machine, in the words of the source");
  table.traces = section.words("traces", "the files, and archives that tar unpacks, in the folder of the data");
  if (table.traces.empty()) section.error("traces", "'traces' names no file");
  section.accepts("prefix", table.prefix, "of Chakra traces, their prefix in the archive; without it: profiles");
  section.takes("step", table.step, "the step as measured; of profiles by default what they say");
  section.accepts("step_from", table.step_from, "how `step` was measured");
  section.accepts("miss", table.miss, "why the replay is far off");
  if (!table.prefix.empty() && !table.step) section.error("step", "Chakra traces need the measured 'step'");
  const ConfigValue* experiment = section.raw("experiment", "map", "required",
                                              "the machine, and how the traces are read: an experiment without them");
  if (experiment == nullptr || experiment->kind != ConfigValue::Kind::kMap)
    section.error("experiment", "'experiment' must be a map", "the keys are those of docs/config.md");
  else
    table.experiment = *experiment;
}

MeasuredRows validate_traces(std::span<const TraceTable> tables, const fs::path& data, const ConfigFiles& files,
                             Points* points) {
  MeasuredRows traces;
  for (const TraceTable& table : tables) traces.push_back({&table, 0, table.name, table.title, table.where});
  predict_rows(
      traces,
      [&](std::size_t trace, const RowPoint& point) {
        const auto key = [&] { return key_of_replay(tables[trace], data); };
        point.answer(key, [&] { return replay(tables[trace], data, files, point.progress()); });
      },
      points, "traces");
  for (Measured& trace : traces) trace.scored = !is_skipped(trace);
  return traces;
}

bool is_skipped(const Measured& trace) { return trace.facts.contains("skipped"); }

Validated validate_replays(const ValidationRequest& request) {
  if (request.recordings.empty())
    return {fmt::format("Recorded steps: not replayed; {}, and --traces-from DIR names their folder\n", kNoRecordings)};
  const std::vector<TraceTable> tables = list_tables<TraceTable>(request.files);
  const MeasuredRows traces = validate_traces(tables, request.recordings, request.files, request.points);
  refuse_missing(traces, request.recordings);
  return {trace_validation_text(traces), traces_json(traces)};
}

}  // namespace orrery::study
