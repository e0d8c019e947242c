// SPDX-License-Identifier: MIT
#include "report/table.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/config/csv_lines.h"
#include "core/config/number_text.h"
#include "core/error.h"

namespace orrery::report {
namespace {

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
    {"hours", "s", 3600},
    {"days", "s", kDay},
    {"years", "s", kYear},
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

// The unit of all cells of a column that begin with a number: their own where it is one, else that of their quantity.
// Empty if there is none. Other cells, where they may be, say why there is no number.
std::string_view unit_of_numbers(const std::vector<std::vector<std::string>>& rows, std::size_t column,
                                 bool allows_others) {
  std::string_view own, base;
  bool is_one = true;
  for (const std::vector<std::string>& row : rows) {
    const bool is_number = row[column].find_first_of("0123456789") <= 1;
    if (!is_number && !allows_others) return {};
    if (!is_number) continue;
    const std::string_view unit = number_and_unit(row[column]).second;
    const UnitFactor* factor = factor_of(unit);
    const std::string_view its = factor == nullptr ? unit : factor->base;
    if (unit.empty() || (!base.empty() && its != base)) return {};
    is_one = is_one && (own.empty() || unit == own);
    own = unit;
    base = its;
  }
  return is_one ? own : base;
}

// Cell as it may stand in a table: of printable signs.
Cell shown(Cell cell) {
  return cell.quantity() == Cell::Quantity::kNone ? Cell(printable(cell.text(), std::string::npos)) : cell;
}

// Number with a minus sign for a hyphen before it, and a cross for the letter before a factor.
std::string latex_number(const std::string& cell) {
  const bool is_negative = cell.size() > 1 && cell[0] == '-' && cell[1] >= '0' && cell[1] <= '9';
  const bool is_factor = cell.size() > 1 && cell[0] == 'x' && cell[1] >= '0' && cell[1] <= '9';
  if (is_factor) return "$\\times$" + latex_cell(std::string_view(cell).substr(1));
  return is_negative ? "$-$" + latex_cell(std::string_view(cell).substr(1)) : latex_cell(cell);
}

}  // namespace

Table::Table(std::initializer_list<std::string_view> names, std::initializer_list<std::string_view> figures,
             std::initializer_list<std::string_view> remarks) {
  for (const std::string_view name : names) column(std::string(name), Align::kLeft, Interest::kName);
  for (const std::string_view figure : figures) column(std::string(figure));
  for (const std::string_view remark : remarks) column(std::string(remark), Align::kLeft, Interest::kRemark);
}

void Table::read_across() {
  for (Column& column : columns_)
    if (column.align == Align::kRight) column.scale = SIZE_MAX;
}

void Table::column(std::string heading, Align align, Interest interest) {
  if (columns_.empty() && interest == Interest::kUsual) interest = Interest::kName;
  columns_.push_back({printable(heading, std::string::npos), align, interest});
}

void Table::row(std::vector<Cell> cells) {
  ORRERY_ASSERT(cells.size() == columns_.size());
  for (Cell& cell : cells) cell = shown(std::move(cell));
  rows_.push_back(std::move(cells));
}

void Table::column_of(std::string heading, std::vector<Cell> cells, Align align, Interest interest) {
  if (std::ranges::all_of(cells, [](const Cell& cell) { return cell.text() == kNothing; })) return;
  ORRERY_ASSERT(columns_.empty() || rows_.size() == cells.size());
  column(std::move(heading), align, interest);
  rows_.resize(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) rows_[i].push_back(shown(std::move(cells[i])));
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
  std::vector<std::vector<std::string>> rows;
  for (const auto& row : rows_) {
    rows.emplace_back();
    for (const Cell& cell : row)
      rows.back().push_back(cell.quantity() == Cell::Quantity::kNumber ? fmt::format("{:.10g}", cell.value())
                                                                       : cell.text());
  }
  std::vector<std::string_view> units;
  std::vector<std::string> headings;  // before those of the same name are numbered
  std::string text;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    units.push_back(column.align == Align::kRight ? common_unit(rows, c) : std::string_view());
    std::string heading = column.heading.empty() ? fmt::format("column {}", c + 1) : column.heading;
    if (!units[c].empty()) heading += fmt::format(" ({})", units[c]);
    const auto same = std::ranges::count(headings, heading);
    headings.push_back(heading);
    if (same > 0) heading += fmt::format(" {}", same + 1);
    text += c == 0 ? "" : ",";
    text += csv_cell(heading);
  }
  text += '\n';
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      text += c == 0 ? "" : ",";
      if (row[c] != kNothing) text += csv_cell(units[c].empty() ? row[c] : in_unit(row[c], units[c]));
    }
    text += '\n';
  }
  return text;
}

