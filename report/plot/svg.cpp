// SPDX-License-Identifier: MIT
#include "report/plot/svg.h"

#include <array>
#include <limits>

#include <fmt/format.h>

#include "core/error.h"

namespace orrery::report {
namespace {

// Two characters are sound UTF-8 but must not be in XML: U+FFFE and U+FFFF.
bool is_no_character(std::string_view text) {
  return text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF");
}

std::string_view entity(char c) {
  constexpr std::string_view kMarkup = "&<>\"'";
  constexpr std::array<std::string_view, kMarkup.size()> kEntities = {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"};
  const std::size_t found = kMarkup.find(c);
  return found == std::string_view::npos ? std::string_view() : kEntities[found];
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

Svg::Svg(Spot size, std::string_view title, std::string_view styles, SvgUnit unit, std::string_view group)
    : text_(fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                        "<svg xmlns=\"http://www.w3.org/2000/svg\"{3} width=\"{0}{4}\" height=\"{1}{4}\" "
                        "viewBox=\"0 0 {0} {1}\">\n<title>{2}</title>\n<style>\n{5}</style>\n",
                        pixels(size.x), pixels(size.y), xml_text(title),
                        group.empty() ? std::string() : fmt::format(" class=\"{}\"", group),
                        unit == SvgUnit::kPoints ? "pt" : "", styles)) {}

void Svg::define_hatch(std::string_view colour) {
  text_ += fmt::format(
      "<defs><pattern id=\"hatch\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\">"
      "<path d=\"M-1,1 l2,-2 M0,4 l4,-4 M3,5 l2,-2\" stroke=\"{}\" stroke-width=\"0.5\"/></pattern></defs>\n",
      colour);
}

void Svg::begin(std::string_view note) { text_ += fmt::format("<g><title>{}</title>\n", xml_text(note)); }

void Svg::end() { text_ += "</g>\n"; }

void Svg::rectangle(Spot from, Spot to, std::string_view style, std::string_view fill) {
  text_ += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}/>\n", style, pixels(from.x),
                       pixels(from.y), pixels(to.x - from.x), pixels(to.y - from.y),
                       fill.empty() ? std::string() : fmt::format(" fill=\"{}\"", fill));
}

void Svg::rectangle(Spot from, Spot to, std::string_view style, const Data& data, std::string_view title) {
  text_ += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", style, pixels(from.x),
                       pixels(from.y), pixels(to.x - from.x), pixels(to.y - from.y));
  for (const auto& [name, value] : data) text_ += fmt::format(" {}=\"{}\"", name, xml_text(value));
  text_ += fmt::format("><title>{}</title></rect>\n", xml_text(title));
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

void Svg::shape(std::span<const Spot> corners, std::string_view style) {
  text_ += fmt::format("<polygon class=\"{}\" points=\"", style);
  for (const Spot& spot : corners)
    text_ += fmt::format("{}{},{}", &spot == corners.data() ? "" : " ", pixels(spot.x), pixels(spot.y));
  text_ += "\"/>\n";
}

void Svg::upright(Spot at, std::string_view text, std::string_view style) {
  text_ += fmt::format("<text class=\"{0}\" x=\"{1}\" y=\"{2}\" transform=\"rotate(-90 {1} {2})\">{3}</text>\n", style,
                       pixels(at.x), pixels(at.y), xml_text(text));
}

void Svg::text(Spot at, std::string_view text, std::string_view style) {
  text_ += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>\n", style, pixels(at.x), pixels(at.y),
                       xml_text(text));
}

}  // namespace orrery::report
