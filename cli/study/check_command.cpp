// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/session.h"
#include "core/error.h"
#include "core/files/input_files.h"
#include "core/in_parallel.h"
#include "core/version.h"
#include "experiment/files/file_kinds.h"
#include "experiment/files/foreign_files.h"
#include "experiment/runs/check.h"
#include "report/table.h"
#include "study/sweep/lines.h"
#include "study/sweep/sweep.h"
#include "study/validate/kinds.h"
#include "workload/tools/lint.h"

namespace orrery::cli {
namespace {

using experiment::FileKind;

struct CheckOptions {
  std::vector<std::string> files;
  std::string dependencies = "both";
};

struct Verdict {
  std::string_view kind = "trace";
  std::vector<Problem> problems{};  // warnings, too
  int exit_code = kDone;
  std::string report{};  // of what cannot be said problem by problem
  std::vector<experiment::DefaultedKey> defaults{};
  std::vector<report::EvidenceFigure> assumptions{};
  std::string job{};  // of an experiment
  std::vector<std::string> notes{};
};

Verdict check_trace(const std::string& file, const CheckOptions& options) {
  const workload::LintReport report = workload::lint_trace(file, *workload::dependencies_named(options.dependencies));
  return {"trace", report.problems, report.exit_status()};
}

// Points that are refused are no error, for a sweep tells of them in its table; but a value of an axis is that has no
// other points.
void check_sweep(const std::string& file, const Session& session, Diagnostics& diagnostics) {
  const study::Sweep sweep = study::load_sweep(file, session.settings, session.files);
  study::check_view(sweep);
  const std::vector<study::SweepPoint> points = study::check_points(sweep, hardware_threads(), false, session.files);
  study::refuse_if_all_refused(sweep, points);
  for (const Problem& problem : study::refused_values(sweep, points))
    diagnostics.error(problem.where, problem.message, problem.hint);
  for (const Problem& problem : study::refused_combinations(sweep, points))
    diagnostics.warning(problem.where, problem.message, problem.hint);
  for (const std::vector<Problem>& warnings :
       {study::warnings_of(sweep, points), study::equal_values(sweep, points, session.files)})
    for (const Problem& warning : warnings) diagnostics.warning(warning.where, warning.message, warning.hint);
}

// Reads `file` as what it is, which comes back.
experiment::CheckedConfig check_as_told(const std::string& file, const Session& session, Diagnostics& diagnostics) {
  const ConfigFiles& files = session.files;
  // A model as Hugging Face has it is read as it is.
  if (experiment::part_kind(files.peek(file)) != "model")
    experiment::refuse_foreign_file(file, "a configuration or a trace");
  switch (experiment::file_kind(file, files)) {
    case FileKind::kMeasurements: {
      const study::ValidationKind& kind = study::validation_kind(experiment::measurements_of(file, files));
      kind.check(file, session.settings, files, diagnostics);
      return {kind.table, {}};
    }
    case FileKind::kSweep:
      check_sweep(file, session, diagnostics);
      return {"sweep", {}};
    case FileKind::kAstraSim:
    case FileKind::kOther:
      break;
  }
  return experiment::check_config(file, session.settings, files, diagnostics);
}

// The keys that are not there, and what is taken for them.
std::string defaults_text(const std::string& file, const Verdict& verdict) {
  if (verdict.defaults.empty()) return {};
  report::Table table({"key not given", "value taken"}, {}, {"from"});
  for (const experiment::DefaultedKey& key : verdict.defaults) {
    const std::string name = std::filesystem::path(key.file).filename().string();
    const std::string place = key.file == file ? "" : fmt::format(", not given in {}", printable(name));
    table.row({printable(key.path), printable(key.value), key.from + place});
  }
  return table.text();
}

// Choices of the software, as far as a launch script may have them otherwise.
std::string assumptions_text(const Verdict& verdict) {
  if (verdict.assumptions.empty()) return {};
  report::Table table({"the software does", "value", "which is"}, {}, {"by"});
  for (const report::EvidenceFigure& figure : verdict.assumptions)
    table.row({printable(figure.key), printable(figure.value, 40), std::string(name_of(figure.kind)),
               report::place_text(figure)});
  return table.text() + report::wrapped("--set KEY=VALUE changes one; orrery run --sources has where figures are from");
}

std::string notes_text(const Verdict& verdict) {
  std::string text;
  for (const std::string& note : verdict.notes) text += report::wrapped(printable(note, 400));
  return text;
}

Verdict check_config_file(const std::string& file, const Session& session) {
  Verdict verdict{"configuration"};
  Diagnostics diagnostics;
  try {
    experiment::CheckedConfig checked = check_as_told(file, session, diagnostics);
    verdict.kind = checked.kind;
    verdict.defaults = std::move(checked.defaults);
    verdict.assumptions = std::move(checked.assumptions);
    verdict.job = std::move(checked.job);
    verdict.notes = std::move(checked.notes);
    verdict.problems.assign(diagnostics.problems().begin(), diagnostics.problems().end());
  } catch (const InputError& error) {  // has all errors
    std::ranges::copy_if(diagnostics.problems(), std::back_inserter(verdict.problems),
                         [](const Problem& problem) { return problem.severity == Severity::kWarning; });
    verdict.report = error.what();
    verdict.exit_code = failure_of(error).exit_code;
    verdict.problems.insert(verdict.problems.end(), error.problems().begin(), error.problems().end());
    return verdict;
  } catch (const StuckError& error) {
    verdict.problems.assign(diagnostics.problems().begin(), diagnostics.problems().end());
    const Failure failure = failure_of(error);
    verdict.exit_code = failure.exit_code;
    verdict.report = fmt::format("{}: error: {}", file, error.what());
    verdict.problems.push_back(failure.problems.front());
    return verdict;
  }
  if (diagnostics.has_errors()) verdict.exit_code = kBadInput;
  return verdict;
}

std::string text_of(const std::string& file, const Verdict& verdict) {
  std::string text;
  for (const Problem& problem : verdict.problems)
    if (verdict.report.empty() || problem.severity == Severity::kWarning) text += to_string(problem) + "\n";
  if (!verdict.report.empty()) text += verdict.report + "\n";
  if (verdict.exit_code == kDone)
    text +=
        fmt::format("{}: ok ({}){}{}\n", printable(file), verdict.kind, verdict.job.empty() ? "" : ": ", verdict.job) +
        defaults_text(file, verdict) + assumptions_text(verdict) + notes_text(verdict);
  return text;
}

nlohmann::ordered_json document_of(const std::string& file, const Verdict& verdict) {
  nlohmann::ordered_json problems = nlohmann::ordered_json::array();
  for (const Problem& problem : verdict.problems) problems.push_back(to_json(problem));
  nlohmann::ordered_json document = {
      {"file", file}, {"kind", verdict.kind}, {"exit_code", verdict.exit_code}, {"problems", std::move(problems)}};
  for (const experiment::DefaultedKey& key : verdict.defaults)
    document["defaults"].push_back({{"key", key.path}, {"value", key.value}, {"from", key.from}, {"file", key.file}});
  if (!verdict.notes.empty()) document["notes"] = verdict.notes;
  for (const report::EvidenceFigure& figure : verdict.assumptions)
    document["assumptions"].push_back({{"key", figure.key},
                                       {"value", figure.value},
                                       {"kind", name_of(figure.kind)},
                                       {"file", figure.where.file},
                                       {"line", figure.where.line},
                                       {"default", figure.is_default}});
  return document;
}

// Checks all files, whatever is wrong with the first. Wrong input outweighs the rest.
int check(const CheckOptions& options, const Session& session) {
  for (const std::string& file : options.files) note_input(file);
  session.outputs.check();
  Answer answer{{}, {{"schema", "orrery.check/1"}, {"version", kVersion}}};
  Failure failure{kDone, {}};
  auto& files = answer.document["files"] = nlohmann::ordered_json::array();
  for (const std::string& file : options.files) {
    const ConfigFiles& all = session.files;
    const FileKind kind = experiment::file_kind(file, all);
    const bool configured =
        experiment::is_configuration(file, all) || (kind != FileKind::kOther && kind != FileKind::kAstraSim);
    const Verdict verdict =
        configured || experiment::foreign_file(file) ? check_config_file(file, session) : check_trace(file, options);
    answer.as_it_is += text_of(file, verdict);  // messages are whole lines, as they are on standard error
    files.push_back(document_of(file, verdict));
    if (verdict.exit_code == kDone || (failure.exit_code != kDone && verdict.exit_code != kBadInput)) continue;
    if (failure.exit_code != kBadInput) failure = {verdict.exit_code, failure_of(verdict.problems).problems};
  }
  if (failure.exit_code != kDone) answer.document["error"] = to_json(failure);
  session.outputs.give(answer);
  return failure.exit_code;
}

}  // namespace

void add_check_command(CLI::App& app, Session& session) {
  CheckOptions& options = session.keep<CheckOptions>();
  CLI::App& command =
      add_command(app, "check", {"orrery check job.yaml --nodes 4", "orrery check my-device.yaml my-cluster.yaml"});
  add_files(command, session, "files", options.files,
            "Experiments, results, sweeps, clusters, nodes, devices, models, ..., validation tables, traces")
      .required();
  add_set(command, session.settings, "workload.batch.micro=2");
  add_nodes(command, session);
  add_dependencies(command, options.dependencies);
  add_outputs(command, session);
  command.callback([&] { session.exit_code = check(options, session); });
}

}  // namespace orrery::cli
