// SPDX-License-Identifier: MIT
// Quantiles as values that occurred.
#pragma once

#include <algorithm>
#include <cstddef>

namespace orrery {

// Of `count` values in ascending order, at least one, the place of the least that `percent` % of them do not exceed
// (nearest rank).
constexpr std::size_t place_of_percentile(std::size_t percent, std::size_t count) {
  return std::max<std::size_t>((count * percent + 99) / 100, 1) - 1;
}

}  // namespace orrery
