// SPDX-License-Identifier: MIT
// `orrery workload`: traces are summed up, checked, and made from jobs or from other formats.
#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "cli/output.h"
#include "cli/session.h"
#include "cli/study/import_launch.h"
#include "core/config/text.h"
#include "core/files/input_files.h"
#include "core/files/json.h"
#include "core/files/read_file.h"
#include "core/utf8.h"
#include "experiment/job.h"
#include "experiment/runs/check.h"
#include "report/screen/screen.h"
#include "workload/chakra/file.h"
#include "workload/import/format.h"
#include "workload/import/goal/goal.h"
#include "workload/import/kineto/kineto.h"
#include "workload/import/layers/layers.h"
#include "workload/tools/dump.h"
#include "workload/tools/inspect.h"
#include "workload/tools/lint.h"
#include "workload/tools/writer.h"
#include "workload/traces/files.h"
#include "workload/traces/roles.h"

namespace orrery::cli {
namespace {

// --- inspect, lint

struct WorkloadOptions {
  std::string trace;
  std::string groups;
  std::string dependencies = "both";
  bool dump = false;
};

workload::ChakraSource source_of(const WorkloadOptions& options) {
  workload::ChakraSource source{options.trace, std::nullopt, *workload::dependencies_named(options.dependencies)};
  if (!options.groups.empty())
    source.groups = options.groups;
  else if (!workload::is_file(options.trace))
    source.groups = workload::groups_file_beside(options.trace);
  if (source.groups) tell_groups(*source.groups);
  return source;
}

void dump(const std::string& file) {
  std::ostringstream text;
  std::string bytes = read_file(file);
  if (workload::is_gzip(bytes)) bytes = workload::inflate_gzip(file, bytes);
  workload::dump_chakra(file, bytes, text);
  print_text(text.str());
}

void note_inputs(const WorkloadOptions& options, const workload::ChakraSource& source) {
  note_input(options.trace);
  if (source.groups) note_input(*source.groups);
  for (const workload::TraceFile& file : workload::list_trace_files(options.trace)) note_input(file.path);
  if (const std::string roles = workload::roles_file_of(options.trace); !is_missing(roles)) note_input(roles);
}

void inspect_workload(const WorkloadOptions& options, const Session& session) {
  if (options.dump) return dump(options.trace);
  const workload::ChakraSource source = source_of(options);
  note_inputs(options, source);
  session.outputs.check();
  Diagnostics diagnostics;
  Progress progress;
  const workload::Inspection inspection =
      workload::is_file(options.trace) ? workload::inspect_trace(options.trace, source.dependencies, diagnostics)
                                       : workload::inspect_job(source, diagnostics, progress.of("reading traces"));
  progress.clear();
  print_warnings(diagnostics.problems());
  session.outputs.give({workload::to_text(inspection), workload::to_json(inspection)});
}

int lint_workload(const WorkloadOptions& options, const Session& session) {
  const workload::ChakraSource source = source_of(options);
  note_inputs(options, source);
  session.outputs.check();
  Progress progress;
  const auto check = [&](const workload::Job& job, const workload::Matching& matching) {
    experiment::check_order(job, matching, experiment::nccl_send_buffer(session.files),
                            progress.of("checking the order"));
  };
  const workload::LintReport report = workload::is_file(options.trace)
                                          ? workload::lint_trace(options.trace, source.dependencies)
                                          : workload::lint_job(source, progress.of("reading traces"), check);
  progress.clear();
  Answer answer{{}, {{"schema", "orrery.lint/1"}, {"source", options.trace}}};
  auto& problems = answer.document["problems"] = nlohmann::ordered_json::array();
  // Messages are whole lines, as they are on standard error.
  for (const Problem& problem : with_hints_once(report.problems)) answer.as_it_is += to_string(problem) + "\n";
  for (const Problem& problem : report.problems) problems.push_back(to_json(problem));
  Failure failure = failure_of(report.problems);
  failure.exit_code = report.exit_status();
  if (report.stuck) {
    answer.as_it_is += fmt::format("error: {}\n", report.stuck->what());
    const Failure stuck = failure_of(*report.stuck);
    failure.problems.push_back(stuck.problems.front());
    problems.push_back(to_json(stuck.problems.front()));
  }
  if (failure.exit_code == kDone)
    answer.as_it_is += report::sentences_on_screen(
        report.matched ? "the traces are sound, the ranks agree about all communication, and none waits for ever\n"
                       : "the trace is sound\n");
  else
    answer.document["error"] = to_json(failure);
  session.outputs.give(answer);
  return failure.exit_code;
}

// --- generate

// The folder of traces is this program's; the traces in it may not be read.
void take_folder(const Outputs& outputs) {
  const std::string& folder = outputs.out;
  make_folder(folder, std::array{std::string("groups.json"), workload::roles_file_of("rank")});
  for (const workload::TraceFile& file : workload::list_trace_files(folder + "/rank")) note_output(file.path);
}

// From here on it is said what will be written before it is.
constexpr std::uint64_t kMuchToWrite = 100'000'000;

// Says how much is about to be written where that is much; refuses what the file system has no room for. `instead`:
// what needs no files, to hint at; may be empty.
void announce(const workload::Job& job, const std::string& folder, workload::TraceEach each,
              const std::string& instead) {
  const std::uint64_t bytes = workload::bytes_of_traces(job, each);
  if (bytes < kMuchToWrite) return;
  std::filesystem::path there = std::filesystem::absolute(folder);
  std::error_code code;
  while (!std::filesystem::exists(there, code) && there.has_relative_path()) there = there.parent_path();
  const std::filesystem::space_info room = std::filesystem::space(there, code);
  const std::string what = fmt::format("the traces of {} ranks are about {}", job.ranks.size(), size_text(bytes));
  if (!code && room.available < bytes)
    throw InputError({folder}, fmt::format("{}, and there is room for {}", what, size_text(room.available)), instead);
  spdlog::warn("{}{}", what, instead.empty() ? std::string() : "\n  hint: " + instead);
}

// Writes `<folder>/rank.<r>.et`, `<folder>/groups.json` and what says which ranks share a trace, none of which may have
// been read; says how to replay them.
void write_and_tell(const workload::Job& job, const Outputs& outputs, workload::TraceEach each,
                    const std::string& instead = {}) {
  const std::string& folder = outputs.out;
  announce(job, folder, each, instead);
  const workload::ChakraSource source = workload::write_job(job, folder, "rank", each);
  std::size_t nodes = 0;
  for (const workload::RankBinding& rank : job.ranks) nodes += job.graphs[rank.graph].size();
  const auto counted = [](std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  const workload::JobTraces traces = workload::find_job_traces(source.prefix);
  std::uint64_t bytes = std::filesystem::file_size(folder + "/groups.json");
  for (const std::string& file : traces.files) bytes += std::filesystem::file_size(file);
  if (!traces.roles_file.empty()) bytes += std::filesystem::file_size(traces.roles_file);
  tell_written(folder + (traces.roles_file.empty() ? "/rank.*.et and groups.json"
                                                   : "/rank.*.et, rank.roles.json and groups.json"),
               bytes);
  const std::string shared =
      traces.roles_file.empty() ? "" : fmt::format(", in {}", counted(traces.files.size(), "file"));
  Answer answer{fmt::format("wrote the traces of {} ({}, {} in all{}) and {}\n", counted(job.ranks.size(), "rank"),
                            counted(job.graphs.size(), "different graph"), counted(nodes, "node"), shared,
                            counted(job.communicators.size() - 1, "group")),
                {{"schema", "orrery.traces/1"},
                 {"prefix", source.prefix},
                 {"groups_file", source.groups.value_or("")},
                 {"ranks", job.ranks.size()},
                 {"files", traces.files.size()},
                 {"graphs", job.graphs.size()},
                 {"nodes", nodes},
                 {"groups", job.communicators.size() - 1},
                 {"bytes", bytes}}};
  if (is_utf8(source.prefix)) {
    answer.text += "replay them with\n\n";
    answer.as_it_is = fmt::format("    workload: {{chakra: {{prefix: {}, groups: {}}}}}\n", yaml_scalar(source.prefix),
                                  yaml_scalar(source.groups.value_or("")));
  } else {
    answer.text += "no experiment can name them: the folder's name is not UTF-8, as a YAML file is\n";
  }
  const Outputs without_folder{outputs.json, {}};
  without_folder.give(answer);
}

// Warns of what takes time in a simulation of the experiment, and which its traces do not hold.
void warn_of_left_out(const experiment::Experiment& experiment, Diagnostics& diagnostics) {
  const std::optional<workload::TrainingSpec>& training = experiment.jobs.front().workload.training;
  if (!training) return;
  if (training->software.host.launch > Duration::zero())
    diagnostics.warning({experiment.file},
                        "traces leave out the hosts: their kernels start as soon as they may, and none waits for its "
                        "launch ('workload.software.host')",
                        "simulate the experiment itself with `orrery run` to have them");
  if (experiment.nccl != nullptr && experiment.simulation.collectives.contention)
    diagnostics.warning({experiment.file},
                        "traces leave out contention: what is computed beside communication has its time without it "
                        "('collectives.contention')",
                        "simulate the experiment itself with `orrery run` to have it");
}

void generate(const std::string& file, const Session& session) {
  Diagnostics diagnostics;
  note_input(file);
  check_writable(session.outputs.json);
  const experiment::Experiment experiment =
      experiment::load_experiment(file, session.settings, session.files, diagnostics);
  if (experiment.jobs.size() > 1)
    throw InputError({file}, "the experiment has several jobs, and traces are of one",
                     "write an experiment for each job, with 'workload' in place of 'jobs'");
  const experiment::WorkloadSource& source = experiment.jobs.front().workload;
  if (!source.training && !source.call)
    throw InputError({file}, "the experiment replays traces; there is nothing to generate",
                     "give its workload a model, parallel and batch, or a collective and its size");
  experiment::check_memory(experiment, session.allow_oom, diagnostics);
  const experiment::ExperimentJob generated = experiment::load_experiment_job(experiment, diagnostics);
  const std::optional<workload::TrainingSpec>& training = source.training;
  if (training && training->experts.dispatch.kind == DispatchKind::kCopies)
    throw InputError(training->where_of("experts.dispatch"),
                     fmt::format("Chakra has no operation for how '{}' dispatches tokens",
                                 printable(training->experts.dispatch.name)),
                     "write all-to-alls in its place: --set workload.experts.dispatch=all-to-all");
  if (training && training->offload.any())
    throw InputError(training->where_of("offload"), "Chakra has no operation for copies between a device and its host",
                     "leave workload.offload out: --set workload.offload={}");
  if (source.call && (source.call->exchange || source.call->shares))
    throw InputError(
        source.call->shares ? source.call->shares->where : Location{file},
        fmt::format("Chakra has no operation for {}", source.call->shares
                                                          ? "an all_to_all whose sizes differ from pair to pair"
                                                          : "how this library exchanges tokens"),
        source.call->shares ? "leave workload.shares and workload.skew out"
                            : "write all-to-alls in its place: --set workload.exchange.dispatch=all-to-all");
  warn_of_left_out(experiment, diagnostics);
  print_warnings(diagnostics.problems());
  take_folder(session.outputs);
  write_and_tell(generated.job, session.outputs, workload::TraceEach::kRank);
}

// --- import

struct ImportOptions {
  std::vector<std::string> files;
  std::string format;  // empty: told by the file
  std::uint32_t ranks = 0;
  std::uint32_t model_parallel = 0;
  std::uint32_t iterations = 1;
  bool no_pipeline = false;
  bool symmetric = false;
  bool per_rank = false;
  LaunchImportOptions launch{};
};

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const workload::WorkloadFormat format : workload::kAllWorkloadFormats)
    names.emplace_back(workload::name_of(format));
  for (const std::string_view launcher : experiment::kLauncherNames) names.emplace_back(launcher);
  return names;
}

std::string beginning_of(const std::string& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error))
    throw InputError({file}, "is a folder", "name the files in it, for example " + file + "/*.json");
  if (const std::string why = why_unreadable(file); !why.empty())
    throw InputError({file}, "cannot be read: " + why, "check the path");
  std::string text = beginning_of_file(file, 4096);
  drop_byte_order_mark(file, text);
  if (text.empty()) throw InputError({file}, "is empty", "a workload of another simulator or a profile is expected");
  return text;
}

