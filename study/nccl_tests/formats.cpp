// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/csv_lines.h"
#include "core/files/json.h"
#include "study/nccl_tests/reader.h"

namespace orrery::study {
namespace {

constexpr std::string_view kCsvHint =
    "the columns are size_bytes, and oop_time_us, oop_algbw_GBps, oop_busbw_GBps, ip_time_us, ... for what there is";

// Nothing, and errors, where they cannot be read.
std::vector<NcclColumn> csv_columns(const CsvLine& heading, const std::string& name, Diagnostics& diagnostics) {
  const Location where{name, heading.number};
  const std::vector<CsvCell> names = heading.cells();
  std::vector<NcclColumn> columns;
  for (const CsvCell& cell : names) {
    const auto column = csv_column(cell.text);
    const std::string text = fmt::format("column '{}'", printable(cell.text, 40));
    if (!column)
      diagnostics.error(where, text + " is not known", std::string(kCsvHint));
    else if (std::ranges::count(names, cell.text, &CsvCell::text) > 1)
      diagnostics.error(where, text + " twice");
    else
      columns.push_back(*column);
  }
  const bool timed = std::ranges::any_of(
      names, [](const CsvCell& cell) { return cell.text == "oop_time_us" || cell.text == "ip_time_us"; });
  if (!timed) diagnostics.error(where, "no column of times", std::string(kCsvHint));
  if (!timed || columns.size() != names.size()) return {};
  return columns;
}

using nlohmann::json;

constexpr std::string_view kJsonHint = "expected the document of `orrery collective --json`";

std::optional<double> positive(const json& row, const char* key) {
  const auto found = row.find(key);
  if (found == row.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  if (!std::isfinite(value) || value <= 0) return std::nullopt;
  return value;
}

std::optional<NcclRow> row_of(const json& document, std::size_t index, const std::string& name,
                              Diagnostics& diagnostics) {
  const auto refuse = [&](std::string_view what) {
    diagnostics.error({name}, fmt::format("rows[{}]: {}", index, what), std::string(kJsonHint));
    return std::nullopt;
  };
  if (!document.is_object()) return refuse("no object");
  const auto bytes = document.find("bytes");
  const auto time = positive(document, "time_us");
  const bool whole = bytes != document.end() && bytes->is_number_integer();
  if (!whole || (bytes->is_number_unsigned() ? bytes->get<std::uint64_t>() > std::uint64_t{INT64_MAX}
                                             : bytes->get<std::int64_t>() < 0))
    return refuse("bytes is not a size");
  if (!time || *time * 1e6 >= static_cast<double>(Duration::max().count()) || *time * 1e6 < 0.5)
    return refuse("time_us is not a time");
  NcclRow row;
  row.bytes = Bytes(bytes->get<std::int64_t>());
  row.out_of_place.time = Duration(std::llround(*time * 1e6));
  row.out_of_place.algbw = positive(document, "algbw_GBps");
  row.out_of_place.busbw = positive(document, "busbw_GBps");
  return row;
}

}  // namespace

std::optional<std::vector<NcclTable>> read_nccl_csv(std::string_view text, const std::string& name,
                                                    Diagnostics& diagnostics) {
  CsvLines lines(text);
  const auto heading = lines.next();
  if (!heading) return std::nullopt;
  const std::vector<CsvCell> names = heading->cells();
  if (names.size() < 2 || std::ranges::find(names, "size_bytes", &CsvCell::text) == names.end()) return std::nullopt;
  std::vector<NcclTable> tables;
  const std::vector<NcclColumn> columns = csv_columns(*heading, name, diagnostics);
  if (columns.empty()) return tables;
  NcclTable table;
  table.line = heading->number;
  NcclRowContext context;
  context.written_again = true;
  while (const auto line = lines.next()) {
    const std::vector<CsvCell> cells = line->cells();
    const Location where{name, line->number};
    if (cells.size() != columns.size()) {
      const std::string found = fmt::format("{} cells; expected {}", cells.size(), columns.size());
      if (line->ended)
        diagnostics.error(where, found);
      else
        diagnostics.warning(where, "the last row is cut off: " + found + "; left out");
      continue;
    }
    NcclCells row;
    for (std::size_t i = 0; i < cells.size(); ++i) row[columns[i]] = cells[i].text;
    if (auto read = nccl_row(row, context, where, diagnostics)) table.rows.push_back(std::move(*read));
  }
  if (!table.rows.empty()) tables.push_back(std::move(table));
  return tables;
}

std::optional<std::vector<NcclTable>> read_collective_json(std::string_view text, const std::string& name,
                                                           Diagnostics& diagnostics) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || text[start] != '{') return std::nullopt;
  json document;
  try {
    document = parse_json(text);
  } catch (const JsonError&) {
    return std::nullopt;
  }
  if (!document.is_object()) return std::nullopt;
  std::vector<NcclTable> none;
  const auto schema = document.find("schema");
  if (schema == document.end() || *schema != "orrery.collective/1") {
    diagnostics.error({name}, "JSON, but not of schema 'orrery.collective/1'", std::string(kJsonHint));
    return none;
  }
  NcclTable table;
  table.is_simulated = true;
  if (const auto op = document.find("op");
      op != document.end() && op->is_string() && is_nccl_test(op->get_ref<const std::string&>()))
    table.test = op->get<std::string>();
  if (const auto ranks = document.find("ranks");
      ranks != document.end() && ranks->is_number_unsigned() && ranks->get<std::uint64_t>() <= UINT32_MAX)
    table.ranks = ranks->get<std::uint32_t>();
  if (const auto nodes = document.find("nodes");
      nodes != document.end() && nodes->is_number_unsigned() && nodes->get<std::uint64_t>() <= table.ranks)
    table.nodes = nodes->get<std::uint32_t>();
  table.groups = table.ranks > 0 ? 1 : 0;
  const auto rows = document.find("rows");
  if (rows == document.end() || !rows->is_array() || rows->empty()) {
    diagnostics.error({name}, "no rows", std::string(kJsonHint));
    return none;
  }
  for (std::size_t i = 0; i < rows->size(); ++i)
    if (auto row = row_of((*rows)[i], i, name, diagnostics)) table.rows.push_back(std::move(*row));
  if (table.rows.empty()) return none;
  none.push_back(std::move(table));
  return none;
}

}  // namespace orrery::study
