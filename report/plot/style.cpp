// SPDX-License-Identifier: MIT
#include "report/plot/style.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

#include <fmt/format.h>

namespace orrery::report {
namespace {

// A colour that pages set by this name, or its value on white paper.
std::string paint(const PictureLook& look, std::string_view name, std::string_view value) {
  return look.is_in_page ? fmt::format("var(--{}, {})", name, value) : std::string(value);
}

// Dashes for a font of this size.
std::string dash(std::string_view pattern, double font) {
  if (pattern == "none") return "none";
  std::istringstream lengths{std::string(pattern)};
  std::string text;
  for (double length = 0; lengths >> length;)
    text += fmt::format("{}{:.2f}", text.empty() ? "" : " ", length * font / 12);
  return text;
}

std::size_t letters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

constexpr double kLetter = 0.56;  // mean width of a letter of Arial, Helvetica or DejaVu Sans, of the font's size

constexpr std::array<Colour, 6> kHeat = {
    {{68, 1, 84}, {65, 68, 135}, {42, 120, 142}, {34, 168, 132}, {122, 209, 81}, {253, 231, 37}}};

Colour heat(double share) {
  const double at = std::clamp(share, 0.0, 1.0) * (kHeat.size() - 1);
  const auto first = std::min(static_cast<std::size_t>(at), kHeat.size() - 2);
  const double part = at - static_cast<double>(first);
  const auto between = [part](double a, double b) { return a + part * (b - a); };
  const Colour &a = kHeat[first], &b = kHeat[first + 1];
  return {between(a.red, b.red), between(a.green, b.green), between(a.blue, b.blue)};
}

}  // namespace

std::string picture_styles(const PictureLook& look) {
  const double font = look.font, thin = font / 16;
  const std::string ink = paint(look, "ink", "#222"), faint = paint(look, "faint", "#555"),
                    grid = paint(look, "line", "#ddd"), paper = paint(look, "paper", "#fff");
  std::vector<std::string> rules = {
      fmt::format("text {{ font-family: Helvetica, Arial, sans-serif; font-size: {}px; fill: {} }}", font, ink),
      fmt::format(".title {{ font-size: {}px; font-weight: bold }}", 1.4 * font),
      ".heading { font-weight: bold }",
      fmt::format(".caption, .aside {{ fill: {} }}", faint),
      ".left { text-anchor: end }",
      ".middle { text-anchor: middle }",
      ".on-dark { text-anchor: middle; fill: #fff }",
      ".on-light { text-anchor: middle; fill: #111 }",
      fmt::format(".paper {{ fill: {} }}", paper),
      fmt::format(".frame {{ fill: none; stroke: {}; stroke-width: {:.2f} }}", faint, thin),
      fmt::format(".grid {{ stroke: {}; stroke-width: {:.2f} }}", grid, thin),
      fmt::format(".zero, .tick {{ stroke: {}; stroke-width: {:.2f} }}", faint, thin),
      fmt::format(".rule {{ stroke: {}; stroke-width: {:.2f}; stroke-dasharray: {} }}", ink, 1.5 * thin,
                  dash("5 3", font)),
      fmt::format(".refused {{ fill: none; stroke: {}; stroke-width: {:.2f} }}", faint, 1.8 * thin),
      fmt::format(".bound {{ fill: none; stroke: {}; stroke-width: {:.2f}; stroke-dasharray: {} }}", faint, 3 * thin,
                  dash("1 4", font)),
      fmt::format(".curve {{ fill: none; stroke-width: {:.2f}; stroke-linejoin: round }}", 2 * thin),
      fmt::format(".whisker {{ stroke-width: {:.2f} }}", 1.4 * thin),
      fmt::format(".mark {{ stroke-width: {:.2f}; stroke-linejoin: round }}", thin),
      fmt::format(".hollow {{ fill: {}; stroke-width: {:.2f} }}", paper, 1.6 * thin),
  };
  for (std::size_t i = 0; i < kColours.size(); ++i) {
    const std::string colour = paint(look, fmt::format("series{}", i), kColours[i]);
    rules.push_back(fmt::format(".stroke{} {{ stroke: {} }}", i, colour));
    rules.push_back(fmt::format(".fill{0} {{ fill: {1}; stroke: {1} }}", i, colour));
    rules.push_back(fmt::format(".dash{} {{ stroke-dasharray: {} }}", i, dash(kDashes[i], font)));
  }
  rules.push_back(fmt::format(".stroke-ink {{ stroke: {} }}", ink));
  rules.push_back(fmt::format(".fill-ink {{ fill: {0}; stroke: {0} }}", ink));
  std::string text;
  for (const std::string& rule : rules) text += fmt::format("  .plot {}\n", rule);
  return text;
}

void draw_mark(Svg& svg, Spot at, double size, std::optional<std::size_t> colour, std::size_t mark) {
  const std::size_t number = style_number(mark);
  const bool is_hollow = number >= 6;
  const std::string paint = colour ? std::to_string(style_number(*colour)) : std::string("-ink");
  const std::string style = (is_hollow ? "mark hollow stroke" : "mark fill") + paint;
  const auto polygon = [&](std::initializer_list<Spot> corners) {
    std::vector<Spot> spots;
    for (const Spot& corner : corners) spots.push_back({at.x + size * corner.x, at.y + size * corner.y});
    svg.shape(spots, style);
  };
  constexpr double kThird = 0.35;
  switch (number) {
    case 1:
    case 7:
      return polygon({{-0.88, -0.88}, {0.88, -0.88}, {0.88, 0.88}, {-0.88, 0.88}});
    case 2:
      return polygon({{0, -1.2}, {1.1, 0.8}, {-1.1, 0.8}});
    case 3:
      return polygon({{0, -1.3}, {1.1, 0}, {0, 1.3}, {-1.1, 0}});
    case 4:
      return polygon({{-kThird, -1.1},
                      {kThird, -1.1},
                      {kThird, -kThird},
                      {1.1, -kThird},
                      {1.1, kThird},
                      {kThird, kThird},
                      {kThird, 1.1},
                      {-kThird, 1.1},
                      {-kThird, kThird},
                      {-1.1, kThird},
                      {-1.1, -kThird},
                      {-kThird, -kThird}});
    case 5:
      return polygon({{0, 1.2}, {1.1, -0.8}, {-1.1, -0.8}});
    default:
      svg.dot(at, size, style);
  }
}

double text_width(std::string_view text, double font) { return kLetter * font * static_cast<double>(letters(text)); }

std::string fitting(std::string_view text, double width, double font) {
  if (text_width(text, font) <= width) return std::string(text);
  const auto most = static_cast<std::size_t>(std::max(1.0, width / (kLetter * font) - 1));
  std::size_t end = 0;
  for (std::size_t count = 0; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xC0) != 0x80;
    if (begins && count == most) break;
    count += begins;
  }
  return std::string(text.substr(0, end)) + "\xE2\x80\xA6";
}

std::string Colour::text() const {
  return fmt::format("#{:02x}{:02x}{:02x}", std::lround(red), std::lround(green), std::lround(blue));
}

std::string heat_colour(double share) { return heat(share).text(); }

bool is_light(double share) {
  const Colour colour = heat(share);
  return 0.299 * colour.red + 0.587 * colour.green + 0.114 * colour.blue > 110;
}

}  // namespace orrery::report
