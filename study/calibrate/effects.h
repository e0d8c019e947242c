// How predictions of measured rows change with one constant of the `nccl` library: columns that show which constants the
// rows tell apart.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "collectives/nccl/constants.h"
#include "study/calibrate/data.h"

namespace orrery {

// Of a latency that is 0, in seconds: a change that may matter.
inline constexpr double kLatencyScale = 1e-6;

// Of every algorithm that could run, whichever is the fastest: its relative change for each row, when the constant is
// halved and doubled.
std::vector<double> effect_on_algorithms(const CalibrationData& data, std::span<const CalibrationRow> rows,
                                         const NcclConstants& constants, std::size_t number);

// Of the fastest: the change of the logarithm of its time for each row, when the constant changes a little.
std::vector<double> effect_on_rows(const CalibrationData& data, std::span<const CalibrationRow> rows,
                                   const NcclConstants& constants, std::size_t number);

}  // namespace orrery
