// SPDX-License-Identifier: MIT
// A picture as the text of an SVG file, which needs nothing else: no fonts, no style sheets, no scripts. The same calls
// give the same bytes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orrery::report {

// For the inside of an element or of a quoted attribute: markup is escaped, and what XML has no place for is written
// out.
std::string xml_text(std::string_view text);

// Point in pixels, or in the picture's own unit, from the upper left corner.
struct Spot {
  double x = 0;
  double y = 0;
};

// Unit of lengths of a file: its numbers are pixels of a screen, or points of paper (1/72 inch).
enum class SvgUnit { kPixels, kPoints };

class Svg {
 public:
  // Name and value of attributes of an element that say what it stands for: "data-kind", "F".
  using Data = std::vector<std::pair<std::string_view, std::string>>;

  // `title` is what a browser shows as the picture's name; `styles` is CSS, and the classes below are of it. `group` is
  // the class of the whole, empty for none.
  Svg(Spot size, std::string_view title, std::string_view styles, SvgUnit unit = SvgUnit::kPixels,
      std::string_view group = {});

  // Begins a group: what is drawn until its end has `note` as its name, which browsers show above it.
  void begin(std::string_view note);
  void end();
  void rectangle(Spot from, Spot to, std::string_view style, std::string_view fill = {});

  // Diagonal lines that a style fills a shape with: "fill: url(#hatch)".
  void define_hatch(std::string_view colour);
  // `title` is what a browser shows under the pointer.
  void rectangle(Spot from, Spot to, std::string_view style, const Data& data, std::string_view title);
  void line(Spot from, Spot to, std::string_view style);
  void line(std::span<const Spot> spots, std::string_view style);
  void dot(Spot centre, double radius, std::string_view style);
  // A closed line.
  void shape(std::span<const Spot> corners, std::string_view style);
  // Text that is read from below.
  void upright(Spot at, std::string_view text, std::string_view style);
  void text(Spot at, std::string_view text, std::string_view style);

  std::string file() const { return text_ + "</svg>\n"; }

 private:
  std::string text_;
};

}  // namespace orrery::report
