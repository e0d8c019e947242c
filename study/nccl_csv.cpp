#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "study/nccl_formats.h"
#include "study/nccl_row.h"

namespace orrery {
namespace {

using Cells = std::vector<std::string_view>;
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

constexpr std::string_view kHint =
    "the columns are size_bytes, and oop_time_us, oop_algbw_GBps, oop_busbw_GBps, ip_time_us, ... for what there is";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t start = text.find_first_not_of(kBlank);
  if (start == std::string_view::npos) return {};
  text = text.substr(start, text.find_last_not_of(kBlank) - start + 1);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  return text;
}

Cells cells_of(std::string_view line) {
  Cells cells;
  while (true) {
    const std::size_t comma = line.find(',');
    cells.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

struct Line {
  std::string_view text;
  int number = 0;
  bool ended = true;  // by a line end
};

// The lines that are neither blank nor comments.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  std::optional<Line> next() {
    while (!rest_.empty()) {
      const std::size_t end = rest_.find('\n');
      const Line line{trimmed(rest_.substr(0, end)), ++number_, end != std::string_view::npos};
      rest_.remove_prefix(line.ended ? end + 1 : rest_.size());
      if (!line.text.empty() && !line.text.starts_with('#')) return line;
    }
    return std::nullopt;
  }

 private:
  std::string_view rest_;
  int number_ = 0;
};

// Nothing, and errors, where they cannot be read.
std::vector<Place> places_of(const Line& heading, const std::string& name, Diagnostics& diagnostics) {
  std::vector<Place> places;
  bool timed = false;
  const Cells names = cells_of(heading.text);
  for (const std::string_view cell : names) {
    const auto found = std::ranges::find(kColumns, cell, [](const auto& column) { return column.first; });
    const std::string column = fmt::format("column '{}'", printable(cell, 40));
    if (found == kColumns.end())
      diagnostics.error({name, heading.number}, column + " is not known", std::string(kHint));
    else if (std::ranges::count(names, cell) > 1)
      diagnostics.error({name, heading.number}, column + " twice");
    else
      places.push_back(found->second);
    timed = timed || cell == "oop_time_us" || cell == "ip_time_us";
  }
  if (!timed) diagnostics.error({name, heading.number}, "no column of times", std::string(kHint));
  if (!timed || places.size() != names.size()) return {};
  return places;
}

}  // namespace

bool is_nccl_csv(std::string_view text) {
  const auto heading = Lines(text).next();
  if (!heading) return false;
  const Cells cells = cells_of(heading->text);
  return cells.size() > 1 && std::ranges::find(cells, "size_bytes") != cells.end();
}

std::vector<NcclTable> read_nccl_csv(std::string_view text, const std::string& name, Diagnostics& diagnostics) {
  Lines lines(text);
  const auto heading = lines.next();
  if (!heading) return {};
  const std::vector<Place> places = places_of(*heading, name, diagnostics);
  if (places.empty()) return {};
  NcclTable table;
  table.line = heading->number;
  while (const auto line = lines.next()) {
    const Cells cells = cells_of(line->text);
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
    for (std::size_t i = 0; i < cells.size(); ++i) places[i](row) = cells[i];
    NcclRowContext context;
    context.written_again = true;
    if (auto read = nccl_row(row, context, where, diagnostics)) table.rows.push_back(std::move(*read));
  }
  if (table.rows.empty()) return {};
  return {std::move(table)};
}

}  // namespace orrery
