// SPDX-License-Identifier: MIT
#include "report/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/config/csv_lines.h"
#include "core/error.h"

namespace orrery::report {
namespace {

// Columns on a terminal: bytes that start a UTF-8 character.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

constexpr std::string_view kNothing = "-";

TableFormat chosen_format = TableFormat::kText;

// Beginning of a line of a table in another format than text. No answer has it otherwise: it is not printable.
constexpr char kMark = '\x1e';

std::string marked(std::string_view lines) {
  std::string text;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    text += kMark;
    text.append(lines.substr(at, end - at)).append("\n");
    at = end + 1;
  }
  return text;
}

std::string escaped(std::string_view text, std::string_view special, std::string_view before) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) result += before;
    result += c;
  }
  return result;
}

std::string latex_cell(std::string_view text) {
  std::string result;
  for (const char c : text) switch (c) {
      case '\\':
        result += "\\textbackslash{}";
        break;
      case '~':
        result += "\\textasciitilde{}";
        break;
      case '^':
        result += "\\textasciicircum{}";
        break;
      case '<':
        result += "\\textless{}";
        break;
      case '>':
        result += "\\textgreater{}";
        break;
      case '|':
        result += "\\textbar{}";
        break;
      case '"':
        result += "''";
        break;
      default:
        result += escaped(std::string_view(&c, 1), "&%$#_{}", "\\");
    }
  return result;
}

// The number and the unit of "24.340 s". No unit where the cell is something else.
std::pair<std::string_view, std::string_view> number_and_unit(std::string_view cell) {
  const std::size_t end = cell.find(' ');
  if (end == std::string_view::npos) return {cell, {}};
  const std::string_view number = cell.substr(0, end);
  const bool is_number = number.find_first_not_of("+-.0123456789") == std::string_view::npos &&
                         number.find_first_of("0123456789") != std::string_view::npos;
  return is_number ? std::pair(number, cell.substr(end + 1)) : std::pair(cell, std::string_view());
}

// Units of one quantity, the first of which stands for all.
struct UnitFactor {
  std::string_view name;
  std::string_view base;
  double factor;
};
constexpr std::array kUnitFactors = std::to_array<UnitFactor>({
    {"s", "s", 1},
    {"ms", "s", 1e-3},
    {"us", "s", 1e-6},
    {"ns", "s", 1e-9},
    {"ps", "s", 1e-12},
    {"min", "s", 60},
    {"h", "s", 3600},
    {"days", "s", 86400},
    {"B", "B", 1},
    {"KiB", "B", 0x1p10},
    {"MiB", "B", 0x1p20},
    {"GiB", "B", 0x1p30},
    {"TiB", "B", 0x1p40},
    {"PiB", "B", 0x1p50},
    {"EiB", "B", 0x1p60},
    {"kB", "B", 1e3},
    {"MB", "B", 1e6},
    {"GB", "B", 1e9},
    {"TB", "B", 1e12},
    {"B/s", "B/s", 1},
    {"kB/s", "B/s", 1e3},
    {"MB/s", "B/s", 1e6},
    {"GB/s", "B/s", 1e9},
    {"TB/s", "B/s", 1e12},
    {"GFLOP/s", "FLOP/s", 1e9},
    {"TFLOP/s", "FLOP/s", 1e12},
    {"PFLOP/s", "FLOP/s", 1e15},
});

const UnitFactor* factor_of(std::string_view unit) {
  const auto found = std::ranges::find(kUnitFactors, unit, &UnitFactor::name);
  return found == kUnitFactors.end() ? nullptr : &*found;
}

// The unit of a column whose cells all have one of the same quantity: the quantity's own, whatever theirs are, so that
// headings do not depend on how large the figures are. Another unit holds where all cells have it. Empty if there is
// none.
std::string_view common_unit(const std::vector<std::vector<std::string>>& rows, std::size_t column) {
  std::string_view unit;
  for (const std::vector<std::string>& row : rows) {
    if (row[column] == kNothing) continue;
    std::string_view one = number_and_unit(row[column]).second;
    if (const UnitFactor* factor = factor_of(one)) one = factor->base;
    if (one.empty() || (!unit.empty() && one != unit)) return {};
    unit = one;
  }
  return unit;
}

// The number of a cell in the unit of its column; "0.7288" of "728.8 ms".
std::string in_unit(std::string_view cell, std::string_view unit) {
  const auto [number, own] = number_and_unit(cell);
  const UnitFactor *from = factor_of(own), *to = factor_of(unit);
  if (own == unit || from == nullptr || to == nullptr) return std::string(number);
  return fmt::format("{:.10g}", std::stod(std::string(number)) * from->factor / to->factor);
}

