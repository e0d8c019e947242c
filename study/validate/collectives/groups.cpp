// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <utility>
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
  std::vector<double> medians, bulk;
};

// The collections in their order, of each all tables, then by operation, then by generation, in the order of the names.
std::vector<TableGroup> groups_of(std::span<const ValidatedTable> tables) {
  std::vector<TableGroup> groups;
  const auto add = [&](const ValidatedTable& table, const std::string& name) {
    const TableCollection collection = table.table->collection;
    auto group =
        std::ranges::find_if(groups, [&](const TableGroup& g) { return g.collection == collection && g.name == name; });
    if (group == groups.end()) group = groups.insert(group, {collection, name, {}, {}});
    group->medians.push_back(table.summary()->median);
    const auto is_bulk = [](const ValidatedRow& row) { return row.measured.bytes >= kBulk; };
    if (const auto bulk = summary_of(table.rows, is_bulk)) group->bulk.push_back(bulk->median);
  };
  for (const TableCollection collection : {TableCollection::kFirst, TableCollection::kSecond})
    for (int pass = 0; pass < 3; ++pass) {
      const std::size_t first = groups.size();
      for (const ValidatedTable& table : tables)
        if (table.table->collection == collection)
          add(table, pass == 0   ? "all"
                     : pass == 1 ? std::string(table.table->operation.name)
                                 : std::string(name_of(table.generation)));
      std::sort(groups.begin() + static_cast<std::ptrdiff_t>(first), groups.end(),
                [](const TableGroup& a, const TableGroup& b) { return a.name < b.name; });
    }
  return groups;
}

}  // namespace

std::string groups_text(std::span<const ValidatedTable> tables) {
  report::Table text;
  for (const char* heading : {"collection", "of", "tables"}) text.column(heading, report::Table::Align::kLeft);
  for (const char* heading : {"median", ">= 64M"}) text.column(heading);
  for (const TableGroup& group : groups_of(tables))
    text.row({std::string(name_of(group.collection)), group.name, fmt::format("{}", group.medians.size()),
              percent_text(summary_of(group.medians), &ErrorSummary::median),
              percent_text(summary_of(group.bulk), &ErrorSummary::median)});
  return text.text();
}

nlohmann::ordered_json groups_json(std::span<const ValidatedTable> tables) {
  nlohmann::ordered_json document = nlohmann::ordered_json::array();
  for (const TableGroup& group : groups_of(tables))
    document.push_back({{"collection", std::string(name_of(group.collection))},
                        {"of", group.name},
                        {"error", to_json(summary_of(group.medians))},
                        {"error_from_64_mib", to_json(summary_of(group.bulk))}});
  return document;
}

}  // namespace orrery::study
