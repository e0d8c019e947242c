// The axes of a plot: which values they run between, and where they are labelled.
#pragma once

#include <string>
#include <vector>

#include "core/units.h"

namespace orrery {

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
  static Axis logarithmic(double least, double most);
  // A linear one that has 0 on it, labelled "-20", "0", "+20": at most seven labels, all whole numbers.
  // least <= most, both finite.
  static Axis signed_percent(double least, double most);

  const std::vector<Tick>& ticks() const { return ticks_; }
  // How far along: 0 at the first value, 1 at the last.
  double share(double value) const;

 private:
  double first_ = 0, last_ = 1;  // logarithms if logarithmic_
  bool logarithmic_ = false;
  std::vector<Tick> ticks_;
};

}  // namespace orrery
