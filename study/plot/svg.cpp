// SPDX-License-Identifier: MIT
#include "study/plot/svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/error.h"

namespace orrery::study {
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

constexpr int kMostSizes = 10;
constexpr int kMostPercents = 7;
constexpr int kDecades = 3;  // with 2 and 5 between

int floor_division(int a, int b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

std::string size_label(int power) {
  constexpr std::array kUnits = {"", "K", "M", "G", "T", "P", "E"};
  return fmt::format("{}{}", 1 << (power % 10), kUnits[static_cast<std::size_t>(power / 10)]);
}

// ..., 0.5, 1, 2, 5, 10, ...: 1 is the number 0.
double round_number(int number) {
  constexpr std::array<double, 3> kSteps = {1, 2, 5};
  const int decade = floor_division(number, 3);
  const double step = kSteps[static_cast<std::size_t>(number - 3 * decade)];
  return decade < 0 ? step / std::pow(10, -decade) : step * std::pow(10, decade);
}

// The largest that does not exceed `value`.
int round_number_below(double value) {
  int number = 3 * static_cast<int>(std::floor(std::log10(value))) - 1;
  while (round_number(number + 1) <= value) ++number;
  return number;
}

// The least that `value` does not exceed.
int round_number_above(double value) {
  const int below = round_number_below(value);
  return round_number(below) == value ? below : below + 1;
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

Axis Axis::sizes(Bytes least, Bytes most) {
  ORRERY_ASSERT(Bytes(0) < least && least <= most);
  int first = 0, last = 0;
  while (first < 62 && least.count() >> (first + 1) > 0) ++first;
  while (last < 62 && Bytes(std::int64_t{1} << last) < most) ++last;
  Axis axis;
  axis.logarithmic_ = true;
  axis.first_ = (first - 0.5) * std::log(2);
  axis.last_ = (std::max(first, last) + 0.5) * std::log(2);
  for (const int step : {1, 2, 5, 10}) {
    axis.ticks_.clear();
    for (int power = (first + step - 1) / step * step; power <= last; power += step)
      axis.ticks_.push_back({std::exp2(power), size_label(power)});
    if (axis.ticks_.size() <= kMostSizes) break;
  }
  return axis;
}

Axis Axis::logarithmic(double least, double most) {
  ORRERY_ASSERT(0 < least && least <= most && std::isfinite(most));
  int first = round_number_below(least), last = round_number_above(most);
  if (last - first < 2) --first, ++last;
  int step = 1;
  if (last - first > 3 * kDecades) {
    step = 3;
    first = 3 * floor_division(first, 3);
    last = 3 * floor_division(last + 2, 3);
  }
  Axis axis;
  axis.logarithmic_ = true;
  axis.first_ = std::log(round_number(first));
  axis.last_ = std::log(round_number(last));
  for (int number = first; number <= last; number += step)
    axis.ticks_.push_back({round_number(number), fmt::format("{:g}", round_number(number))});
  return axis;
}

Axis Axis::signed_percent(double least, double most) {
  ORRERY_ASSERT(std::isfinite(least) && std::isfinite(most) && least <= most);
  Axis axis;
  for (int number = 0;; ++number) {
    const double step = round_number(number);
    double first = std::floor(std::min(least, 0.0) / step), last = std::ceil(std::max(most, 0.0) / step);
    if (first == last) --first, ++last;
    if (last - first > kMostPercents - 1) continue;
    axis.first_ = first * step;
    axis.last_ = last * step;
    for (double tick = first; tick <= last; ++tick)
      axis.ticks_.push_back({tick * step, tick == 0 ? "0" : fmt::format("{:+.0f}", tick * step)});
    return axis;
  }
}

double Axis::share(double value) const {
  return ((logarithmic_ ? std::log(value) : value) - first_) / (last_ - first_);
}

}  // namespace orrery::study