struct ColumnUnit {
  std::string_view name;
  double size = 1;
};

// `units` from small to large. Three decimals, none of the smallest unit: there is nothing below it.
template <class Quantity>
std::vector<std::string> scaled(std::span<const Quantity> values, std::span<const ColumnUnit> units) {
  double largest = 0;
  for (const Quantity& value : values) largest = std::max(largest, static_cast<double>(value.count()));
  const ColumnUnit* unit = &units.front();
  for (const ColumnUnit& one : units)
    if (largest >= one.size) unit = &one;
  std::vector<std::string> cells;
  for (const Quantity& value : values)
    cells.push_back(value.count() == 0 ? std::string(kNothing)
                                       : fmt::format("{:.{}f} {}", static_cast<double>(value.count()) / unit->size,
                                                     unit == &units.front() ? 0 : 3, unit->name));
  return cells;
}

// Returns the position at which `line`, wider than it may be, is broken: that of a blank, one inside a word, or its
// length where it cannot be broken. Blanks up to `start` and those that it begins with stay.
std::size_t break_of(const std::string& line, std::size_t start, const Wrapping& wrapping) {
  const std::size_t width = wrapping.width;
  start = std::max(start, std::min(line.find_first_not_of(' '), line.size()));
  const auto is_clause = [&](std::size_t at) {
    return line[at + 1] == '(' || std::string_view(",;:").find(line[at - 1]) != std::string_view::npos;
  };
  if (wrapping.at == Wrapping::Break::kClauses)
    for (std::size_t at = width; at > std::max(start, width / 2); --at)
      if (line[at] == ' ' && is_clause(at)) return at;
  const std::size_t blank = line.rfind(' ', width);
  if (blank != std::string::npos && blank > start) return blank;
  if (wrapping.at != Wrapping::Break::kWords) return std::min(line.find(' ', std::max(width, start)), line.size());
  std::size_t end = width;
  while (end > start + 1 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;
  return end;
}

}  // namespace

Table::Table(std::initializer_list<std::string_view> names, std::initializer_list<std::string_view> figures,
             std::initializer_list<std::string_view> remarks) {
  for (const std::string_view name : names) column(std::string(name), Align::kLeft);
  for (const std::string_view figure : figures) column(std::string(figure));
  for (const std::string_view remark : remarks) column(std::string(remark), Align::kLeft);
}

void Table::column(std::string heading, Align align) {
  columns_.push_back({printable(heading, std::string::npos), align});
}

void Table::row(std::vector<std::string> cells) {
  ORRERY_ASSERT(cells.size() == columns_.size());
  for (std::string& cell : cells) cell = printable(cell, std::string::npos);
  rows_.push_back(std::move(cells));
}

void Table::column_of(std::string heading, std::vector<std::string> cells, Align align) {
  if (std::ranges::all_of(cells, [](const std::string& cell) { return cell == kNothing; })) return;
  ORRERY_ASSERT(columns_.empty() || rows_.size() == cells.size());
  column(std::move(heading), align);
  rows_.resize(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) rows_[i].push_back(printable(cells[i], std::string::npos));
}

void set_table_format(TableFormat format) { chosen_format = format; }

TableFormat table_format() { return chosen_format; }

std::string in_table_format(std::string_view answer) {
  if (chosen_format == TableFormat::kText) return std::string(answer);
  const std::string_view comment = chosen_format == TableFormat::kCsv     ? "# "
                                   : chosen_format == TableFormat::kLatex ? "% "
                                                                          : "";
  std::string text;
  bool was_table = false;
  while (!answer.empty()) {
    std::string_view line = answer.substr(0, answer.find('\n'));
    answer.remove_prefix(std::min(answer.size(), line.size() + 1));
    const bool is_table = line.starts_with(kMark);
    if (is_table && !was_table && !text.empty() && !text.ends_with("\n\n")) text += '\n';
    if (!is_table && was_table && !line.empty()) text += '\n';
    was_table = is_table;
    if (is_table) line.remove_prefix(1);
    if (!is_table && !line.empty()) text += comment;
    text.append(line).append("\n");
  }
  return text;
}

std::string Table::text() const {
  switch (chosen_format) {
    case TableFormat::kText:
      break;
    case TableFormat::kCsv:
      return marked(csv());
    case TableFormat::kMarkdown:
      return marked(markdown());
    case TableFormat::kLatex:
      return marked(latex());
  }
  return aligned();
}

