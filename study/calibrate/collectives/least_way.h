// SPDX-License-Identifier: MIT
// Distance that constants of ways that no row takes have to move.
#pragma once

#include <cstddef>
#include <span>

#include "collectives/nccl/constants.h"
#include "study/calibrate/collectives/data.h"

namespace orrery::study {

// The value of a constant nearest to that in `start` at which all rows take as long as with `fitted`: farther than the
// rows want, it would change calls that no row is like.
double least_way(const CalibrationData& data, std::span<const CalibrationRow> rows,
                 const collectives::NcclConstants& start, collectives::NcclConstants fitted, std::size_t number);

}  // namespace orrery::study
