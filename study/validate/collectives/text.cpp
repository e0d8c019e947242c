// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/number_text.h"
#include "core/version.h"
#include "study/validate/collectives/validate.h"
#include "study/validate/measured/output.h"

namespace orrery::study {
namespace {

using Json = nlohmann::ordered_json;

Json table_json(const MeasuredGroup& group) {
  const auto& table = table_of<ValidationTable>(group.rows.front());
  Json document = {{"table", table.name},
                   {"system", table.system},
                   {"source", table.source},
                   {"cluster", table.cluster},
                   {"nodes", table.nodes},
                   {"gpus_per_node", table.gpus_per_node},
                   {"op", std::string(table.operation.name)},
                   {"error", to_json(errors_of(group.rows))}};
  for (const SizeBand band : kAllSizeBands)
    document["error_by_size"][std::string(name_of(band))] = to_json(errors_of(in_band(group.rows, band)));
  document["rows"] = rows_json(group.rows, {"bytes", "measured_s", "predicted_s"});
  return document;
}

Json tables_json(const MeasuredRows& rows) {
  Json document = Json::array();
  for (const MeasuredGroup& table : by_table(rows)) document.push_back(table_json(table));
  return document;
}

// Tables with one reason on one line.
std::string left_out_text(std::span<const MeasuredTable* const> tables) {
  std::vector<std::pair<std::string, std::string>> names_by_reason;  // in the order of the tables
  for (const MeasuredTable* table : tables) {
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

// The tables whose median is far off, and why.
std::string far_off_text(const MeasuredRows& rows) {
  std::string text;
  for (const MeasuredGroup& table : by_table(rows)) {
    const std::string& why = table_of<ValidationTable>(table.rows.front()).why_off;
    if (const double median = errors_of(table.rows)->median; median > kFarOff)
      text += fmt::format("  {}: {}: {}\n", table.name, percent(median), why.empty() ? "not known" : why);
  }
  return text.empty() ? text : "\nmore than 15 % off:\n" + text;
}

std::string errors_text(const MeasuredRows& rows) {
  std::vector<ErrorColumn> columns = error_columns({"rows", "> 15 %", "median", "p90", "worst", "at"});
  columns.back().align = report::Table::Align::kRight;  // a size
  std::ranges::move(band_columns(), std::back_inserter(columns));
  ErrorTable text({"table"}, std::move(columns));
  for (const MeasuredGroup& table : by_table(rows)) text.row({table.name}, table.rows);
  return text.text();
}

}  // namespace

std::vector<ErrorColumn> band_columns() {
  std::vector<ErrorColumn> columns;
  for (const SizeBand band : kAllSizeBands)
    columns.push_back({std::string(name_of(band)), [band](const MeasuredRows& rows) {
                         return percent_text(errors_of(in_band(rows, band)), &ErrorSummary::median);
                       }});
  return columns;
}

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

Json to_json(const Validation& validation) {
  Json document = {{"schema", "orrery.validation/1"}, {"version", kVersion}, {"library", "nccl"}};
  document["tables"] = tables_json(validation.scored);
  document["overall"] = to_json(overall_error(validation.scored));
  document["overall_with_launch"] = to_json(overall_error_of_labelled(validation.scored));
  document["groups"] = groups_json(validation.scored);
  document["kernels"] = tables_json(validation.kernels);
  document["overall_of_kernels"] = to_json(overall_error(validation.kernels));
  document["fitted_constants"] = validation.constants.size();
  for (const FittedConstantText& constant : validation.constants)
    document["constants"].push_back(
        {{"name", constant.name}, {"shipped", constant.shipped}, {"nominal", constant.nominal}});
  document["not_scored"] = not_scored_json(validation.left_out);
  return document;
}

}  // namespace orrery::study
