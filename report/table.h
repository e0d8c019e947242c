// SPDX-License-Identifier: MIT
// Text tables: columns aligned, numbers to the right.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"

namespace orrery::report {

class Table {
 public:
  enum class Align { kLeft, kRight };

  // Columns in order.
  void column(std::string heading, Align align = Align::kRight);
  // A whole column, as long as those before it. Left out if it says nothing: all of its cells are "-".
  void column_of(std::string heading, std::vector<std::string> cells, Align align = Align::kRight);
  // As many cells as columns. A cell is one line of printable text, whatever it is made of.
  void row(std::vector<std::string> cells);

  // Each line indented by two spaces and ended by a newline; columns two spaces apart; no trailing spaces.
  std::string text() const;

 private:
  struct Column {
    std::string heading;
    Align align;
  };
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// `text` as lines of at most 80 columns, broken at blanks: the first indented by two spaces, the others by four.
std::string wrapped(std::string_view text);

// The cells of one column, all in the unit that suits the largest; "-" for nothing. "24.340 s", "0.268 s".
std::vector<std::string> in_one_unit(std::span<const Duration> times);
std::vector<std::string> in_one_unit(std::span<const Bytes> sizes);
// In no larger unit than GB/s, without trailing zeros.
std::vector<std::string> in_one_unit(std::span<const Bandwidth> bandwidths);

}  // namespace orrery::report