// The launcher whose files these are; nothing of other formats.
std::optional<experiment::Launcher> launcher_of(const ImportOptions& options) {
  const std::string& file = options.files.front();
  const std::string beginning = beginning_of(file);
  if (!options.format.empty()) return experiment::launcher_named(options.format);
  return experiment::launcher_of(file, beginning);
}

workload::WorkloadFormat format_of(const ImportOptions& options) {
  const std::string& file = options.files.front();
  const std::string beginning = beginning_of(file);
  if (!options.format.empty()) return *workload::workload_format_named(options.format);
  const std::optional<workload::WorkloadFormat> format = workload::workload_format_of(beginning);
  if (const std::string_view hint = workload::foreign_workload_hint(beginning); !format && !hint.empty())
    throw InputError({file}, "not a workload of a known format", std::string(hint));
  if (!format)
    throw InputError({file}, "not a workload of a known format",
                     fmt::format("give --format, one of {}", fmt::join(format_names(), ", ")));
  return *format;
}

std::optional<std::uint32_t> given(std::uint32_t value) {
  return value == 0 ? std::nullopt : std::optional<std::uint32_t>(value);
}

workload::Job import_job(const ImportOptions& options, workload::WorkloadFormat format, Diagnostics& diagnostics) {
  const std::string& file = options.files.front();
  switch (format) {
    case workload::WorkloadFormat::kAstraText:
    case workload::WorkloadFormat::kSimai: {
      const bool is_simai = format == workload::WorkloadFormat::kSimai;
      return workload::import_layers(
          file, read_text(file), is_simai ? workload::TextDialect::kSimai : workload::TextDialect::kAstra,
          {given(options.ranks), given(options.model_parallel), options.iterations, !options.no_pipeline}, diagnostics);
    }
    case workload::WorkloadFormat::kGoal:
      return workload::import_goal(file, diagnostics);
    case workload::WorkloadFormat::kKineto:
      break;
  }
  return workload::import_kineto(options.files, diagnostics, {options.symmetric});
}

