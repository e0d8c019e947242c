// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "study/validate/compute/validation.h"
#include "study/validate/measured/output.h"

namespace orrery::study {
namespace {

using Json = nlohmann::ordered_json;

std::optional<ErrorSummary> errors_below(const MeasuredRows& rows) {
  MeasuredRows below = rows_where(rows, [](const Measured& row) { return !row.scored; });
  for (Measured& row : below) row.scored = true;
  return errors_of(below);
}

std::string errors_text(const ComputeValidation& validation) {
  std::vector<ErrorColumn> columns = error_columns({"rows", "median", "p90", "worst", "at"});
  columns.push_back({fmt::format("< {}", kScoredTokens),
                     [](const MeasuredRows& rows) { return percent_text(errors_below(rows), &ErrorSummary::median); }});
  ErrorTable text({"table", "operator"}, std::move(columns));
  for (const ValidatedComputeTable& validated : validation.tables) {
    const std::optional<MeasuredGroup> products = products_of(validated);
    for (const MeasuredGroup& group : operators_of(validated)) {
      text.row({validated.table->name, group.name}, group.rows);
      if (products && group.name == name_of(LayerOperator::kMlpDown))
        text.row({validated.table->name, products->name}, products->rows);
    }
  }
  return text.text();
}

// One line for each device, software, or what all share.
std::string constants_text(const ComputeValidation& validation, bool product) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const FittedComputeConstant& constant : validation.constants) {
    if (constant.product != product) continue;
    const std::string of = constant.of.empty() ? "all devices" : constant.of;
    const std::string text = fmt::format("{} {}", constant.name, constant.value);
    const auto line = std::ranges::find(lines, of, &std::pair<std::string, std::string>::first);
    if (line != lines.end())
      line->second += ", " + text;
    else
      lines.emplace_back(of, text);
  }
  std::string text;
  for (const auto& [of, constants] : lines) text += fmt::format("  {}: {}\n", of, constants);
  return text;
}

Json errors_json(const MeasuredGroup& group, bool product) {
  const Measured* worst = worst_of(group.rows);
  return {{"operator", group.name},
          {"class", product ? "product" : "element-wise"},
          {"error", study::to_json(errors_of(group.rows))},
          {fmt::format("error_below_{}_tokens", kScoredTokens), study::to_json(errors_below(group.rows))},
          {"worst_at", worst != nullptr ? Json(worst->label) : Json()}};
}

Json with_rows(Json document, const MeasuredRows& rows) {
  document["rows"] = rows_json(rows, {"at", "line", "tokens", "measured_s", "predicted_s"});
  return document;
}

Json kernel_json(const MeasuredGroup& group, const MeasuredRows& by_others) {
  Json document = with_rows(errors_json(group, true), group.rows);
  const auto errors = errors_of(group.rows);
  document["bias"] = errors ? errors->bias : 0;
  document["error_by_others"] =
      study::to_json(errors_of(rows_where(by_others, [&](const Measured& row) { return row.family == group.name; })));
  return document;
}

Json to_json(const ValidatedComputeTable& validated) {
  const ComputeTable& table = *validated.table;
  Json document = {{"table", table.name},
                   {"source", table.source},
                   {"device", table.device.name},
                   {"software", table.software ? Json(table.software->name) : Json()},
                   {"precision", std::string(name_of(table.precision))},
                   {"left_out", validated.left_out},
                   {"operators", Json::array()}};
  for (const MeasuredGroup& group : operators_of(validated))
    document["operators"].push_back(with_rows(errors_json(group, is_product(group)), group.rows));
  const std::optional<MeasuredGroup> products = products_of(validated);
  document["products"] = products ? errors_json(*products, true) : Json();
  document["kernels"] = Json::array();
  for (const MeasuredGroup& group : kernels_of(validated.kernels))
    document["kernels"].push_back(kernel_json(group, validated.kernels_by_others));
  return document;
}

}  // namespace

std::string compute_validation_text(const ComputeValidation& validation) {
  std::size_t left_out = 0;
  for (const ValidatedComputeTable& table : validation.tables) left_out += table.left_out;
  std::string text = fmt::format(
      "Error of predicted times of operators against measured ones, in %: |predicted / measured - 1|, from {} tokens "
      "on;\nthe last column is the median below\n\n",
      kScoredTokens);
  text += errors_text(validation);
  if (left_out > 0)
    text += fmt::format(
        "\nnot scored: {} element-wise operators of less than {} tokens: they take a few microseconds, to which the "
        "times are rounded\n",
        left_out, kFewestElementWiseTokens);
  text += fmt::format("\nfitted constants of matrix products: {}\n{}", validation.product_constants(),
                      constants_text(validation, true));
  if (validation.product_constants() < validation.constants.size())
    text +=
        fmt::format("fitted constants of element-wise operators: {}\n{}",
                    validation.constants.size() - validation.product_constants(), constants_text(validation, false));
  return text;
}

std::string kernel_validation_text(const ComputeValidation& validation, bool cross) {
  ErrorTable text({"table", "kernel", "constants of"}, error_columns({"rows", "median", "p90", "bias", "worst", "at"}));
  for (const ValidatedComputeTable& validated : validation.tables) {
    const ComputeTable& table = *validated.table;
    const std::vector<MeasuredGroup> others = kernels_of(validated.kernels_by_others);
    const std::vector<MeasuredGroup> own = kernels_of(validated.kernels);
    for (std::size_t i = 0; i < own.size(); ++i) {
      text.row({table.name, own[i].name, std::string(name_of(table.device.architecture))}, own[i].rows);
      if (cross && !others.empty())
        text.row({table.name, own[i].name, std::string(name_of(*table.others))}, others[i].rows);
    }
  }
  if (text.is_empty()) return {};
  return fmt::format(
      "Error of predicted times of single kernels against measured ones, in %, from {} rows on; bias: {}\n\n{}",
      kScoredRows, kBiasMeaning, text.text());
}

nlohmann::ordered_json to_json(const ComputeValidation& validation) {
  Json document = {{"scored_from_tokens", kScoredTokens},
                   {"element_wise_from_tokens", kFewestElementWiseTokens},
                   {"tables", Json::array()}};
  for (const ValidatedComputeTable& table : validation.tables) document["tables"].push_back(to_json(table));
  document["fitted_product_constants"] = validation.product_constants();
  for (const FittedComputeConstant& constant : validation.constants)
    document["constants"].push_back({{"of", constant.of},
                                     {"name", constant.name},
                                     {"value", constant.value},
                                     {"class", constant.product ? "product" : "element-wise"}});
  return document;
}

}  // namespace orrery::study
