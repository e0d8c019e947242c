// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/table.h"
#include "study/validate/collectives/validate.h"

namespace orrery::study {
namespace {

// From here on bandwidth decides on every machine.
constexpr Bytes kBulk{std::int64_t{64} << 20};

struct TableGroup {
  TableCollection collection;
  std::string name;  // "all", an operation, a generation
  std::optional<ErrorSummary> all, bulk;
};

TableGroup group_of(TableCollection collection, const MeasuredGroup& group) {
  const auto is_bulk = [](const Measured& row) { return size_of(row) >= kBulk; };
  return {collection, group.name, errors_of_medians(by_table(group.rows)),
          errors_of_medians(by_table(rows_where(group.rows, is_bulk)))};
}

// The collections in their order, of each all tables, then by operation, then by generation, in the order of the names.
std::vector<TableGroup> groups_of(const MeasuredRows& rows) {
  using NameOf = std::string (*)(const Measured&);
  constexpr NameOf kNames[] = {
      [](const Measured&) { return std::string("all"); },
      [](const Measured& row) { return std::string(table_of<ValidationTable>(row).operation.name); },
      [](const Measured& row) { return row.facts["generation"].get<std::string>(); }};
  std::vector<TableGroup> groups;
  for (const TableCollection collection : kAllTableCollections) {
    const MeasuredRows own =
        rows_where(rows, [&](const Measured& row) { return table_of<ValidationTable>(row).collection == collection; });
    for (const NameOf name_of : kNames) {
      std::vector<MeasuredGroup> named = grouped(own, name_of);
      std::ranges::sort(named, {}, &MeasuredGroup::name);
      for (const MeasuredGroup& group : named) groups.push_back(group_of(collection, group));
    }
  }
  return groups;
}

}  // namespace

std::string groups_text(const MeasuredRows& rows) {
  report::Table text({"collection", "of", "tables"}, {"median", ">= 64M"});
  for (const TableGroup& group : groups_of(rows))
    text.row({std::string(name_of(group.collection)), group.name, fmt::format("{}", group.all->rows),
              percent_text(group.all, &ErrorSummary::median), percent_text(group.bulk, &ErrorSummary::median)});
  return text.text();
}

nlohmann::ordered_json groups_json(const MeasuredRows& rows) {
  nlohmann::ordered_json document = nlohmann::ordered_json::array();
  for (const TableGroup& group : groups_of(rows))
    document.push_back({{"collection", std::string(name_of(group.collection))},
                        {"of", group.name},
                        {"error", to_json(group.all)},
                        {"error_from_64_mib", to_json(group.bulk)}});
  return document;
}

}  // namespace orrery::study