// An option that the format has no use for would go unnoticed.
void refuse_idle_options(const ImportOptions& options, workload::WorkloadFormat format) {
  const bool text = format == workload::WorkloadFormat::kAstraText || format == workload::WorkloadFormat::kSimai;
  const auto refuse = [&](bool idle, const char* what) {
    if (idle)
      throw InputError({options.files.front()},
                       fmt::format("{} has no meaning for {}", what, workload::name_of(format)), "leave it out");
  };
  refuse(options.ranks > 0 && !text, "--ranks");
  refuse(options.model_parallel > 0 && format != workload::WorkloadFormat::kAstraText, "--model-parallel");
  refuse(options.iterations > 1 && !text, "--iterations");
  refuse(options.no_pipeline && format != workload::WorkloadFormat::kSimai, "--no-pipeline");
  refuse(options.symmetric && format != workload::WorkloadFormat::kKineto, "--symmetric");
  refuse(options.files.size() > 1 && format != workload::WorkloadFormat::kKineto, "more than one file");
  const std::string of_launchers = given_launch_option(options.launch);
  refuse(!of_launchers.empty(), of_launchers.c_str());
}

// Imports files of launchers, which become an experiment.
void refuse_trace_options(const ImportOptions& options, experiment::Launcher launcher) {
  const std::array<std::pair<bool, const char*>, 5> given = {{{options.model_parallel > 0, "--model-parallel"},
                                                              {options.iterations > 1, "--iterations"},
                                                              {options.no_pipeline, "--no-pipeline"},
                                                              {options.symmetric, "--symmetric"},
                                                              {options.per_rank, "--per-rank"}}};
  for (const auto& [is_given, name] : given)
    if (is_given)
      throw InputError({options.files.front()}, fmt::format("{} has no meaning for {}", name, name_of(launcher)),
                       "leave it out");
}

