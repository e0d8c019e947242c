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
#include "report/screen/cell.h"
#include "report/screen/screen.h"

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
  // Columns in order: `names` aligned left, `figures` aligned right, `remarks` aligned left, of the interest that their
  // names say.
  Table(std::initializer_list<std::string_view> names, std::initializer_list<std::string_view> figures,
        std::initializer_list<std::string_view> remarks = {});

  // Columns in order. The first is of kName interest where nothing else than kUsual is said; what a screen cannot hold
  // is left out accordingly (report/screen/screen.h).
  void column(std::string heading, Align align = Align::kRight, Interest interest = Interest::kUsual);
  // Headings stay on one line, for readers that are programs.
  void keep_headings() { headings_ = Headings::kOneLine; }
  // The last column is left out together with those that have the same number, which is not 0.
  void leaves_with(std::size_t group) { columns_.back().group = group; }
  // The last column stands beside its neighbours of the same number, which is not 0.
  void stands_with(std::size_t block) { columns_.back().block = block; }
  // The last column has the units of those of the same number, which is not 0: people read across them.
  void measures_with(std::size_t scale) { columns_.back().scale = scale; }
  // All columns of figures that the table has now have units in common.
  void read_across();
  // A whole column, as long as those before it. Left out if it says nothing: all of its cells are "-".
  void column_of(std::string heading, std::vector<Cell> cells, Align align = Align::kRight,
                 Interest interest = Interest::kUsual);
  // Adds a row with one cell per column. A cell is one line of printable text, whatever it is made of.
  void row(std::vector<Cell> cells);
  template <std::same_as<std::vector<std::string>> Texts>
  void row(const Texts& texts) {
    row(std::vector<Cell>(texts.begin(), texts.end()));
  }

  // Text is laid out for the screen, as on_screen() says.
  // In another format each line begins with a mark that in_table_format() takes away.
  std::string text() const;

 private:
  // Rows with columns of figures as in_one_unit() has them, those of one scale together; in CSV they have the unit of
  // their quantity.
  std::vector<std::vector<std::string>> rows_for_people() const;
  // Columns that have units in common with this one, and itself.
  std::vector<std::size_t> columns_of_scale(std::size_t column) const;
  std::string aligned() const;
  std::string csv() const;
  std::string markdown() const;
  std::string latex() const;

  struct Column {
    std::string heading;
    Align align;
    Interest interest;
    std::size_t group = 0, block = 0, scale = 0;
  };
  Headings headings_ = Headings::kSeveralLines;
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// The alignment of texts that are figures.
inline constexpr Table::Align kRight = Table::Align::kRight;

// A value as a cell: a quantity, or "-" where it is none; a text as it is, a whole number by its digits; an optional
// value likewise, or "-".
template <class Value>
Cell cell_of(const Value& value) {
  if constexpr (std::same_as<Value, Cell>)
    return value;
  else if constexpr (std::same_as<Value, Time>)
    return cell_of(value.time_since_epoch());
  else if constexpr (std::integral<Value>)
    return std::to_string(value);
  else if constexpr (std::convertible_to<Value, std::string_view>)
    return std::string_view(value);
  else if constexpr (std::convertible_to<Value, Cell>)
    return value.count() == 0 ? Cell("-") : Cell(value);
  else
    return value ? cell_of(*value) : Cell("-");
}

// One column of a table of rows of this type: its heading, and how its cells come from the rows.
template <class Row>
struct ColumnOf {
  // `take`: a member of a row, or what can be called with one; gives a value of which cell_of() makes a cell. Texts
  // are aligned left and all else right where `given` does not say otherwise.
  template <class Take>
  ColumnOf(std::string name, Take take, std::optional<Table::Align> given = {}, Interest how_much = Interest::kUsual)
      : heading(std::move(name)), interest(how_much) {
    using Taken = std::remove_cvref_t<std::invoke_result_t<const Take&, const Row&>>;
    constexpr bool kIsText = std::convertible_to<Taken, std::string_view>;
    align = given.value_or(kIsText ? Table::Align::kLeft : Table::Align::kRight);
    cells = [take = std::move(take)](std::span<const Row> rows) {
      std::vector<Cell> made;
      for (const Row& row : rows) made.push_back(cell_of<Taken>(std::invoke(take, row)));
      return made;
    };
  }

  std::string heading;
  std::function<std::vector<Cell>(std::span<const Row>)> cells;
  Table::Align align;
  Interest interest;
};

// The table of `rows`, with a line for each; columns that say nothing are left out, as by column_of().
//
//     table_of(jobs, {{"job", &JobFigures::name}, {"alone", &JobFigures::alone}, {"ratio", ratio_text_of, kRight}})
template <class Rows>
Table table_of(const Rows& rows, const std::vector<ColumnOf<std::ranges::range_value_t<Rows>>>& columns) {
  Table table;
  for (const auto& column : columns) table.column_of(column.heading, column.cells(rows), column.align, column.interest);
  return table;
}

}  // namespace orrery::report