std::string Table::csv() const {
  std::vector<std::string_view> units;
  std::vector<std::string> headings;  // before those of the same name are numbered
  std::string text;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    units.push_back(column.align == Align::kRight ? common_unit(rows_, c) : std::string_view());
    std::string heading = column.heading.empty() ? fmt::format("column {}", c + 1) : column.heading;
    if (!units[c].empty()) heading += fmt::format(" ({})", units[c]);
    const auto same = std::ranges::count(headings, heading);
    headings.push_back(heading);
    if (same > 0) heading += fmt::format(" {}", same + 1);
    text += c == 0 ? "" : ",";
    text += csv_cell(heading);
  }
  text += '\n';
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      text += c == 0 ? "" : ",";
      if (row[c] != kNothing) text += csv_cell(units[c].empty() ? row[c] : in_unit(row[c], units[c]));
    }
    text += '\n';
  }
  return text;
}

std::string Table::markdown() const {
  std::string text = "|", rule = "|";
  for (const Column& column : columns_) {
    text += fmt::format(" {} |", escaped(column.heading, "|", "\\"));
    rule += column.align == Align::kRight ? "---:|" : "---|";
  }
  text += fmt::format("\n{}\n", rule);
  for (const auto& row : rows_) {
    text += '|';
    for (const std::string& cell : row) text += fmt::format(" {} |", escaped(cell, "|", "\\"));
    text += '\n';
  }
  return text;
}

std::string Table::latex() const {
  std::string places;
  for (const Column& column : columns_) places += column.align == Align::kRight ? 'r' : 'l';
  std::string text = fmt::format("\\begin{{tabular}}{{{}}}\n\\hline\n", places);
  const auto add = [&text](const auto& cells, const auto& text_of) {
    for (std::size_t c = 0; c < cells.size(); ++c) {
      text += c == 0 ? "" : " & ";
      text += latex_cell(text_of(cells[c]));
    }
    text += " \\\\\n";
  };
  add(columns_, [](const Column& column) -> const std::string& { return column.heading; });
  text += "\\hline\n";
  for (const auto& row : rows_) add(row, [](const std::string& cell) -> const std::string& { return cell; });
  return text + "\\hline\n\\end{tabular}\n";
}

std::string Table::aligned() const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t widest = width(columns_[c].heading);
    for (const auto& row : rows_) widest = std::max(widest, width(row[c]));
    widths.push_back(widest);
  }
  std::string text;
  const auto append = [&](std::size_t c, const std::string& cell) {
    const std::string padding(widths[c] - width(cell), ' ');
    text += "  ";
    text += columns_[c].align == Align::kRight ? padding + cell : cell + padding;
  };
  const auto end_line = [&] {
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  };
  for (std::size_t c = 0; c < columns_.size(); ++c) append(c, columns_[c].heading);
  end_line();
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < columns_.size(); ++c) append(c, row[c]);
    end_line();
  }
  return text;
}

std::vector<std::string> in_one_unit(std::span<const Duration> times) {
  constexpr std::array<ColumnUnit, 5> kUnits = {{{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}}};
  return scaled(times, kUnits);
}

std::vector<std::string> in_one_unit(std::span<const Time> instants) {
  std::vector<Duration> times;
  for (const Time instant : instants) times.push_back(instant.time_since_epoch());
  return in_one_unit(times);
}

std::vector<std::string> in_one_unit(std::span<const Bytes> sizes) {
  constexpr std::array<ColumnUnit, 7> kUnits = {
      {{"B", 1}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"PiB", 0x1p50}, {"EiB", 0x1p60}}};
  return scaled(sizes, kUnits);
}

std::vector<std::string> in_one_unit(std::span<const Bandwidth> bandwidths) {
  constexpr std::array<ColumnUnit, 4> kUnits = {{{"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}}};
  std::vector<std::string> cells = scaled(bandwidths, kUnits);
  for (std::string& cell : cells) {
    const std::size_t space = cell.find(' ');
    if (cell.find('.') >= space) continue;
    const std::size_t last = cell.find_last_not_of('0', space - 1);
    cell.erase(cell[last] == '.' ? last : last + 1, space - (cell[last] == '.' ? last : last + 1));
  }
  return cells;
}

std::string wrapped(std::string_view text, const Wrapping& wrapping) {
  std::string lines, line = wrapping.first;
  std::size_t start = line.size();
  line += text;
  while (line.size() > wrapping.width) {
    const std::size_t end = break_of(line, start, wrapping);
    const std::size_t rest = line.find_first_not_of(' ', end);
    if (rest == std::string::npos) break;
    lines.append(line, 0, line.find_last_not_of(' ', end - 1) + 1).append("\n");
    line = wrapping.next + line.substr(rest);
    start = wrapping.next.size();
  }
  return lines + line + "\n";
}

}  // namespace orrery::report
