// SPDX-License-Identifier: MIT
// Curves over message sizes, on logarithmic axes, as one picture.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/units.h"

namespace orrery::study {

struct Curve {
  std::string name;
  std::vector<std::pair<Bytes, double>> values;  // by size, all above 0
  bool is_bound = false;                         // drawn dashed and grey, below which nothing can be
};

struct CurvePlot {
  std::string title;
  std::vector<std::string> captions;
  std::string up;  // heading of the vertical axis
  std::vector<Curve> curves;
};

// The text of an SVG file, in which the curves are named at the right, the highest at the end first. At least one curve
// has a value.
std::string curve_plot(const CurvePlot& plot);

}  // namespace orrery::study
