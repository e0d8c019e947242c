// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/table.h"
#include "study/errors.h"
#include "study/validate/compute/validation.h"

namespace orrery::study {
namespace {

using Json = nlohmann::ordered_json;

void add_row(report::Table& text, const std::string& table, const OperatorErrors& errors) {
  const auto summary = errors.summary();
  const ValidatedOperator* worst = errors.worst();
  text.row({table, errors.name, fmt::format("{}", summary ? summary->rows : 0),
            percent_text(summary, &ErrorSummary::median), percent_text(summary, &ErrorSummary::ninetieth),
            worst != nullptr ? fmt::format("{:+.1f}", 100 * worst->error()) : "-", worst != nullptr ? worst->at : "",
            percent_text(errors.summary_below(), &ErrorSummary::median)});
}

std::string errors_text(const ComputeValidation& validation) {
  report::Table text;
  text.column("table", report::Table::Align::kLeft);
  text.column("operator", report::Table::Align::kLeft);
  for (const char* heading : {"rows", "median", "p90", "worst"}) text.column(heading);
  text.column("at", report::Table::Align::kLeft);
  text.column(fmt::format("< {}", kScoredTokens));
  for (const ValidatedComputeTable& validated : validation.tables) {
    for (const OperatorErrors& errors : validated.operators) {
      add_row(text, validated.table->name, errors);
      if (validated.products && errors.name == "mlp down") add_row(text, validated.table->name, *validated.products);
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

void add_kernel_row(report::Table& text, std::string_view table, const std::string& constants,
                    const OperatorErrors& errors) {
  const auto summary = errors.summary();
  const ValidatedOperator* worst = errors.worst();
  text.row({std::string(table), errors.name, constants, fmt::format("{}", summary ? summary->rows : 0),
            percent_text(summary, &ErrorSummary::median), percent_text(summary, &ErrorSummary::ninetieth),
            fmt::format("{:+.1f}", 100 * errors.bias()),
            worst != nullptr ? fmt::format("{:+.1f}", 100 * worst->error()) : "-", worst != nullptr ? worst->at : ""});
}

Json to_json(const OperatorErrors& errors) {
  Json document = {{"operator", errors.name},
                   {"class", errors.product ? "product" : "element-wise"},
                   {"error", study::to_json(errors.summary())},
                   {fmt::format("error_below_{}_tokens", kScoredTokens), study::to_json(errors.summary_below())}};
  const ValidatedOperator* worst = errors.worst();
  document["worst_at"] = worst != nullptr ? Json(worst->at) : Json();
  return document;
}

Json rows_of(const OperatorErrors& errors) {
  Json rows = Json::array();
  for (const ValidatedOperator& row : errors.rows) {
    Json item = {{"at", row.at}, {"line", row.line}};
    if (row.tokens > 0) item["tokens"] = row.tokens;
    item["measured_s"] = seconds(row.measured);
    item["predicted_s"] = seconds(row.predicted);
    rows.push_back(std::move(item));
  }
  return rows;
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
  for (const OperatorErrors& errors : validated.operators) {
    document["operators"].push_back(to_json(errors));
    document["operators"].back()["rows"] = rows_of(errors);
  }
  document["products"] = validated.products ? to_json(*validated.products) : Json();
  document["kernels"] = Json::array();
  for (const OperatorErrors& errors : validated.kernels) {
    document["kernels"].push_back(to_json(errors));
    document["kernels"].back()["rows"] = rows_of(errors);
    document["kernels"].back()["bias"] = errors.bias();
    document["kernels"].back()["error_by_others"] = study::to_json(errors.by_others().summary());
  }
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
  report::Table text;
  text.column("table", report::Table::Align::kLeft);
  text.column("kernel", report::Table::Align::kLeft);
  text.column("constants of", report::Table::Align::kLeft);
  for (const char* heading : {"rows", "median", "p90", "bias", "worst"}) text.column(heading);
  text.column("at", report::Table::Align::kLeft);
  bool any = false;
  for (const ValidatedComputeTable& validated : validation.tables) {
    const ComputeTable& table = *validated.table;
    for (const OperatorErrors& errors : validated.kernels) {
      any = true;
      add_kernel_row(text, table.name, architecture_names()[static_cast<std::size_t>(table.device.architecture)],
                     errors);
      const OperatorErrors others = errors.by_others();
      if (cross && !others.rows.empty())
        add_kernel_row(text, table.name, architecture_names()[static_cast<std::size_t>(*table.others)], others);
    }
  }
  if (!any) return {};
  return fmt::format(
      "Error of predicted times of single kernels against measured ones, in %, from {} rows on; bias: median of signed "
      "errors\n\n{}",
      kScoredRows, text.text());
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
