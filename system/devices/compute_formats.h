// SPDX-License-Identifier: MIT
// Formats of operands in which a device's products may have a rate of their own, keys of its `compute`; fp32 and fp8 have
// one in any case.
#pragma once

#include <array>

#include "core/precision.h"

namespace orrery::system {

inline constexpr std::array kFormatsOfTheirOwn = {Precision::kFp64, Precision::kTf32,  Precision::kFp16,
                                                  Precision::kInt8, Precision::kMxfp8, Precision::kNvfp4};

}  // namespace orrery::system
