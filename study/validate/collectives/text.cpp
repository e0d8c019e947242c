// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/quantity_text.h"
#include "core/version.h"
#include "report/table.h"
#include "study/errors.h"
#include "study/validate/collectives/validate.h"

namespace orrery::study {
namespace {

nlohmann::ordered_json to_json(const ValidatedTable& validated) {
  const ValidationTable& table = *validated.table;
  nlohmann::ordered_json document = {{"table", table.name},
                                     {"system", table.system},
                                     {"source", table.source},
                                     {"cluster", table.cluster},
                                     {"nodes", table.nodes},
                                     {"gpus_per_node", table.gpus_per_node},
                                     {"op", std::string(table.operation.name)},
                                     {"error", to_json(validated.summary())}};
  for (const SizeBand band : kAllSizeBands)
    document["error_by_size"][std::string(name_of(band))] = to_json(validated.summary(band));
  for (const ValidatedRow& row : validated.rows)
    document["rows"].push_back({{"bytes", row.measured.bytes.count()},
                                {"measured_s", seconds(row.measured.time)},
                                {"predicted_s", seconds(row.predicted)}});
  return document;
}

// Tables with one reason on one line.
std::string left_out_text(std::span<const ValidationTable* const> tables) {
  std::vector<std::pair<std::string, std::string>> names_by_reason;  // in the order of the tables
  for (const ValidationTable* table : tables) {
    const auto same = std::ranges::find(names_by_reason, table->why_not, &std::pair<std::string, std::string>::first);
    if (same == names_by_reason.end())
      names_by_reason.emplace_back(table->why_not, table->name);
    else
      same->second += ", " + table->name;
  }
  std::string text = tables.empty() ? "" : "\nnot scored:\n";
  for (const auto& [reason, names] : names_by_reason) text += fmt::format("  {}: {}\n", names, reason);
  return text;
}

constexpr double kFarOff = 0.15;
bool is_far_off(const ValidatedRow& row) { return std::abs(row.error()) > kFarOff; }

// The tables whose median is far off, and why.
std::string far_off_text(std::span<const ValidatedTable> tables) {
  std::string text;
  for (const ValidatedTable& table : tables)
    if (const double median = table.summary()->median; median > kFarOff)
      text += fmt::format("  {}: {:.1f} %: {}\n", table.table->name, 100 * median,
                          table.table->why_off.empty() ? "not known" : table.table->why_off);
  return text.empty() ? text : "\nmore than 15 % off:\n" + text;
}

std::string errors_text(std::span<const ValidatedTable> tables) {
  report::Table text;
  text.column("table", report::Table::Align::kLeft);
  for (const char* heading : {"rows", "> 15 %", "median", "p90", "worst"}) text.column(heading);
  text.column("at");
  for (const SizeBand band : kAllSizeBands) text.column(std::string(name_of(band)));
  for (const ValidatedTable& table : tables) {
    const auto summary = table.summary();
    const ValidatedRow& worst = table.worst();
    std::vector<std::string> cells = {table.table->name,
                                      fmt::format("{}", summary->rows),
                                      fmt::format("{}", std::ranges::count_if(table.rows, is_far_off)),
                                      percent_text(summary, &ErrorSummary::median),
                                      percent_text(summary, &ErrorSummary::ninetieth),
                                      fmt::format("{:+.1f}", 100 * worst.error()),
                                      rounded(worst.measured.bytes)};
    for (const SizeBand band : kAllSizeBands) cells.push_back(percent_text(table.summary(band), &ErrorSummary::median));
    text.row(std::move(cells));
  }
  return text.text();
}
}  // namespace

std::string validation_text(const Validation& validation) {
  std::string result =
      "Error of predicted times against measured ones, in %: |predicted / measured - 1|\n\n" +
      errors_text(validation.scored) + "\n" + overall_text("all tables", overall_error(validation.scored)) +
      overall_text("whose source says who launched the kernels", overall_error_of_labelled(validation.scored)) + "\n" +
      groups_text(validation.scored);
  if (!validation.kernels.empty())
    result +=
        "\nKernels of profiles, without their launch (small ones wait for the last rank; not counted above):\n\n" +
        errors_text(validation.kernels) + "\n" + overall_text("kernels", overall_error(validation.kernels));
  result +=
      fmt::format("\nlibrary: nccl; fitted constants: {} (configs/libraries/nccl.yaml; nominal value in brackets)\n",
                  validation.constants.size());
  for (const FittedConstantText& constant : validation.constants)
    result += fmt::format("  {}: {} ({})\n", constant.name, constant.shipped, constant.nominal);
  return result + far_off_text(validation.scored) + left_out_text(validation.left_out);
}

nlohmann::ordered_json to_json(const Validation& validation) {
  nlohmann::ordered_json document = {{"schema", "orrery.validation/1"}, {"version", kVersion}, {"library", "nccl"}};
  document["tables"] = nlohmann::ordered_json::array();
  for (const ValidatedTable& table : validation.scored) document["tables"].push_back(to_json(table));
  document["overall"] = to_json(overall_error(validation.scored));
  document["overall_with_launch"] = to_json(overall_error_of_labelled(validation.scored));
  document["groups"] = groups_json(validation.scored);
  document["kernels"] = nlohmann::ordered_json::array();
  for (const ValidatedTable& table : validation.kernels) document["kernels"].push_back(to_json(table));
  document["overall_of_kernels"] = to_json(overall_error(validation.kernels));
  document["fitted_constants"] = validation.constants.size();
  for (const FittedConstantText& constant : validation.constants)
    document["constants"].push_back(
        {{"name", constant.name}, {"shipped", constant.shipped}, {"nominal", constant.nominal}});
  document["not_scored"] = nlohmann::ordered_json::array();
  for (const ValidationTable* table : validation.left_out)
    document["not_scored"].push_back({{"table", table->name}, {"why", table->why_not}});
  return document;
}

}  // namespace orrery::study
