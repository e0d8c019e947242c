// A picture as the text of an SVG file, which needs nothing else: no fonts, no style sheets, no scripts. The same calls
// give the same bytes.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace orrery {

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

}  // namespace orrery
