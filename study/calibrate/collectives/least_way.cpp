// SPDX-License-Identifier: MIT
#include "study/calibrate/collectives/least_way.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace orrery::study {

double least_way(const CalibrationData& data, std::span<const CalibrationRow> rows,
                 const collectives::NcclConstants& start, collectives::NcclConstants fitted, std::size_t number) {
  constexpr double kSameTime = 1e-4, kMargin = 0.02;
  constexpr int kHalvings = 12;
  std::vector<double> times;
  for (const CalibrationRow& row : rows) times.push_back(predicted_seconds(data, row, fitted));
  const double from = start.value(number), to = fitted.value(number);
  const auto at = [&](double part) {
    return from > 0 && to > 0 ? from * std::pow(to / from, part) : from + part * (to - from);
  };
  const auto leaves_rows = [&](double part) {
    fitted.set(number, at(part));
    for (std::size_t row = 0; row < rows.size(); ++row)
      if (std::abs(predicted_seconds(data, rows[row], fitted) / times[row] - 1) > kSameTime) return false;
    return true;
  };
  double shown = 0, hidden = 1;  // parts of the way
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (shown + hidden) / 2;
    (leaves_rows(middle) ? hidden : shown) = middle;
  }
  return at(std::min(1.0, hidden + kMargin));
}

}  // namespace orrery::study
