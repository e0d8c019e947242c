// SPDX-License-Identifier: MIT
#include "study/fit/confidence.h"

#include <cmath>
#include <limits>

namespace orrery::study {

// Exact for one and two degrees; from three on the expansion in their inverse (Abramowitz and Stegun, 26.7.5), which is
// off by less than half a percent.
double standard_errors_of_95_percent(double degrees_of_freedom) {
  if (degrees_of_freedom < 1) return std::numeric_limits<double>::infinity();
  if (degrees_of_freedom < 2) return 12.706;
  if (degrees_of_freedom < 3) return 4.303;
  constexpr double z = 1.959964, z2 = z * z, z3 = z2 * z, z5 = z3 * z2, z7 = z5 * z2, z9 = z7 * z2;
  const double v = degrees_of_freedom;
  return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v) +
         (79 * z9 + 776 * z7 + 1482 * z5 - 1920 * z3 - 945 * z) / (92160 * v * v * v * v);
}

double rounded_to_digits(double value, int digits) {
  if (value == 0) return 0;
  const double unit = std::pow(10, digits - 1 - static_cast<int>(std::floor(std::log10(std::abs(value)))));
  return std::round(value * unit) / unit;
}

}  // namespace orrery::study
