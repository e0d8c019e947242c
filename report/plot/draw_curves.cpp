// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "report/plot/drawing.h"

namespace orrery::report {
namespace {

constexpr std::size_t kManySpots = 300;  // of a panel, from which marks are small

struct Box {
  Spot from, to;
  bool meets(const Box& other) const {
    return from.x < other.to.x && other.from.x < to.x && from.y < other.to.y && other.from.y < to.y;
  }
};

bool is_drawn(const PicturePanel& panel, const PictureSpot& spot) {
  const bool has_x = std::isfinite(spot.x) && (!panel.x.is_logarithmic || spot.x > 0);
  return has_x && std::isfinite(spot.y) && (!panel.y.is_logarithmic || spot.y > 0);
}

// Lines between neighbours that both have a value.
void draw_line(const Drawing& drawing, const PicturePanel& panel, const PictureSeries& series) {
  const std::string style =
      series.shape == SeriesShape::kBound
          ? std::string("bound")
          : fmt::format("curve stroke{} dash{}", style_number(series.colour), style_number(series.mark));
  std::vector<Spot> line;
  const auto end = [&] {
    if (line.size() > 1) drawing.svg.line(line, style);
    line.clear();
  };
  for (const PictureSpot& spot : series.spots)
    if (is_drawn(panel, spot))
      line.push_back({drawing.x(spot.x), drawing.y(spot.y)});
    else
      end();
  end();
}

void draw_spot(const Drawing& drawing, const PictureSeries& series, const PictureSpot& spot, double size) {
  const Spot at{drawing.x(spot.x), drawing.y(spot.y)};
  if (!spot.note.empty()) drawing.svg.begin(spot.note);
  if (spot.low < spot.high) {
    const std::string style = fmt::format("whisker stroke{}", style_number(series.colour));
    const double low = drawing.y(spot.low), high = drawing.y(spot.high), half = 0.25 * drawing.font;
    drawing.svg.line({at.x, low}, {at.x, high}, style);
    for (const double end : {low, high}) drawing.svg.line({at.x - half, end}, {at.x + half, end}, style);
  }
  draw_mark(drawing.svg, at, size, series.colour, series.mark);
  if (!spot.note.empty()) drawing.svg.end();
}

// A cross above the horizontal axis for each spot without a value, one above the other.
void draw_refused(const Drawing& drawing, const PicturePanel& panel) {
  std::map<double, int> above;
  const double size = 0.28 * drawing.font;
  for (const PictureSeries& series : panel.series)
    for (const PictureSpot& spot : series.spots) {
      if (spot.error.empty() || !std::isfinite(spot.x)) continue;
      const Spot at{drawing.x(spot.x), drawing.to.y - drawing.font * (0.5 + 0.8 * above[spot.x]++)};
      drawing.svg.begin(fmt::format("{}: {}", series.name, spot.error));
      const std::string style = fmt::format("refused stroke{}", style_number(series.colour));
      drawing.svg.line({at.x - size, at.y - size}, {at.x + size, at.y + size}, style);
      drawing.svg.line({at.x - size, at.y + size}, {at.x + size, at.y - size}, style);
      drawing.svg.end();
    }
}

void draw_rules(const Drawing& drawing, const PicturePanel& panel) {
  for (const PictureRule& rule : panel.rules) {
    const double x = drawing.x(rule.at);
    if (x < drawing.from.x || x > drawing.to.x) continue;
    drawing.svg.line({x, drawing.from.y}, {x, drawing.to.y}, "rule");
    const bool fits = x + drawing.font < drawing.to.x;
    drawing.svg.upright({fits ? x + 0.95 * drawing.font : x - 0.35 * drawing.font, drawing.to.y - 0.5 * drawing.font},
                        rule.name, "aside");
  }
}

// Places that marks and lines take, in boxes of the marks' size.
std::vector<Box> taken_places(const Drawing& drawing, const PicturePanel& panel) {
  std::vector<Box> taken;
  const double half = 0.35 * drawing.font;
  const auto take = [&](Spot at) { taken.push_back({{at.x - half, at.y - half}, {at.x + half, at.y + half}}); };
  for (const PictureSeries& series : panel.series) {
    std::optional<Spot> before;
    for (const PictureSpot& spot : series.spots) {
      if (!is_drawn(panel, spot)) continue;
      const Spot at{drawing.x(spot.x), drawing.y(spot.y)};
      take(at);
      if (before && series.shape != SeriesShape::kMarks) {
        const auto steps = static_cast<int>(std::hypot(at.x - before->x, at.y - before->y) / drawing.font) + 1;
        for (int i = 1; i < steps; ++i)
          take({before->x + (at.x - before->x) * i / steps, before->y + (at.y - before->y) * i / steps});
      }
      before = at;
    }
  }
  return taken;
}

// Labels beside their spots, where they meet neither another label nor a mark, a line or the frame.
void draw_labels(const Drawing& drawing, const PicturePanel& panel) {
  const auto has_label = [](const PictureSeries& series) {
    return std::ranges::any_of(series.spots, [](const PictureSpot& spot) { return !spot.label.empty(); });
  };
  if (std::ranges::none_of(panel.series, has_label)) return;
  std::vector<Box> taken = taken_places(drawing, panel);
  const double font = drawing.font;
  for (const PictureSeries& series : panel.series)
    for (const PictureSpot& spot : series.spots) {
      if (spot.label.empty() || !is_drawn(panel, spot)) continue;
      const Spot at{drawing.x(spot.x), drawing.y(spot.y)};
      const double width = text_width(spot.label, font), gap = 0.6 * font;
      const std::array<Spot, 4> corners = {{{at.x + gap, at.y - gap - 0.5 * font},
                                            {at.x + gap, at.y + gap - 0.3 * font},
                                            {at.x - gap - width, at.y - gap - 0.5 * font},
                                            {at.x - gap - width, at.y + gap - 0.3 * font}}};
      for (const Spot& corner : corners) {
        const Box box{corner, {corner.x + width, corner.y + font}};
        const bool is_inside = box.from.x > drawing.from.x && box.to.x < drawing.to.x && box.from.y > drawing.from.y &&
                               box.to.y < drawing.to.y;
        if (!is_inside || std::ranges::any_of(taken, [&](const Box& other) { return box.meets(other); })) continue;
        drawing.svg.text({corner.x, corner.y + 0.82 * font}, spot.label, "label");
        taken.push_back(box);
        break;
      }
    }
}

}  // namespace

void draw_curves(const Drawing& drawing, const PicturePanel& panel) {
  drawing.draw_frame(panel);
  draw_rules(drawing, panel);
  std::size_t spots = 0;
  for (const PictureSeries& series : panel.series) spots += series.spots.size();
  const double size = (spots > kManySpots ? 0.17 : 0.29) * drawing.font;
  for (const PictureSeries& series : panel.series)
    if (series.shape != SeriesShape::kMarks) draw_line(drawing, panel, series);
  for (auto series = panel.series.rbegin(); series != panel.series.rend(); ++series)  // the first is above the others
    for (const PictureSpot& spot : series->spots)
      if (series->shape != SeriesShape::kBound && is_drawn(panel, spot)) draw_spot(drawing, *series, spot, size);
  draw_refused(drawing, panel);
  draw_labels(drawing, panel);
}

}  // namespace orrery::report
