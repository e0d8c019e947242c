// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "study/validate/experts/validation.h"
#include "study/validate/measured/output.h"

namespace orrery::study {
namespace {

using Json = nlohmann::ordered_json;

bool is_fitted(const Measured& row) { return table_of<ExpertTable>(row).fitted; }

ErrorTable exchange_table(std::initializer_list<std::string_view> names) {
  return {names, error_columns({"rows", "median", "bias", "p90", "worst", "at"})};
}

std::string library_text(const DispatchLibrary& library) {
  const auto text = [](Efficiency share) { return percent_of(static_cast<double>(share.count()), 1e6); };
  return fmt::format("{:.1f} GB/s a multiprocessor, within {}, between {}, launch {}, doubling {}",
                     static_cast<double>(library.processor_rate.count()) / 1e9, text(library.within),
                     text(library.between), rounded(library.launch), rounded(library.doubling));
}

std::vector<MeasuredGroup> by_table(const MeasuredRows& rows) {
  return grouped(rows, [](const Measured& row) { return row.table->name; });
}

std::string tables_text(const MeasuredRows& all) {
  ErrorTable text = exchange_table({"table", "way"});
  for (const MeasuredGroup& table : by_table(all))
    for (const MeasuredGroup& way :
         grouped(table.rows, [](const Measured& row) { return row.facts["way"].get<std::string>(); }))
      text.row({table.name + (is_fitted(way.rows.front()) ? "" : " (not fitted)"), way.name}, way.rows);
  return text.text();
}

std::string fitted_line(const MeasuredRows& all) {
  const auto errors = errors_of(rows_where(all, is_fitted));
  if (!errors) return {};
  return fmt::format("\nall fitted tables: median {}, 90 % of {} times at most {}\n", percent(errors->median),
                     errors->rows, percent(errors->ninetieth));
}

std::string left_out_text(const std::vector<LeftOutSystem>& systems) {
  if (systems.empty()) return {};
  ErrorTable text = exchange_table({"library", "system left out"});
  std::string constants;
  for (const LeftOutSystem& left : systems) {
    const MeasuredRows fitted = rows_where(left.rows, is_fitted),
                       others = rows_where(left.rows, std::not_fn(is_fitted));
    if (!fitted.empty()) text.row({left.library, left.system}, fitted);
    if (!others.empty()) text.row({left.library, left.system + " (not fitted)"}, others);
    constants += fmt::format("  without {}: {}\n", left.system, library_text(left.fitted));
  }
  return "\nerrors with constants fitted to the other systems\n\n" + text.text() + "\n" + constants;
}

void add_errors(const MeasuredRows& rows, Json& document) {
  const auto errors = errors_of(rows);
  document["error"] = to_json(errors);
  document["bias"] = errors->bias;
}

}  // namespace

std::string expert_validation_text(const ExpertValidation& validation) {
  return fmt::format(
             "Error of predicted times of dispatch and combine against measured ones, in %: |predicted / measured - "
             "1|;\nbias is the {}\n\n",
             kBiasMeaning) +
         tables_text(validation.rows) + fitted_line(validation.rows) + left_out_text(validation.left_out);
}

Json to_json(const ExpertValidation& validation) {
  Json document = {{"tables", Json::array()}};
  for (const MeasuredGroup& group : by_table(validation.rows)) {
    const auto& table = table_of<ExpertTable>(group.rows.front());
    Json& item = document["tables"].emplace_back(Json{{"table", group.name},
                                                      {"source", table.source},
                                                      {"system", table.system},
                                                      {"library", table.library.name},
                                                      {"fitted", table.fitted}});
    add_errors(group.rows, item);
    item["rows"] = rows_json(group.rows, {"at", "way", "line", "measured_s", "predicted_s"});
  }
  for (const LeftOutSystem& left : validation.left_out) {
    Json& item = document["left_out"].emplace_back(Json{{"library", left.library}, {"system", left.system}});
    add_errors(left.rows, item);
  }
  return document;
}

}  // namespace orrery::study
