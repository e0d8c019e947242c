// SPDX-License-Identifier: MIT
// A picture as the text of an SVG file, which needs nothing else: no fonts, no style sheets, no scripts. The same calls
// give the same bytes. And the axes of a plot: which values they run between, and where they are labelled.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"

namespace orrery::study {

// For the inside of an element or of a quoted attribute: markup is escaped, and what XML has no place for is written
// out.
std::string xml_text(std::string_view text);

// In pixels, from the upper left corner.
struct Spot {
  double x = 0;
  double y = 0;
};

class Svg {
 public:
  // `title` is what a browser shows as the picture's name; `styles` is CSS, and the classes below are of it.
  Svg(Spot size, std::string_view title, std::string_view styles);

  void rectangle(Spot from, Spot to, std::string_view style);
  void line(Spot from, Spot to, std::string_view style);
  void line(std::span<const Spot> spots, std::string_view style);
  void dot(Spot centre, double radius, std::string_view style);
  void text(Spot at, std::string_view text, std::string_view style);

  std::string file() const { return text_ + "</svg>\n"; }

 private:
  std::string text_;
};

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
  // Position on the axis: 0 at the first value, 1 at the last.
  double share(double value) const;

 private:
  double first_ = 0, last_ = 1;  // logarithms if logarithmic_
  bool logarithmic_ = false;
  std::vector<Tick> ticks_;
};

}  // namespace orrery::study
