#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "study/csv_lines.h"
#include "study/nccl_tests/formats.h"
#include "study/nccl_tests/row.h"

namespace orrery {
namespace {

using Place = std::string_view& (*)(NcclRowText&);

constexpr std::size_t kOutOfPlace = static_cast<std::size_t>(NcclSide::kOutOfPlace);
constexpr std::size_t kInPlace = static_cast<std::size_t>(NcclSide::kInPlace);

constexpr std::array<std::pair<std::string_view, Place>, 13> kColumns = {{
    {"size_bytes", [](NcclRowText& row) -> std::string_view& { return row.bytes; }},
    {"count", [](NcclRowText& row) -> std::string_view& { return row.count; }},
    {"type", [](NcclRowText& row) -> std::string_view& { return row.type; }},
    {"redop", [](NcclRowText& row) -> std::string_view& { return row.reduction; }},
    {"root", [](NcclRowText& row) -> std::string_view& { return row.root; }},
    {"oop_time_us", [](NcclRowText& row) -> std::string_view& { return row.sides[kOutOfPlace].time; }},
    {"oop_algbw_GBps", [](NcclRowText& row) -> std::string_view& { return row.sides[kOutOfPlace].algbw; }},
    {"oop_busbw_GBps", [](NcclRowText& row) -> std::string_view& { return row.sides[kOutOfPlace].busbw; }},
    {"oop_wrong", [](NcclRowText& row) -> std::string_view& { return row.sides[kOutOfPlace].wrong; }},
    {"ip_time_us", [](NcclRowText& row) -> std::string_view& { return row.sides[kInPlace].time; }},
    {"ip_algbw_GBps", [](NcclRowText& row) -> std::string_view& { return row.sides[kInPlace].algbw; }},
    {"ip_busbw_GBps", [](NcclRowText& row) -> std::string_view& { return row.sides[kInPlace].busbw; }},
    {"ip_wrong", [](NcclRowText& row) -> std::string_view& { return row.sides[kInPlace].wrong; }},
}};

constexpr std::string_view kCsvHint =
    "the columns are size_bytes, and oop_time_us, oop_algbw_GBps, oop_busbw_GBps, ip_time_us, ... for what there is";

// Nothing, and errors, where they cannot be read.
std::vector<Place> places_of(const CsvLine& heading, const std::string& name, Diagnostics& diagnostics) {
  std::vector<Place> places;
  bool timed = false;
  const std::vector<CsvCell> names = heading.cells();
  for (const CsvCell& name_cell : names) {
    const std::string_view cell = name_cell.text;
    const auto found = std::ranges::find(kColumns, cell, [](const auto& column) { return column.first; });
    const std::string column = fmt::format("column '{}'", printable(cell, 40));
    if (found == kColumns.end())
      diagnostics.error({name, heading.number}, column + " is not known", std::string(kCsvHint));
    else if (std::ranges::count(names, cell, &CsvCell::text) > 1)
      diagnostics.error({name, heading.number}, column + " twice");
    else
      places.push_back(found->second);
    timed = timed || cell == "oop_time_us" || cell == "ip_time_us";
  }
  if (!timed) diagnostics.error({name, heading.number}, "no column of times", std::string(kCsvHint));
  if (!timed || places.size() != names.size()) return {};
  return places;
}

}  // namespace

bool is_nccl_csv(std::string_view text) {
  const auto heading = CsvLines(text).next();
  if (!heading) return false;
  const std::vector<CsvCell> cells = heading->cells();
  return cells.size() > 1 && std::ranges::find(cells, "size_bytes", &CsvCell::text) != cells.end();
}

std::vector<NcclTable> read_nccl_csv(std::string_view text, const std::string& name, Diagnostics& diagnostics) {
  CsvLines lines(text);
  const auto heading = lines.next();
  if (!heading) return {};
  const std::vector<Place> places = places_of(*heading, name, diagnostics);
  if (places.empty()) return {};
  NcclTable table;
  table.line = heading->number;
  while (const auto line = lines.next()) {
    const std::vector<CsvCell> cells = line->cells();
    const Location where{name, line->number};
    if (cells.size() != places.size()) {
      const std::string found = fmt::format("{} cells; expected {}", cells.size(), places.size());
      if (line->ended)
        diagnostics.error(where, found);
      else
        diagnostics.warning(where, "the last row is cut off: " + found + "; left out");
      continue;
    }
    NcclRowText row;
    for (std::size_t i = 0; i < cells.size(); ++i) places[i](row) = cells[i].text;
    NcclRowContext context;
    context.written_again = true;
    if (auto read = nccl_row(row, context, where, diagnostics)) table.rows.push_back(std::move(*read));
  }
  if (table.rows.empty()) return {};
  return {std::move(table)};
}

}  // namespace orrery