void import(const ImportOptions& options, const Session& session) {
  for (const std::string& file : options.files) note_input(file);
  check_writable(session.outputs.json);
  if (const std::optional<experiment::Launcher> launcher = launcher_of(options)) {
    refuse_trace_options(options, *launcher);
    LaunchImportOptions launch = options.launch;
    launch.ranks = options.ranks;
    return import_launch_files(options.files, *launcher, launch, session);
  }
  const workload::WorkloadFormat format = format_of(options);
  refuse_idle_options(options, format);
  Diagnostics diagnostics;
  const workload::Job job = import_job(options, format, diagnostics);
  print_warnings(diagnostics.problems());
  take_folder(session.outputs);
  const bool is_profile = format == workload::WorkloadFormat::kKineto;
  const std::string key = is_profile ? "profile" : format == workload::WorkloadFormat::kGoal ? "goal" : "layers";
  write_and_tell(job, session.outputs, options.per_rank ? workload::TraceEach::kRank : workload::TraceEach::kRole,
                 fmt::format("an experiment replays it without traces: workload: {{{}: {}}}", key,
                             is_profile ? "[FILE, ...]" : printable(options.files.front(), 300)));
}

// --- the commands

void add_trace(CLI::App& command, WorkloadOptions& options, Session& session) {
  add_file(command, session, "trace", options.trace, "One trace file, or the prefix P of files P.<rank>.et").required();
  command.add_option("--groups", options.groups, "Communicator groups: JSON {\"name\": [ranks]}")->type_name("FILE");
  add_dependencies(command, options.dependencies);
  add_outputs(command, session);
}

