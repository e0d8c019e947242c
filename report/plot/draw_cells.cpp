// SPDX-License-Identifier: MIT
// Pictures that are made of boxes: bars and heat maps.
#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "report/plot/drawing.h"
#include "report/screen/screen.h"

namespace orrery::report {
namespace {

// The number of the tick at `x`.
std::size_t tick_at(const PictureAxis& axis, double x) {
  const auto found = std::ranges::find(axis.ticks, x, &Tick::value);
  return static_cast<std::size_t>(found - axis.ticks.begin());
}

void draw_refusal(const Drawing& drawing, Spot from, Spot to, const PictureSpot& spot) {
  drawing.svg.begin(spot.error);
  drawing.svg.line(from, to, "refused");
  drawing.svg.line({from.x, to.y}, {to.x, from.y}, "refused");
  drawing.svg.end();
}

// Bars of one name: one behind the other, or below one another.
class Bars {
 public:
  Bars(const Drawing& drawing, const PicturePanel& panel, bool stacked)
      : drawing_(drawing),
        panel_(panel),
        stacked_(stacked),
        row_((drawing.to.y - drawing.from.y) / static_cast<double>(std::max<std::size_t>(panel.x.ticks.size(), 1))),
        bar_(0.8 * row_ / (stacked ? 1.0 : static_cast<double>(panel.series.size()))),
        ends_(panel.x.ticks.size(), 0) {}

  void draw() {
    for (std::size_t i = 0; i < panel_.series.size(); ++i)
      for (const PictureSpot& spot : panel_.series[i].spots) draw_one(i, spot);
    if (!stacked_) return;
    for (std::size_t row = 0; row < ends_.size(); ++row)
      write_value(ends_[row], drawing_.from.y + row_ * (static_cast<double>(row) + 0.5), {});
  }

 private:
  void draw_one(std::size_t number, const PictureSpot& spot) {
    const std::size_t row = tick_at(panel_.x, spot.x);
    const double top = drawing_.from.y + row_ * (static_cast<double>(row) + 0.1) +
                       (stacked_ ? 0.0 : bar_ * static_cast<double>(number));
    const double middle = top + bar_ / 2, zero = drawing_.x(0);
    if (!std::isfinite(spot.y)) {
      const double size = 0.28 * drawing_.font;
      if (!spot.error.empty())
        draw_refusal(drawing_, {zero + size, middle - size}, {zero + 3 * size, middle + size}, spot);
      return;
    }
    const double start = stacked_ ? ends_[row] : 0;
    const double a = drawing_.x(start), b = drawing_.x(start + spot.y);
    ends_[row] = start + spot.y;
    const PictureSeries& series = panel_.series[number];
    if (!spot.note.empty()) drawing_.svg.begin(spot.note);
    drawing_.svg.rectangle({std::min(a, b), top + 0.06 * bar_}, {std::max(a, b), top + 0.94 * bar_},
                           fmt::format("bar fill{}", style_number(series.colour)));
    if (!spot.note.empty()) drawing_.svg.end();
    if (!stacked_) write_value(spot.y, middle, spot.label);
  }

  void write_value(double value, double middle, const std::string& given) {
    const std::string text = given.empty() ? value_text(panel_.y, value, true) : given;
    const double at = drawing_.x(value), gap = 0.4 * drawing_.font;
    const bool is_left = value < 0 && at - gap - text_width(text, drawing_.font) > drawing_.from.x;  // not on names
    const double behind = std::max(at, drawing_.x(0)) + gap;
    drawing_.svg.text({is_left ? at - gap : behind, middle + 0.36 * drawing_.font}, text,
                      is_left ? "aside left" : "aside");
  }

  const Drawing& drawing_;
  const PicturePanel& panel_;
  const bool stacked_;
  const double row_, bar_;
  std::vector<double> ends_;
};

constexpr double kNameLine = 1.15;  // from one line of a name to the next

// A name on at most so many lines, the last of which has what fits of the rest.
std::vector<std::string> lines_of_name(const std::string& name, double room, double font, std::size_t most) {
  if (most < 2 || text_width(name, font) <= room) return {fitting(name, room, font)};
  const auto columns = static_cast<std::size_t>(std::max(4.0, room / text_width("n", font)));
  std::vector<std::string> lines = wrapped_lines(name, {"", "", columns, Wrapping::Break::kBlanks});
  for (std::size_t i = most; i < lines.size(); ++i) lines[most - 1] += " " + lines[i];
  lines.resize(std::min(lines.size(), most));
  for (std::string& line : lines) line = fitting(line, room, font);
  return lines;
}

}  // namespace

void draw_bars(const Drawing& drawing, const PicturePanel& panel, bool stacked) {
  for (const Tick& tick : drawing.across.ticks())
    drawing.svg.line({drawing.x(tick.value), drawing.from.y}, {drawing.x(tick.value), drawing.to.y}, "grid");
  Bars(drawing, panel, stacked).draw();
  drawing.svg.line({drawing.x(0), drawing.from.y}, {drawing.x(0), drawing.to.y}, "zero");
  const double row = (drawing.to.y - drawing.from.y) / static_cast<double>(panel.x.ticks.size());
  const double room = drawing.from.x - 1.2 * drawing.font;
  const auto most_lines = static_cast<std::size_t>(std::max(1.0, row / (kNameLine * drawing.font)));
  for (std::size_t i = 0; i < panel.x.ticks.size(); ++i) {
    const std::vector<std::string> lines = lines_of_name(panel.x.ticks[i].label, room, drawing.font, most_lines);
    const double middle = drawing.from.y + row * (static_cast<double>(i) + 0.5);
    double y = middle + (0.36 - kNameLine * static_cast<double>(lines.size() - 1) / 2) * drawing.font;
    for (const std::string& line : lines) {
      drawing.svg.text({drawing.from.x - 0.5 * drawing.font, y}, line, "left");
      y += kNameLine * drawing.font;
    }
  }
  drawing.label_across(panel.y);
}

void draw_heat(const Drawing& drawing, const PicturePanel& panel, const Axis& colours) {
  const double font = drawing.font;
  const double width = (drawing.to.x - drawing.from.x) / static_cast<double>(panel.x.ticks.size());
  const double height = (drawing.to.y - drawing.from.y) / static_cast<double>(panel.series.size());
  for (std::size_t row = 0; row < panel.series.size(); ++row)
    for (const PictureSpot& spot : panel.series[row].spots) {
      const double left = drawing.from.x + width * static_cast<double>(tick_at(panel.x, spot.x));
      const double bottom = drawing.to.y - height * static_cast<double>(row);
      const Spot from{left, bottom - height}, to{left + width, bottom};
      if (!std::isfinite(spot.y)) {
        if (!spot.error.empty()) draw_refusal(drawing, from, to, spot);
        continue;
      }
      const double share = colours.share(spot.y);
      if (!spot.note.empty()) drawing.svg.begin(spot.note);
      drawing.svg.rectangle(from, to, "cell", heat_colour(share));
      const std::string text = value_text(panel.y, spot.y);
      if (text_width(text, font) + 0.4 * font < width && height > 1.2 * font)
        drawing.svg.text({(from.x + to.x) / 2, (from.y + to.y) / 2 + 0.36 * font}, text,
                         is_light(share) ? "on-light" : "on-dark");
      if (!spot.note.empty()) drawing.svg.end();
    }
  drawing.svg.rectangle(drawing.from, drawing.to, "frame");
  if (drawing.names_up) drawing.tick_labels_up();
  drawing.label_across(panel.x);
}

}  // namespace orrery::report
