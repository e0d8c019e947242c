// SPDX-License-Identifier: MIT
// Which of several effects tell something that those before them do not: the columns of a matrix that are no linear
// combination of earlier ones.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace orrery::study {

struct DependentColumn {
  std::size_t column = 0;
  std::vector<std::size_t> on;  // the kept ones that it is a combination of; empty: all zeros
};

struct ColumnChoice {
  std::vector<std::size_t> kept;
  std::vector<DependentColumn> left;
};

// Columns of one length, the preferred first. A column is left out if what it adds to the kept ones before it is not
// longer than `share` of itself; it counts as zeros up to 1e-9 of the longest.
ColumnChoice independent_columns(std::span<const std::vector<double>> columns, double share);

}  // namespace orrery::study
