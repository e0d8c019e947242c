// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/output.h"
#include "cli/session.h"
#include "core/error.h"
#include "core/files/input_files.h"
#include "core/version.h"
#include "study/benchmark/interval.h"
#include "study/validate/collectives/cross.h"
#include "study/interval/kinds.h"
#include "study/validate/accuracy/accuracy.h"
#include "study/validate/collectives/validate.h"
#include "study/validate/compute/table.h"
#include "study/validate/compute/validation.h"
#include "study/validate/experts/validation.h"
#include "study/validate/traces/traces.h"
#include "study/validate/training/cross.h"

namespace orrery::cli {
namespace {

struct ValidateOptions {
  std::vector<std::string> sections;  // none: all
  bool cross = false;
  bool details = false;
  study::ComputeQuestion compute_table{};    // no file: the shipped tables
  std::vector<std::string> training_tables;  // files; none: the shipped tables
  std::string plot;
  std::string page;
  std::string errors;  // file that gets those of families left out
  std::string traces;  // folder of the recorded traces; empty: not given
};

constexpr std::string_view kNoTraces =
    "the recordings of configs/validation/traces are not shipped; each file there names its source";

using Sections = std::vector<study::AccuracySection>;

bool wants(const ValidateOptions& options, std::string_view section) {
  if (!options.training_tables.empty()) return section == "training";
  if (!options.compute_table.file.empty()) return section == "compute";
  return options.sections.empty() || std::ranges::find(options.sections, section) != options.sections.end();
}

void check_options(const ValidateOptions& options) {
  const auto asks_for_another = [&] {
    return std::ranges::any_of(options.sections, [](const std::string& section) { return section != "training"; });
  };
  if (!options.training_tables.empty() && (asks_for_another() || !options.compute_table.file.empty()))
    throw InputError({"--training-table"}, "has training jobs only, and another section was asked for",
                     "leave the others out");
  const study::ComputeQuestion& own = options.compute_table;
  if (own.file.empty() && !own.device.empty())
    throw InputError({"--device"}, "is the device of a table of operators, but there is none",
                     "name it: --compute-table FILE.csv");
  if (own.device.empty() && !own.software.empty())
    throw InputError({"--software"}, "is the software on a device, but there is none", "name it: --device");
  if (!own.file.empty() && std::ranges::find(options.sections, "nccl") != options.sections.end())
    throw InputError({"--compute-table"}, "has no collectives, which 'nccl' asks for", "leave out 'nccl'");
  if (!own.file.empty() && std::ranges::find(options.sections, "training") != options.sections.end())
    throw InputError({"--compute-table"}, "has no jobs, which 'training' asks for", "leave out 'training'");
  if (options.details && !wants(options, "training"))
    throw InputError({"--details"}, "is of the section 'training', which was not asked for");
  if (options.cross && wants(options, "traces") && options.sections.size() == 1)
    throw InputError({"--cross"}, "fits constants again, of which replays of traces have none",
                     "ask for nccl, compute, experts or training");
  const bool names_traces = std::ranges::find(options.sections, "traces") != options.sections.end();
  if (names_traces && options.traces.empty())
    throw InputError({"traces"}, fmt::format("needs the folder of the recordings: {}", kNoTraces), "--traces-from DIR");
  if (!options.traces.empty() && !wants(options, "traces"))
    throw InputError({"--traces-from"}, "is of the section 'traces', which was not asked for");
  if (!options.errors.empty() && (!options.cross || wants(options, "nccl") == wants(options, "training")))
    throw InputError({"--errors"},
                     "gets the errors of training jobs whose family, or of collectives whose system was left out",
                     "add --cross, and name one of the sections training and nccl");
  if (!options.traces.empty() && !std::filesystem::is_directory(options.traces))
    throw InputError({options.traces}, "is not a folder, which --traces-from asks for");
  if (!options.plot.empty() && !wants(options, "nccl"))
    throw InputError({"--plot"}, "is of the section 'nccl', which was not asked for");
}

std::vector<std::string> plot_files(const std::vector<study::ValidationTable>& tables) {
  std::vector<std::string> files;
  for (const study::ValidationTable& table : tables)
    if (table.scored) files.push_back(study::plot_file_name(table));
  return files;
}

Answer validate_collectives(const ValidateOptions& options, const Session& session, Sections& sections) {
  const std::vector<study::ValidationTable> tables = study::list_tables<study::ValidationTable>(session.files);
  if (!options.plot.empty()) make_folder(options.plot, plot_files(tables));
  Progress progress;
  const study::Validation validation = orrery::study::validate(tables, session.files, progress.of("tables"));
  std::optional<study::CrossValidation> cross;
  study::Coverage coverage;
  if (options.cross) {
    cross = study::cross_validate(tables, session.files, progress.of("systems"));
    const std::vector<study::MeasuredError> errors = study::errors_of(*cross);
    coverage = study::coverage(errors, study::collective_runs());
    if (!options.errors.empty()) write_file(options.errors, study::errors_csv(errors, study::collective_runs()));
  }
  progress.clear();
  sections.push_back(study::accuracy_of(validation));
  if (!options.plot.empty())
    for (const study::ValidatedTable& table : validation.scored)
      write_file(options.plot + "/" + study::plot_file_name(*table.table), study::validation_plot(table));
  Answer answer{study::validation_text(validation) + (cross ? study::cross_validation_text(*cross, coverage) : ""),
                study::to_json(validation)};
  if (cross) answer.document["cross"] = study::to_json(*cross, coverage);
  return answer;
}

Answer validate_operators(const ValidateOptions& options, const Session& session, Sections& sections) {
  std::vector<study::ComputeTable> tables = study::list_tables<study::ComputeTable>(session.files);
  if (!options.compute_table.file.empty())
    tables = study::compute_tables_of(options.compute_table, tables, session.files);
  const study::ComputeValidation validation = study::validate_compute(tables);
  sections.push_back(study::accuracy_of(validation));
  const std::string kernels = study::kernel_validation_text(validation, options.cross);
  return {study::compute_validation_text(validation) + (kernels.empty() ? "" : "\n" + kernels),
          study::to_json(validation)};
}

Answer validate_exchanges(const ValidateOptions& options, const Session& session, Sections& sections) {
  const std::vector<study::ExpertTable> tables = study::list_tables<study::ExpertTable>(session.files);
  const study::ExpertValidation validation = study::validate_experts(tables, session.files, options.cross);
  sections.push_back(study::accuracy_of(validation));
  return {study::expert_validation_text(validation), study::to_json(validation)};
}

// The shipped tables, or those of the user.
std::vector<study::TrainingTable> training_tables(const ValidateOptions& options, const Session& session) {
  if (options.training_tables.empty()) return study::list_tables<study::TrainingTable>(session.files);
  return study::load_tables<study::TrainingTable>(options.training_tables, session.files);
}

Answer validate_jobs(const ValidateOptions& options, const Session& session, Sections& sections) {
  const std::vector<study::TrainingTable> tables = training_tables(options, session);
  Progress progress;
  const study::TrainingValidation validation = study::validate_training(tables, session.files, progress.of("jobs"));
  sections.push_back(study::accuracy_of(validation));
  Answer answer{study::training_validation_text(validation, options.details), study::to_json(validation)};
  if (options.cross) {
    const study::TrainingCross cross =
        study::cross_validate(validation, session.files, progress.of("jobs with other constants"));
    const std::vector<study::MeasuredError> errors = study::errors_of(cross, session.files);
    const study::Coverage coverage = study::coverage(errors, study::training_runs());
    answer.text += study::training_cross_text(validation, cross, coverage);
    answer.document["cross"] = study::to_json(cross, coverage);
    if (!options.errors.empty()) write_file(options.errors, study::errors_csv(errors, study::training_runs()));
  }
  progress.clear();
  return answer;
}

// InputError where none of the recordings is in the folder: a table without a row is no answer.
void refuse_missing(std::span<const study::ReplayedTrace> traces, const std::string& folder) {
  if (std::ranges::any_of(traces, [](const study::ReplayedTrace& trace) { return trace.skipped.empty(); })) return;
  std::string first;
  if (!traces.empty()) first = fmt::format(": {}: {}", traces.front().table->name, traces.front().skipped);
  throw InputError({folder}, fmt::format("has none of the recordings that are replayed{}", first),
                   std::string(kNoTraces));
}

Answer validate_replays(const ValidateOptions& options, const Session& session) {
  const std::vector<study::TraceTable> tables = study::list_tables<study::TraceTable>(session.files);
  Progress progress;
  const std::vector<study::ReplayedTrace> traces =
      study::validate_traces(tables, options.traces, session.files, progress.of("traces"));
  progress.clear();
  refuse_missing(traces, options.traces);
  return {study::trace_validation_text(traces), study::to_json(traces)};
}

// As a part of what is printed and written under `name`.
void add(Answer& all, const char* name, Answer section) {
  all.text += (all.text.empty() ? "" : "\n") + section.text;
  all.document[name] = std::move(section.document);
}

// The page, and its pictures in the folder beside it.
void write_page(const std::string& page, const Sections& sections) {
  const std::filesystem::path pictures = std::filesystem::path(page).parent_path() / "pictures";
  std::vector<std::string> files;
  for (const study::AccuracySection& section : sections) files.push_back(study::picture_name(section));
  make_folder(pictures.string(), files);
  for (const study::AccuracySection& section : sections)
    write_file((pictures / study::picture_name(section)).string(), study::accuracy_picture(section));
  write_file(page, study::accuracy_page(sections, "pictures"));
}

void validate(const ValidateOptions& options, const Session& session) {
  check_options(options);
  for (const std::string& table : options.training_tables) note_input(table);
  note_input(options.compute_table.file);
  session.outputs.check();
  check_file("--page", options.page);
  check_file("--errors", options.errors);
  refuse_same_file({"--json", session.outputs.json}, {"--page", options.page});
  refuse_same_file({"--html", session.outputs.html}, {"--page", options.page});
  refuse_same_file({"--html", session.outputs.html}, {"--errors", options.errors});
  refuse_same_file({"--errors", options.errors}, {"--page", options.page});
  refuse_same_file({"--json", session.outputs.json}, {"--errors", options.errors});
  Answer answer{{}, {{"schema", "orrery.validation/1"}, {"version", kVersion}}};
  Sections sections;
  if (wants(options, "nccl")) answer = validate_collectives(options, session, sections);
  if (wants(options, "compute")) add(answer, "compute", validate_operators(options, session, sections));
  if (wants(options, "experts")) add(answer, "experts", validate_exchanges(options, session, sections));
  if (wants(options, "training")) add(answer, "training", validate_jobs(options, session, sections));
  if (!options.traces.empty())
    add(answer, "traces", validate_replays(options, session));
  else if (wants(options, "traces"))
    answer.text +=
        fmt::format("\nRecorded steps: not replayed; {}, and --traces-from DIR names their folder\n", kNoTraces);
  if (!options.page.empty()) write_page(options.page, sections);
  if (session.outputs.wants_page()) answer.page = page_of("orrery validate", "validation", answer.document);
  session.outputs.give(answer);
}

}  // namespace

void add_validate_command(CLI::App& app, Session& session) {
  ValidateOptions& options = session.keep<ValidateOptions>();
  study::ComputeQuestion& own = options.compute_table;
  CLI::App& command = add_command(
      app, "validate",
      {"orrery validate nccl", "orrery validate training --details", "orrery validate --compute-table mine.csv"});
  command
      .add_option("sections", options.sections,
                  "nccl (collectives), compute (kernels), experts, training (jobs), traces (default: all)")
      ->check(one_of("sections", {"nccl", "compute", "experts", "training", "traces"}));
  command.add_flag(
      "--cross", options.cross,
      "Also predict each system, or family of jobs, from a fit to the others, and kernels by another generation");
  command.add_flag("--details", options.details, "Also print each training job and its assumptions");
  command.add_option("--plot", options.plot, "Draw each scored nccl table as TABLE.svg in this folder")
      ->type_name("DIR");
  command
      .add_option("--page", options.page,
                  "Write all errors as one page (Markdown) with pictures, in the folder 'pictures' beside it")
      ->type_name("FILE");
  command
      .add_option("--errors", options.errors,
                  "Write the errors of what --cross left out as CSV: see configs/validation/training-errors.csv")
      ->type_name("FILE");
  command
      .add_option("--traces-from", options.traces, "Folder of the recorded traces, which the section 'traces' needs")
      ->type_name("DIR");
  add_file(command, session, "--compute-table", own.file,
           "Use this CSV of operators, with columns as in configs/validation/compute/layers-a100.csv");
  command.add_option("--device", own.device, "Device of --compute-table (default: its column gpu)")->type_name("NAME");
  command
      .add_option("--software", own.software,
                  "Software of --compute-table, from `orrery list software` (default: micro-benchmarks)")
      ->type_name("NAME");
  add_files(command, session, "--training-table", options.training_tables,
            "Use this table of jobs, as in configs/validation/training (repeatable)")
      .expected(1)
      ->take_all();
  add_outputs(command, session);
  add_html(command, session, "predicted against measured as a page");
  command.callback([&] { validate(options, session); });
}

}  // namespace orrery::cli
