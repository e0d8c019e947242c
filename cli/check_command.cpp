#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "core/error.h"
#include "experiment/check.h"
#include "report/table.h"
#include "study/in_parallel.h"
#include "study/sweep/sweep.h"
#include "study/validate/collectives/validate.h"
#include "study/validate/compute/table.h"
#include "study/validate/training/validation.h"
#include "workload/traces/lint.h"

namespace orrery::cli {
namespace {

struct Verdict {
  std::string text;
  int exit_code = 0;
};

Verdict check_trace(const std::string& file, const CheckOptions& options) {
  const LintReport report = lint_trace(file, *dependencies_named(options.dependencies));
  Verdict verdict{{}, report.exit_status()};
  for (const Problem& problem : report.problems) verdict.text += to_string(problem) + "\n";
  if (verdict.exit_code == 0) verdict.text += fmt::format("{}: ok (trace)\n", printable(file));
  return verdict;
}

// Points that are refused are no error, for a sweep tells of them in its table; but a value of an axis is that has no
// other points.
void check_sweep(const std::string& file, const CheckOptions& options, const Session& session,
                 Diagnostics& diagnostics) {
  const Sweep sweep = load_sweep(file, options.settings, session.files);
  const std::vector<SweepPoint> points = check_points(sweep, {hardware_threads(), false}, session.files);
  refuse_if_all_refused(sweep, points);
  for (const Problem& problem : refused_values(sweep, points))
    diagnostics.error(problem.where, problem.message, problem.hint);
  for (const Problem& problem : refused_combinations(sweep, points))
    diagnostics.warning(problem.where, problem.message, problem.hint);
  for (const Problem& warning : warnings_of(points)) diagnostics.warning(warning.where, warning.message, warning.hint);
}

// Reads `file` as what it is, which comes back.
CheckedConfig check_as_told(const std::string& file, const CheckOptions& options, const Session& session,
                            Diagnostics& diagnostics) {
  const ConfigFiles& files = session.files;
  if (is_table<ComputeTable>(file, files)) {
    load_table<ComputeTable>(file, options.settings, files, diagnostics);
    return {"table of operators", {}};
  }
  if (is_table<TrainingTable>(file, files)) {
    const auto table = load_table<TrainingTable>(file, options.settings, files, diagnostics);
    if (!diagnostics.has_errors()) check_training_rows(table, files, diagnostics);
    return {"table of training jobs", {}};
  }
  if (is_sweep(file, files)) {
    check_sweep(file, options, session, diagnostics);
    return {"sweep", {}};
  }
  if (!is_table<ValidationTable>(file, files)) return check_config(file, options.settings, files, diagnostics);
  const auto table = load_table<ValidationTable>(file, options.settings, files, diagnostics);
  if (!diagnostics.has_errors()) check_prediction(table, files);
  return {"validation table", {}};
}

// The keys that are not there, and what is taken for them.
std::string defaults_text(const CheckedConfig& checked, const std::string& file) {
  if (checked.defaults.empty()) return {};
  Table table;
  for (const char* heading : {"key not given", "value taken", "from"}) table.column(heading, Table::Align::kLeft);
  for (const DefaultedKey& key : checked.defaults) {
    const std::string name = std::filesystem::path(key.file).filename().string();
    const std::string place = key.file == file ? "" : fmt::format(", not given in {}", printable(name));
    table.row({printable(key.path), printable(key.value), key.from + place});
  }
  return table.text();
}

Verdict check_config_file(const std::string& file, const CheckOptions& options, const Session& session) {
  Verdict verdict;
  Diagnostics diagnostics;  // what is thrown has its errors, too
  try {
    const CheckedConfig checked = check_as_told(file, options, session, diagnostics);
    if (!diagnostics.has_errors())
      verdict.text = fmt::format("{}: ok ({})\n", printable(file), checked.kind) + defaults_text(checked, file);
  } catch (const InputError& error) {
    verdict = {fmt::format("{}\n", error.what()), kBadInput};
  } catch (const StuckError& error) {
    verdict = {fmt::format("{}: error: {}\n", file, error.what()), kStuck};
  }
  const bool told = verdict.exit_code == kBadInput;
  std::string problems;
  for (const Problem& problem : diagnostics.problems())
    if (!told || problem.severity == Severity::kWarning) problems += to_string(problem) + "\n";
  if (diagnostics.has_errors()) verdict.exit_code = kBadInput;
  verdict.text = problems + verdict.text;
  return verdict;
}

// Checks all files, whatever is wrong with the first.
int check(const CheckOptions& options, const Session& session) {
  int exit_code = 0;
  for (const std::string& file : options.files) {
    const ConfigFiles& all = session.files;
    const bool configured = is_configuration(file, all) || is_table<ValidationTable>(file, all) ||
                            is_table<ComputeTable>(file, all) || is_table<TrainingTable>(file, all) ||
                            is_sweep(file, all);
    const Verdict verdict = configured ? check_config_file(file, options, session) : check_trace(file, options);
    write_text("-", verdict.text);
    if (exit_code == 0 || verdict.exit_code == kBadInput)
      exit_code = verdict.exit_code == 0 ? exit_code : verdict.exit_code;
  }
  return exit_code;
}

}  // namespace

void add_check_command(CLI::App& app, Session& session) {
  CheckOptions& options = session.check;
  CLI::App* command = app.add_subcommand("check", "Check configuration files and traces without running anything");
  command
      ->add_option("files", options.files,
                   "Experiments, clusters, nodes, devices, libraries, software, sweeps, validation tables (.yaml, "
                   ".yml) and traces")
      ->required();
  command->add_option("--set", options.settings, "Change a key of the configurations first (may be repeated)")
      ->expected(1)
      ->take_all();
  command
      ->add_option("--dependencies", options.dependencies,
                   "Which dependencies of a trace count: both (default), data or ctrl")
      ->check(CLI::IsMember({"both", "data", "ctrl"}));
  command->callback([&session] { session.exit_code = check(session.check, session); });
}

}  // namespace orrery::cli
