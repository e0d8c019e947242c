#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "study/cross_validation.h"
#include "study/validate.h"
#include "study/validation_plot.h"

namespace orrery::cli {
namespace {

std::vector<std::string> plot_files(const std::vector<ValidationTable>& tables) {
  std::vector<std::string> files;
  for (const ValidationTable& table : tables)
    if (table.scored) files.push_back(plot_file_name(table));
  return files;
}

void validate(const ValidateOptions& options, const Session& session) {
  check_writable(options.json);
  const std::vector<ValidationTable> tables = list_validation_tables(session.files);
  if (!options.plot.empty()) make_folder(options.plot, plot_files(tables));
  Progress progress;
  const Validation validation = orrery::validate(
      tables, session.files, [&](std::uint64_t done, std::uint64_t total) { progress.show("tables", done, total); });
  std::optional<CrossValidation> cross;
  if (options.cross)
    cross = cross_validate(tables, session.files,
                           [&](std::uint64_t done, std::uint64_t total) { progress.show("systems", done, total); });
  progress.clear();
  if (!options.json.empty()) {
    nlohmann::ordered_json document = to_json(validation);
    if (cross) document["cross"] = to_json(*cross);
    write_text(options.json, document.dump(2) + "\n");
  }
  if (!options.plot.empty())
    for (const ValidatedTable& table : validation.scored)
      write_text(options.plot + "/" + plot_file_name(*table.table), validation_plot(table));
  if (options.json != "-") write_text("-", validation_text(validation) + (cross ? cross_validation_text(*cross) : ""));
}

}  // namespace

void add_validate_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand(
      "validate", "Hold predicted times of collectives against published measurements: the error of each table");
  command->add_flag("--cross", session.validate.cross,
                    "Also fit the constants of the library again without one system at a time, and predict that one");
  command->add_option("--json", session.validate.json,
                      "Write the errors and every row as JSON to this file; '-' prints it instead");
  command->add_option("--plot", session.validate.plot,
                      "Draw every scored table, predicted against measured, as TABLE.svg in this folder");
  command->callback([&session] { validate(session.validate, session); });
}

}  // namespace orrery::cli
