#include "study/validate/collectives/svg.h"

#include <limits>

#include <fmt/format.h>

#include "core/error.h"

namespace orrery {
namespace {

// Two characters are sound UTF-8 but must not be in XML: U+FFFE and U+FFFF.
bool is_no_character(std::string_view text) {
  return text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF");
}

std::string_view entity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&apos;";
    default:
      return {};
  }
}

// Hundredths of a pixel.
std::string pixels(double number) {
  const std::string text = fmt::format("{:.2f}", number);
  return text == "-0.00" ? "0.00" : text;
}

}  // namespace

std::string xml_text(std::string_view text) {
  const std::string shown = printable(text, std::numeric_limits<std::size_t>::max());
  std::string result;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (is_no_character(std::string_view(shown).substr(i))) {
      result += shown[i + 2] == '\xBE' ? "U+FFFE" : "U+FFFF";
      i += 2;
    } else if (const std::string_view escaped = entity(shown[i]); !escaped.empty()) {
      result += escaped;
    } else {
      result += shown[i];
    }
  }
  return result;
}

Svg::Svg(Spot size, std::string_view title, std::string_view styles)
    : text_(fmt::format(
          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n"
          "<title>{2}</title>\n<style>\n{3}</style>\n",
          pixels(size.x), pixels(size.y), xml_text(title), styles)) {}

void Svg::rectangle(Spot from, Spot to, std::string_view style) {
  text_ += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", style, pixels(from.x),
                       pixels(from.y), pixels(to.x - from.x), pixels(to.y - from.y));
}

void Svg::line(Spot from, Spot to, std::string_view style) {
  text_ += fmt::format("<line class=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n", style, pixels(from.x),
                       pixels(from.y), pixels(to.x), pixels(to.y));
}

void Svg::line(std::span<const Spot> spots, std::string_view style) {
  text_ += fmt::format("<polyline class=\"{}\" points=\"", style);
  for (const Spot& spot : spots)
    text_ += fmt::format("{}{},{}", &spot == spots.data() ? "" : " ", pixels(spot.x), pixels(spot.y));
  text_ += "\"/>\n";
}

void Svg::dot(Spot centre, double radius, std::string_view style) {
  text_ += fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>\n", style, pixels(centre.x),
                       pixels(centre.y), pixels(radius));
}

void Svg::text(Spot at, std::string_view text, std::string_view style) {
  text_ += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>\n", style, pixels(at.x), pixels(at.y),
                       xml_text(text));
}

}  // namespace orrery
