// SPDX-License-Identifier: MIT
// Cells of tables: texts that keep the quantity that they round, so that a column can be written in one unit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/units.h"

namespace orrery::report {

class Cell {
 public:
  enum class Quantity : std::uint8_t { kNone, kTime, kSize, kRate, kLongTime, kNumber };

  Cell(std::string text) : text_(std::move(text)) {}
  Cell(std::string_view text) : text_(text) {}
  Cell(const char* text) : text_(text) {}
  // Four digits, as rounded() has them.
  Cell(Duration time);
  Cell(Bytes size);
  Cell(Bandwidth rate);

  // Cell of a time in seconds; "-" where it is none.
  static Cell time(double seconds);
  // A time of hours to years, as days_text() has it.
  static Cell long_time(double seconds);
  // Four digits, or three and a letter from 10,000 on: "0.1716", "477 K", "1.18 M".
  static Cell number(double number);
  // "+1.500 s", "-20.00 ms", "+3.200 GiB": always with a sign.
  static Cell difference(Duration time);
  static Cell difference(Bytes size);

  const std::string& text() const { return text_; }
  Quantity quantity() const { return quantity_; }
  // Value of a quantity, in picoseconds, bytes or bytes a second; of a long time in seconds.
  double value() const { return value_; }
  // Tells whether it has a plus sign where it is not negative.
  bool is_difference() const { return is_difference_; }

 private:
  std::string text_;
  Quantity quantity_ = Quantity::kNone;
  double value_ = 0;
  bool is_difference_ = false;
};

// Texts of a column of figures. What its cells are quantities of has one unit and as many decimals, where texts differ
// in these: the unit of the largest (of long times no larger one than days, of rates than GB/s), or the next smaller
// one where the smallest has less than three digits with three decimals. A quantity that has less than three digits
// there, too, keeps its own unit: "298 ps" among milliseconds.
std::vector<std::string> in_one_unit(std::span<const Cell> cells);

}  // namespace orrery::report