void add_inspect_command(CLI::App& workload, Session& session) {
  WorkloadOptions& options = session.keep<WorkloadOptions>();
  CLI::App& command = add_command(workload, "inspect", "Summarise traces: nodes, times, communication by group",
                                  {"orrery workload inspect traces/rank", "orrery workload inspect rank.0.et --dump"});
  add_trace(command, options, session);
  command.add_flag("--dump", options.dump, "Print each node of one trace file as a line of JSON instead");
  command.callback([&] { inspect_workload(options, session); });
}

void add_lint_command(CLI::App& workload, Session& session) {
  WorkloadOptions& options = session.keep<WorkloadOptions>();
  CLI::App& command = add_command(workload, "lint", "Report all errors and doubts in traces",
                                  {"orrery workload lint traces/rank --groups traces/groups.json"});
  add_trace(command, options, session);
  command.callback([&] { session.exit_code = lint_workload(options, session); });
}

void add_out(CLI::App& command, Session& session) {
  command.add_option("-o,--out", session.outputs.out, "Write rank.<r>.et and groups.json to this folder")
      ->type_name("DIR")
      ->required();
  add_json(command, session);
}

void add_generate_command(CLI::App& workload, Session& session) {
  auto& experiment = session.keep<std::string>();
  CLI::App& command = add_command(workload, "generate", "Write an experiment's job as Chakra traces",
                                  {"orrery workload generate job.yaml --nodes 4 --out traces"});
  add_file(command, session, "experiment", experiment, "Experiment with a model to train, or with a collective")
      .required();
  add_out(command, session);
  add_experiment_options(command, session);
  command.callback([&] { generate(experiment, session); });
}

void add_import_command(CLI::App& workload, Session& session) {
  ImportOptions& options = session.keep<ImportOptions>();
  CLI::App& command =
      add_command(workload, "import",
                  "Write a launch script as an experiment; ASTRA-sim 1.0, SimAI, GOAL or PyTorch workloads as traces",
                  {"orrery workload import launch.sh --cluster dgx-h100 --nodes 8 --out job.yaml",
                   "orrery workload import rank0.json rank1.json --out traces",
                   "orrery workload import resnet.txt --ranks 8 -o resnet"});
  add_files(command, session, "files", options.files,
            "The workload; PyTorch profiles of all ranks, with execution traces; launch scripts or configurations")
      .required();
  command
      .add_option("-o,--out", session.outputs.out, "Folder of rank.<r>.et and groups.json; of launchers the experiment")
      ->type_name("PATH")
      ->required();
  add_json(command, session);
  add_launch_options(command, options.launch);
  command.add_option("--format", options.format, "Format of the files (default: recognised)")
      ->check(one_of("--format", format_names()));
  const CLI::Validator count = CLI::Range(std::uint32_t{1}, std::uint32_t{1} << 20).description("");
  const auto add_count = [&](const char* name, std::uint32_t& number, const char* about) {
    command.add_option(name, number, about)->type_name("N")->check(count);
  };
  add_count("--ranks", options.ranks, "astra-text, old simai, launchers: number of ranks (default: the file's)");
  add_count("--model-parallel", options.model_parallel, "astra-text hybrids: ranks of a model-parallel group");
  add_count("--iterations", options.iterations, "astra-text, simai: number of training steps (default: 1)");
  command.add_flag("--no-pipeline", options.no_pipeline, "simai: send nothing between pipeline stages, as SimAI does");
  command.add_flag("--replicate", options.symmetric, "The former name of --symmetric")->group("");
  command.add_flag("--symmetric", options.symmetric,
                   "kineto: let the profiles of some ranks stand for all of their world");
  command.add_flag("--per-rank", options.per_rank,
                   "A trace for each rank, as other readers of Chakra want, not one for all that are alike");
  command.callback([&] { import(options, session); });
}

}  // namespace

void add_workload_command(CLI::App& app, Session& session) {
  CLI::App& workload = add_command(app, "workload", {});
  workload.require_subcommand(1);
  add_inspect_command(workload, session);
  add_lint_command(workload, session);
  add_generate_command(workload, session);
  add_import_command(workload, session);
}

}  // namespace orrery::cli
