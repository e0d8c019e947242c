// SPDX-License-Identifier: MIT
// One panel of a picture on its sheet, and what is drawn in it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "report/plot/axis.h"
#include "report/plot/picture.h"
#include "report/plot/style.h"
#include "report/plot/svg.h"

namespace orrery::report {

// Values between which axes run.
struct Extent {
  double least = kNoValue, most = kNoValue;
  void take(double value);
  bool is_empty() const { return least != least; }
};

// Place and axes of a panel.
struct Drawing {
  Svg& svg;
  double font;
  Spot from, to;  // the frame, upper left and lower right
  Axis across, up;
  bool names_up = true;  // labels and heading at the left; else those of its neighbour stand for it

  double x(double value) const { return from.x + (to.x - from.x) * across.share(value); }
  double y(double value) const { return to.y - (to.y - from.y) * up.share(value); }
  // Grid, frame, labels and headings.
  void draw_frame(const PicturePanel& panel) const;
  // Labels of the horizontal axis as far as they do not overlap, and its heading.
  void label_across(const PictureAxis& axis) const;
  void tick_labels_up() const;
};

// "iteration time (ms)".
std::string heading_of(const PictureAxis& axis);
// The value in the axis' unit, four digits of it; with the unit: "12.5 ms".
std::string value_text(const PictureAxis& axis, double value, bool with_unit = false);

void draw_curves(const Drawing& drawing, const PicturePanel& panel);
// Bars run to the right: `drawing.across` is the axis of values, `drawing.up` that of names, the first at the top.
void draw_bars(const Drawing& drawing, const PicturePanel& panel, bool stacked);
// `colours`: the axis of values.
void draw_heat(const Drawing& drawing, const PicturePanel& panel, const Axis& colours);

}  // namespace orrery::report
