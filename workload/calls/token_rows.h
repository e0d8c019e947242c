// SPDX-License-Identifier: MIT
// Sizes of tokens on their way to experts and back.
#pragma once

#include <cstdint>

#include "core/precision.h"
#include "core/units.h"

namespace orrery::workload {

// Returns the bytes of `rows` tokens of `hidden` values; of a precision of products only, each 128 values share a scale
// of 4 bytes (DeepSeek-V3).
Bytes token_rows(std::int64_t rows, std::int64_t hidden, Precision precision);

}  // namespace orrery::workload
