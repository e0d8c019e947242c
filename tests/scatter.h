// SPDX-License-Identifier: MIT
// Random errors of measurements, and how far numbers scatter: the same on every platform.
#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/draw.h"

namespace orrery::testing {

// By Box and Muller.
inline double standard_normal(std::uint64_t& state) {
  constexpr double kTurn = 6.283185307179586;
  const auto uniform = [&] { return (static_cast<double>(next_random(state) >> 11) + 0.5) / 0x1p53; };
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(kTurn * uniform());
}

inline double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Of two or more, from their mean.
inline double deviation_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

}  // namespace orrery::testing
