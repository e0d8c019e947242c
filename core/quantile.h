// SPDX-License-Identifier: MIT
// Quantiles as values that occurred.
#pragma once

#include <algorithm>
#include <cstddef>

namespace orrery {

// Index of the `percent`-th percentile among `count` >= 1 values in ascending order (nearest rank): the least value
// that `percent` % of them do not exceed.
constexpr std::size_t place_of_percentile(std::size_t percent, std::size_t count) {
  return std::max<std::size_t>((count * percent + 99) / 100, 1) - 1;
}

}  // namespace orrery
