// SPDX-License-Identifier: MIT
// Tables: columns aligned on a screen, or in a format that other programs read.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/units.h"

namespace orrery::report {

// kText: aligned for a screen. The others hold the same cells; where all cells of a column have units of one quantity,
// CSV has its own (s, B, B/s, FLOP/s) in the heading and bare numbers below; headings of the same name are numbered.
enum class TableFormat : std::uint8_t { kText, kCsv, kMarkdown, kLatex };
inline constexpr std::array<std::string_view, 4> kTableFormatNames = {"text", "csv", "markdown", "latex"};

// Chooses the format of all tables of the process. Called once, before any is written; kText until then.
void set_table_format(TableFormat format);
TableFormat table_format();

// An answer that was made of tables and sentences, in the chosen format: sentences are comments of CSV and LaTeX, and
// paragraphs of Markdown.
std::string in_table_format(std::string_view answer);

class Table {
 public:
  enum class Align { kLeft, kRight };

  Table() = default;
  // Columns in order: `names` aligned left, `figures` aligned right, `remarks` aligned left.
  Table(std::initializer_list<std::string_view> names, std::initializer_list<std::string_view> figures,
        std::initializer_list<std::string_view> remarks = {});

  // Columns in order.
  void column(std::string heading, Align align = Align::kRight);
  // A whole column, as long as those before it. Left out if it says nothing: all of its cells are "-".
  void column_of(std::string heading, std::vector<std::string> cells, Align align = Align::kRight);
  // Adds a row with one cell per column. A cell is one line of printable text, whatever it is made of.
  void row(std::vector<std::string> cells);

  // As text each line is indented by two spaces and ended by a newline; columns two spaces apart; no trailing spaces.
  // In another format each line begins with a mark that in_table_format() takes away.
  std::string text() const;

 private:
  std::string aligned() const;
  std::string csv() const;
  std::string markdown() const;
  std::string latex() const;

  struct Column {
    std::string heading;
    Align align;
  };
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Columns and lines of the screen for which answers are laid out.
inline constexpr std::size_t kScreenWidth = 80, kScreenLines = 24;

// The alignment of texts that are figures.
inline constexpr Table::Align kRight = Table::Align::kRight;

// Lines into which a longer text is broken. Bytes count as columns.
struct Wrapping {
  // kBlanks: at the last blank that fits; a longer word stays whole. kClauses: if the second half of a line has one,
  // at a blank behind ",", ";" or ":", or before "(". kWords: also inside a word that is longer than a line, though
  // not inside a character.
  enum class Break : std::uint8_t { kBlanks, kClauses, kWords };

  std::string first = "  ", next = "    ";  // beginnings of the first line and of the others
  std::size_t width = kScreenWidth;         // of a line with its beginning
  Break at = Break::kBlanks;
};
// `text`, of one line, as lines that all have an end. Blanks at which it is broken are left out.
std::string wrapped(std::string_view text, const Wrapping& wrapping = {});

// The cells of one column, all in the unit that suits the largest; "-" for nothing. "24.340 s", "0.268 s".
std::vector<std::string> in_one_unit(std::span<const Duration> times);
std::vector<std::string> in_one_unit(std::span<const Time> instants);
std::vector<std::string> in_one_unit(std::span<const Bytes> sizes);
// In no larger unit than GB/s, without trailing zeros.
std::vector<std::string> in_one_unit(std::span<const Bandwidth> bandwidths);

// Values of one column as cells: quantities as in_one_unit() has them, a text as it is, a whole number by its digits;
// an optional text or number likewise, or "-".
template <class Value>
std::vector<std::string> cells_of(std::span<const Value> values) {
  if constexpr (requires { in_one_unit(values); }) {
    return in_one_unit(values);
  } else {
    std::vector<std::string> cells;
    for (const Value& value : values) {
      if constexpr (std::integral<Value>)
        cells.push_back(std::to_string(value));
      else if constexpr (std::convertible_to<Value, std::string_view>)
        cells.emplace_back(std::string_view(value));
      else
        cells.push_back(value ? cells_of(std::span(&*value, 1)).front() : "-");
    }
    return cells;
  }
}

// One column of a table of rows of this type: its heading, and how its cells come from the rows.
template <class Row>
struct ColumnOf {
  // `take`: a member of a row, or what can be called with one; gives a value of which cells_of() makes a cell. Texts
  // are aligned left and all else right where `given` does not say otherwise.
  template <class Take>
  ColumnOf(std::string name, Take take, std::optional<Table::Align> given = {}) : heading(std::move(name)) {
    using Taken = std::remove_cvref_t<std::invoke_result_t<const Take&, const Row&>>;
    constexpr bool kIsText = std::convertible_to<Taken, std::string_view>;
    align = given.value_or(kIsText ? Table::Align::kLeft : Table::Align::kRight);
    cells = [take = std::move(take)](std::span<const Row> rows) {
      std::vector<Taken> values;
      for (const Row& row : rows) values.push_back(std::invoke(take, row));
      return cells_of(std::span<const Taken>(values));
    };
  }

  std::string heading;
  std::function<std::vector<std::string>(std::span<const Row>)> cells;
  Table::Align align;
};

// The table of `rows`, with a line for each; columns that say nothing are left out, as by column_of().
//
//     table_of(jobs, {{"job", &JobFigures::name}, {"alone", &JobFigures::alone}, {"ratio", ratio_text_of, kRight}})
template <class Rows>
Table table_of(const Rows& rows, const std::vector<ColumnOf<std::ranges::range_value_t<Rows>>>& columns) {
  Table table;
  for (const auto& column : columns) table.column_of(column.heading, column.cells(rows), column.align);
  return table;
}

}  // namespace orrery::report
