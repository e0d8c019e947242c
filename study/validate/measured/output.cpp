// SPDX-License-Identifier: MIT
#include "study/validate/measured/output.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/config/number_text.h"

namespace orrery::study {
namespace {

using Json = nlohmann::ordered_json;

std::string number_of_rows(const MeasuredRows& rows) {
  return fmt::format("{}", std::ranges::count_if(rows, &Measured::scored));
}

std::string far_off(const MeasuredRows& rows) {
  return fmt::format("{}", std::ranges::count_if(rows, [](const Measured& row) {
                       return row.scored && std::abs(row.error()) > kFarOff;
                     }));
}

template <double ErrorSummary::*kWhich>
std::string error_text(const MeasuredRows& rows) {
  return percent_text(errors_of(rows), kWhich);
}

std::string bias_text(const MeasuredRows& rows) {
  const auto errors = errors_of(rows);
  return errors ? signed_percent_number(errors->bias) : "-";
}

std::string worst_text(const MeasuredRows& rows) {
  const Measured* worst = worst_of(rows);
  return worst != nullptr ? signed_percent_number(worst->error()) : "-";
}

std::string worst_label(const MeasuredRows& rows) {
  const Measured* worst = worst_of(rows);
  return worst != nullptr ? worst->label : "";
}

struct KnownColumn {
  std::string_view heading;
  std::string (*cell)(const MeasuredRows&);
  report::Table::Align align = report::Table::Align::kRight;
  report::Interest interest = report::Interest::kUsual;
};
constexpr std::array<KnownColumn, 8> kErrorColumns = {
    {{"rows", number_of_rows, report::kRight, report::Interest::kAnswer},
     {"> 15 %", far_off},
     {"mean", error_text<&ErrorSummary::mean>},
     {"median", error_text<&ErrorSummary::median>, report::kRight, report::Interest::kAnswer},
     {"p90", error_text<&ErrorSummary::ninetieth>},
     {"bias", bias_text},
     {"worst", worst_text},
     {"at", worst_label, report::Table::Align::kLeft, report::Interest::kDetail}}};

}  // namespace

ErrorColumn error_column(std::string_view heading) {
  const auto* found = std::ranges::find(kErrorColumns, heading, &KnownColumn::heading);
  ORRERY_ASSERT(found != kErrorColumns.end());
  return {std::string(heading), found->cell, found->align, found->interest};
}

std::vector<ErrorColumn> error_columns(std::initializer_list<std::string_view> headings) {
  std::vector<ErrorColumn> columns;
  for (const std::string_view heading : headings) columns.push_back(error_column(heading));
  return columns;
}

ErrorTable::ErrorTable(std::initializer_list<std::string_view> names, std::vector<ErrorColumn> columns)
    : columns_(std::move(columns)), table_(names, {}) {
  for (const ErrorColumn& column : columns_) table_.column(column.heading, column.align, column.interest);
}

void ErrorTable::row(std::vector<std::string> names, const MeasuredRows& rows) {
  is_empty_ = false;
  for (const ErrorColumn& column : columns_) names.push_back(column.cell(rows));
  table_.row(std::move(names));
}

Json row_json(const Measured& row, std::initializer_list<std::string_view> keys) {
  Json json = Json::object();
  for (const std::string_view view : keys) {
    const std::string key(view);
    if (key == "table")
      json[key] = row.table->name;
    else if (key == "family")
      json[key] = row.family;
    else if (key == "label" || key == "at")
      json[key] = row.label;
    else if (key == "line")
      json[key] = row.where.line;
    else if (key == "measured_s")
      json[key] = row.measured;
    else if (key == "predicted_s")
      json[key] = row.predicted;
    else if (key == "error")
      json[key] = row.error();
    else if (row.facts.contains(key))
      json[key] = row.facts[key];
  }
  return json;
}

Json rows_json(const MeasuredRows& rows, std::initializer_list<std::string_view> keys) {
  Json document = Json::array();
  for (const Measured& row : rows) document.push_back(row_json(row, keys));
  return document;
}

Json not_scored_json(std::span<const MeasuredTable* const> tables) {
  Json document = Json::array();
  for (const MeasuredTable* table : tables) document.push_back({{"table", table->name}, {"why", table->why_not}});
  return document;
}

}  // namespace orrery::study
