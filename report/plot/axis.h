// SPDX-License-Identifier: MIT
// Axes of plots: which values they run between, and where they are labelled, in which unit.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"

namespace orrery::report {

// Unit in which numbers are read: `size` of it is one of theirs.
struct Unit {
  std::string name;
  double size = 1;
  bool is_binary = false;  // round numbers are powers of two
};
// The unit for values up to `most` of a quantity that is counted in `base`: ms for 0.05 "s", GiB for "B", GB/s for
// "B/s", % for a "share"; `base` itself for others.
Unit unit_for(std::string_view base, double most);
// "0.25", "1500": six digits, without trailing zeros.
std::string short_number(double number);

struct Tick {
  double value = 0;
  std::string label;
};

class Axis {
 public:
  // Powers of two, with a little room at both ends, labelled "512", "1K", "32M", "1G"; at most ten labels.
  // 0 < least <= most.
  static Axis sizes(Bytes least, Bytes most);
  // A logarithmic one between labels of 1, 2 and 5 times a power of ten; over more than three decades only the powers
  // themselves. 0 < least <= most, both finite.
  static Axis logarithmic(double least, double most, const Unit& unit = {});
  // A linear one that has 0 on it, labelled "-20", "0", "+20": at most seven labels, all whole numbers.
  // least <= most, both finite.
  static Axis signed_percent(double least, double most);

  // A linear one between round numbers of the unit, which has 0 on it if `from_zero`; at most so many labels.
  // least <= most, both finite.
  static Axis linear(double least, double most, const Unit& unit, bool from_zero = true, int most_ticks = 8);
  // One that is labelled at these values alone, in ascending order, with a little room at both ends; a linear one
  // begins at 0. Values of a logarithmic one are above 0.
  static Axis given(std::vector<Tick> ticks, bool logarithmic);
  // Places 0, 1, 2, ... of names.
  static Axis named(std::span<const std::string> names);

  // Labels of at most so many ticks are left, the first of them included.
  void thin_out(std::size_t most);

  const std::vector<Tick>& ticks() const { return ticks_; }
  // Position on the axis: 0 at the first value, 1 at the last.
  double share(double value) const;

 private:
  double first_ = 0, last_ = 1;  // logarithms if logarithmic_
  bool logarithmic_ = false;
  std::vector<Tick> ticks_;
};

}  // namespace orrery::report
