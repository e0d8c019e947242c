// SPDX-License-Identifier: MIT
// Axes of sweeps whose values are quantities or numbers: where these are on an axis of a picture.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/plot/axis.h"
#include "study/sweep/file.h"

namespace orrery::study {

struct AxisNumbers {
  std::vector<double> values;  // by choice, in base units; a relative value is its factor
  report::Unit unit;           // in which labels are; none where they differ, "relative" of factors
  bool is_logarithmic = false;
  std::vector<report::Tick> ticks;  // ascending
};

// Nothing for an axis with a label that is no number, or with labels of several quantities.
std::optional<AxisNumbers> numbers_of(const SweepAxis& axis);

// True if values, ascending, are read on a logarithmic axis: each twice the one before it, or the last is at least 8
// times the first.
bool are_logarithmic(const std::vector<double>& ascending);

}  // namespace orrery::study