std::vector<std::size_t> Table::columns_of_scale(std::size_t column) const {
  const std::size_t scale = columns_[column].scale;
  if (scale == 0) return {column};
  std::vector<std::size_t> alike;
  for (std::size_t c = 0; c < columns_.size(); ++c)
    if (columns_[c].scale == scale && columns_[c].align == Align::kRight) alike.push_back(c);
  return alike;
}

std::vector<std::vector<std::string>> Table::rows_for_people() const {
  std::vector<std::vector<std::string>> rows(rows_.size());
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (const Cell& cell : rows_[r]) rows[r].push_back(cell.text());
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c].align != Align::kRight) continue;
    const std::vector<std::size_t> alike = columns_of_scale(c);
    if (alike.front() != c) continue;  // written with the first
    std::vector<Cell> cells;
    for (const std::size_t column : alike)
      for (const auto& row : rows_) cells.push_back(row[column]);
    std::vector<std::string> texts = in_one_unit(cells);
    for (std::size_t i = 0; i < alike.size(); ++i)
      for (std::size_t r = 0; r < rows.size(); ++r) rows[r][alike[i]] = std::move(texts[i * rows.size() + r]);
  }
  return rows;
}

std::string Table::markdown() const {
  std::string text = "|", rule = "|";
  for (const Column& column : columns_) {
    text += fmt::format(" {} |", escaped(column.heading, "|<", "\\"));
    rule += column.align == Align::kRight ? "---:|" : "---|";
  }
  text += fmt::format("\n{}\n", rule);
  for (const auto& row : rows_for_people()) {
    text += '|';
    for (const std::string& cell : row) text += fmt::format(" {} |", escaped(cell, "|<", "\\"));
    text += '\n';
  }
  return text;
}

// Writes the table in the style of booktabs; a unit that all numbers of a column have is in its heading.
std::string Table::latex() const {
  const std::vector<std::vector<std::string>> rows = rows_for_people();
  std::string places, headings;
  std::vector<std::string_view> units;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    places += column.align == Align::kRight ? 'r' : 'l';
    const bool is_number =
        std::ranges::any_of(rows_, [c](const auto& row) { return row[c].quantity() == Cell::Quantity::kNumber; });
    units.push_back(is_number ? std::string_view() : unit_of_numbers(rows, c, column.align == Align::kRight));
    headings += c == 0 ? "" : " & ";
    headings += latex_cell(units[c].empty() ? column.heading : fmt::format("{} ({})", column.heading, units[c]));
  }
  std::string text = fmt::format("\\begin{{tabular}}{{{}}} % \\usepackage{{booktabs}}\n\\toprule\n{} \\\\\n\\midrule\n",
                                 places, headings);
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      text += c == 0 ? "" : " & ";
      text += row[c] == kNothing ? "--" : latex_number(units[c].empty() ? row[c] : in_unit(row[c], units[c]));
    }
    text += " \\\\\n";
  }
  return text + "\\bottomrule\n\\end{tabular}\n";
}

std::string Table::aligned() const {
  const std::vector<std::vector<std::string>> rows = rows_for_people();
  std::vector<ScreenColumn> columns;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    columns.push_back({column.heading, column.align == Align::kRight, column.interest, {}, column.group, column.block});
    for (const auto& row : rows) columns.back().cells.push_back(row[c]);
  }
  return on_screen(columns, screen_width(), headings_);
}

}  // namespace orrery::report
