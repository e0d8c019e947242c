// Validation tables as files: reading one and all shipped ones, and the text of docs/validation.md about them.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "study/validate/collectives/table.h"

namespace orrery {
namespace {

constexpr std::string_view kFolder = "validation/nccl";

std::string size_text(Bytes bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::int64_t count = bytes.count();
  std::size_t unit = 0;
  for (; unit + 1 < kUnits.size() && count >= 1024 && count % 1024 == 0; ++unit) count /= 1024;
  return fmt::format("{} {}", count, kUnits[unit]);
}

std::string sizes_of(const ValidationTable& table) {
  return fmt::format("{} to {}", size_text(table.rows.front().bytes), size_text(table.rows.back().bytes));
}

std::string operation_of(const ValidationTable& table) {
  std::string text(table.operation.name);
  if (table.timed == TimedPart::kKernels) text += ", kernels";
  if (!table.forced.empty()) text += fmt::format(", {}", fmt::join(table.forced, " "));
  return text;
}

std::string line_of(const ValidationTable& table) {
  return fmt::format("| `{}` | {} | {} | {} | {} x {} | {} | {} | {} | {} |\n", table.name, table.system,
                     table.cluster.empty() ? "" : fmt::format("`{}`", table.cluster), operation_of(table), table.nodes,
                     table.gpus_per_node, sizes_of(table), table.rows.size(),
                     table.launch ? name_of(*table.launch) : "", table.scored ? "yes" : "no");
}

}  // namespace

bool is_validation_table(const std::string& file, const ConfigFiles& files) {
  const ConfigValue root = files.peek(file);
  return root.find("table") != nullptr && root.find("rows") != nullptr;
}

ValidationTable load_validation_table(const std::string& file, const std::vector<std::string>& settings,
                                      const ConfigFiles& files, Diagnostics& diagnostics) {
  const std::size_t errors = diagnostics.error_count();
  ConfigValue root = files.load(file, {}, diagnostics);
  for (const std::string& setting : settings) apply_setting(root, setting, files, diagnostics);
  if (diagnostics.error_count() > errors) return {};
  return read_validation_table(std::move(root), files, diagnostics);
}

void sort_validation_tables(std::vector<ValidationTable>& tables) {
  std::ranges::stable_sort(tables, {}, &ValidationTable::name);
  Diagnostics diagnostics;
  for (std::size_t i = 1; i < tables.size(); ++i) {
    if (tables[i].name != tables[i - 1].name) continue;
    diagnostics.error(tables[i].where, fmt::format("two tables are named '{}'", printable(tables[i].name)),
                      fmt::format("the other one is in {}", tables[i - 1].where.file));
  }
  diagnostics.throw_if_errors();
}

std::vector<ValidationTable> list_validation_tables(const ConfigFiles& files) {
  Diagnostics diagnostics;
  std::vector<ValidationTable> tables;
  for (const std::string& name : files.names(kFolder))
    tables.push_back(
        load_validation_table((files.shipped() / kFolder / (name + ".yaml")).string(), {}, files, diagnostics));
  diagnostics.throw_if_errors();
  sort_validation_tables(tables);
  return tables;
}

std::string validation_list(std::span<const ValidationTable> tables) {
  std::string text = "| table | system | cluster | op | nodes x GPUs | sizes | rows | launch | scored |\n";
  text += "|---|---|---|---|---|---|---|---|---|\n";
  for (const ValidationTable& table : tables) text += line_of(table);
  text += "\nWhat was measured, and where it was published:\n\n";
  for (const ValidationTable& table : tables)
    text += fmt::format("* `{}`: {}. {}.\n", table.name, table.measured, table.source);
  text += "\nWhat says how calls were launched:\n\n";
  for (const ValidationTable& table : tables)
    if (table.launch) text += fmt::format("* `{}`, {}: {}.\n", table.name, name_of(*table.launch), table.launch_source);
  text += "\nWhy not all of them are scored:\n\n";
  for (const ValidationTable& table : tables)
    if (!table.scored) text += fmt::format("* `{}`: {}.\n", table.name, table.why_not);
  return text;
}

}  // namespace orrery
