// SPDX-License-Identifier: MIT
// Sizes of tokens on their way to experts and back.
#pragma once

#include <cstdint>

#include "core/precision.h"
#include "core/units.h"

namespace orrery::workload {

// Returns the bytes of `rows` tokens of `hidden` values. Each 128 values of fp8 and int8 share a scale of 4 bytes
// (DeepSeek-V3); mxfp8 and nvfp4 come with the scales of their format.
Bytes token_rows(std::int64_t rows, std::int64_t hidden, Precision precision);

}  // namespace orrery::workload
