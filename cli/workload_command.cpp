#include <filesystem>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "core/input_files.h"
#include "experiment/order_check.h"
#include "workload/chakra/dump.h"
#include "workload/chakra/file.h"
#include "workload/traces/files.h"
#include "workload/traces/inspect.h"
#include "workload/traces/lint.h"

namespace orrery::cli {
namespace {

bool is_file(const std::string& path) {
  std::error_code code;
  return std::filesystem::is_regular_file(path, code);
}

ChakraSource source_of(const WorkloadOptions& options) {
  ChakraSource source{options.trace, std::nullopt, *dependencies_named(options.dependencies)};
  if (!options.groups.empty()) source.groups = options.groups;
  return source;
}

LoadProgress shown_by(Progress& progress) {
  return [&progress](std::size_t done, std::size_t total) { progress.show("reading traces", done, total); };
}

void dump(const std::string& file) {
  std::ostringstream text;
  std::string bytes = read_file(file);
  if (is_gzip(bytes)) bytes = inflate_gzip(file, bytes);
  dump_chakra(file, bytes, text);
  write_text("-", text.str());
}

void inspect_workload(const WorkloadOptions& options) {
  if (options.dump) return dump(options.trace);
  note_input(options.trace);
  note_input(options.groups);
  for (const TraceFile& file : list_trace_files(options.trace)) note_input(file.path);
  check_writable(options.json);
  Diagnostics diagnostics;
  Progress progress;
  const ChakraSource source = source_of(options);
  const Inspection inspection = is_file(options.trace)
                                    ? inspect_trace(options.trace, source.dependencies, diagnostics)
                                    : inspect(load_chakra_job(source, diagnostics, shown_by(progress)), options.trace);
  progress.clear();
  print_warnings(diagnostics.problems());
  if (!options.json.empty()) write_json(options.json, to_json(inspection));
  if (options.json != "-") write_text("-", to_text(inspection));
}

int lint_workload(const WorkloadOptions& options) {
  Progress progress;
  const ChakraSource source = source_of(options);
  const auto check = [&](const Job& job, const Matching& matching) {
    check_order(job, matching, [&](auto done, auto total) { progress.show("checking the order", done, total); });
  };
  const LintReport report = is_file(options.trace) ? lint_trace(options.trace, source.dependencies)
                                                   : lint_job(source, shown_by(progress), check);
  progress.clear();
  std::string text;
  for (const Problem& problem : report.problems) text += to_string(problem) + "\n";
  if (!report.disagreement.empty()) text += "error: " + report.disagreement + "\n";
  if (report.exit_status() == 0)
    text += report.matched ? "the traces are sound, the ranks agree about all communication, and none waits for ever\n"
                           : "the trace is sound\n";
  write_text("-", text);
  return report.exit_status();
}

void add_common(CLI::App& command, WorkloadOptions& options) {
  command.add_option("trace", options.trace, "One trace file, or the prefix P of files P.<rank>.et of all ranks")
      ->required();
  command.add_option("--groups", options.groups, "Communicator groups file: JSON {\"name\": [ranks]}");
  command
      .add_option("--dependencies", options.dependencies,
                  "Which dependencies order the nodes: both (default), data or ctrl")
      ->check(CLI::IsMember({"both", "data", "ctrl"}));
}

}  // namespace

void add_workload_command(CLI::App& app, Session& session) {
  WorkloadOptions& options = session.workload;
  CLI::App* workload = app.add_subcommand("workload", "Look at traces and make them: inspect, lint, generate, import");
  workload->require_subcommand(1);
  CLI::App* inspect = workload->add_subcommand(
      "inspect", "Summarise a trace or a job: nodes, times, communication by group, dependencies");
  add_common(*inspect, options);
  inspect->add_option("--json", options.json,
                      "Write the summary as JSON to this file; '-' prints it instead of the text");
  inspect->add_flag("--dump", options.dump, "Print every node of one trace file, field by field, as JSON lines");
  inspect->callback([&session] { inspect_workload(session.workload); });
  CLI::App* lint = workload->add_subcommand("lint", "Say everything that is wrong or doubtful about a trace or a job");
  add_common(*lint, options);
  lint->callback([&session] { session.exit_code = lint_workload(session.workload); });
  add_generate_command(*workload, session);
  add_import_command(*workload, session);
}

}  // namespace orrery::cli
