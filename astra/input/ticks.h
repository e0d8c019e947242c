// SPDX-License-Identifier: MIT
// ASTRA-sim's clock.
#pragma once

#include <cstdint>

namespace orrery::astra {

using Ticks = std::uint64_t;  // nanoseconds

}  // namespace orrery::astra
