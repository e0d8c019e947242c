// SPDX-License-Identifier: MIT
// Errors of measured rows as tables and documents, for every kind of validation.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "report/table.h"
#include "study/validate/measured/measured.h"

namespace orrery::study {

// The meaning of a bias, for the line above a table.
inline constexpr std::string_view kBiasMeaning = "median of the signed errors";

// Errors beyond this are far off.
inline constexpr double kFarOff = 0.15;

// A column of a table of errors: what it says of the rows of a line.
struct ErrorColumn {
  std::string heading;
  std::function<std::string(const MeasuredRows&)> cell;
  report::Table::Align align = report::Table::Align::kRight;
  report::Interest interest = report::Interest::kUsual;
};

// The columns that kinds share, by heading, in %: "rows" (their number), "> 15 %" (how many are farther off), "mean",
// "median", "p90", "bias", "worst" (signed) and "at" (the row that is worst). "-" where nothing counts.
ErrorColumn error_column(std::string_view heading);
std::vector<ErrorColumn> error_columns(std::initializer_list<std::string_view> headings);

class ErrorTable {
 public:
  // Columns of names first, then those of errors.
  ErrorTable(std::initializer_list<std::string_view> names, std::vector<ErrorColumn> columns);

  void row(std::vector<std::string> names, const MeasuredRows& rows);
  bool is_empty() const { return is_empty_; }
  std::string text() const { return table_.text(); }

 private:
  std::vector<ErrorColumn> columns_;
  report::Table table_;
  bool is_empty_ = true;
};

// The values of a row under these keys, as far as it has them: "table", "family", "label", "at" (the label), "line",
// "measured_s", "predicted_s", "error", and those of its facts.
nlohmann::ordered_json row_json(const Measured& row, std::initializer_list<std::string_view> keys);
nlohmann::ordered_json rows_json(const MeasuredRows& rows, std::initializer_list<std::string_view> keys);

// The tables that are not scored, and why: [{"table", "why"}].
nlohmann::ordered_json not_scored_json(std::span<const MeasuredTable* const> tables);

}  // namespace orrery::study
