// SPDX-License-Identifier: MIT
#include "report/plot/drawing.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace orrery::report {

void Extent::take(double value) {
  if (!std::isfinite(value)) return;
  least = is_empty() ? value : std::min(least, value);
  most = most != most ? value : std::max(most, value);
}

std::string heading_of(const PictureAxis& axis) {
  return axis.unit.name.empty() ? axis.title : fmt::format("{} ({})", axis.title, axis.unit.name);
}

std::string value_text(const PictureAxis& axis, double value, bool with_unit) {
  const double number = value / axis.unit.size;
  std::string text = std::abs(number) >= 999.95 ? fmt::format("{:.0f}", number) : fmt::format("{:#.4g}", number);
  if (with_unit && !axis.unit.name.empty()) text += " " + axis.unit.name;
  return text;
}

void Drawing::label_across(const PictureAxis& axis) const {
  double free = from.x - font * 10;
  for (const Tick& tick : across.ticks()) {
    const double at = x(tick.value), half = text_width(tick.label, font) / 2;
    svg.line({at, to.y}, {at, to.y + 0.3 * font}, "tick");
    if (at - half < free) continue;
    const double middle = std::min(at, std::max(from.x, to.x + 0.7 * font - half));  // not beyond the sheet
    svg.text({middle, to.y + 1.3 * font}, tick.label, "middle");
    free = middle + half + 0.5 * font;
  }
  svg.text({(from.x + to.x) / 2, to.y + 2.7 * font}, heading_of(axis), "middle");
}

void Drawing::tick_labels_up() const {
  for (const Tick& tick : up.ticks()) svg.text({from.x - 0.5 * font, y(tick.value) + 0.36 * font}, tick.label, "left");
}

void Drawing::draw_frame(const PicturePanel& panel) const {
  for (const Tick& tick : across.ticks()) svg.line({x(tick.value), from.y}, {x(tick.value), to.y}, "grid");
  for (const Tick& tick : up.ticks()) svg.line({from.x, y(tick.value)}, {to.x, y(tick.value)}, "grid");
  svg.rectangle(from, to, "frame");
  if (names_up) tick_labels_up();
  label_across(panel.x);
}

}  // namespace orrery::report
