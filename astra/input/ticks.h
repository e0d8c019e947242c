// SPDX-License-Identifier: MIT
// ASTRA-sim's clock.
#pragma once

#include <cstdint>

namespace orrery::astra {

using Ticks = std::uint64_t;  // nanoseconds

// 292 years. ASTRA-sim's numbers wrap around some time after it.
inline constexpr Ticks kEndOfTime = Ticks{1} << 63;

// The whole nanoseconds of a delay that begins at `now`; `fail` throws where it ends after the end of time.
template <class Fail>
Ticks whole_ticks(double delay, Ticks now, Fail fail) {
  if (!(delay < static_cast<double>(kEndOfTime - now))) fail();
  return static_cast<Ticks>(delay);
}

}  // namespace orrery::astra
