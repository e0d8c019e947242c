// SPDX-License-Identifier: MIT
// Frame of pictures of values over sizes: the sheet with its title and captions, and plots with two axes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/plot/axis.h"
#include "report/plot/svg.h"

namespace orrery::report {

inline constexpr double kPlotWidth = 800, kPlotMargin = 20, kPlotLine = 17;
inline constexpr double kPlotLeft = kPlotMargin + 64, kPlotRight = kPlotWidth - kPlotMargin;
inline constexpr double kPlotHeadingGap = 12;

// A white sheet as wide as all, with the title on it and captions below, which are broken at spaces. `height` is that
// of what comes below them; `styles` are added to those of text and frames.
struct Sheet {
  Sheet(std::string_view title, std::span<const std::string> captions, double height, std::string_view styles);

  double top;  // of what comes below
  Svg svg;
};

// A frame with its two axes. Labels of the horizontal one are drawn by label_across().
struct Panel {
  double top;
  double height;
  const Axis& across;
  const Axis& up;
  double right = kPlotRight;

  Spot spot(double x, double y) const;
  void draw(Svg& svg, std::string_view heading) const;
  void label_across(Svg& svg, std::string_view heading) const;
};

}  // namespace orrery::report
