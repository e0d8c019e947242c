// SPDX-License-Identifier: MIT
#include "study/calibrate/findings.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/config/quantity_text.h"

namespace orrery::study {

std::string constant_text(ConstantUnit unit, double value) {
  switch (unit) {
    case ConstantUnit::kShare:
      return fmt::format("{:.4g} %", 100 * value);
    case ConstantUnit::kFactor:
      return fmt::format("{:.4g}", value);
    case ConstantUnit::kDuration: {
      // Four digits: what a fit knows of a latency.
      constexpr double kPicoseconds = 1e12;
      const double ticks = value * kPicoseconds;
      const double unit_of = ticks > 0 ? std::pow(10, std::max(0.0, std::floor(std::log10(ticks)) - 3)) : 1;
      return to_text(Duration(std::llround(std::round(ticks / unit_of) * unit_of)));
    }
    case ConstantUnit::kBandwidth:
      return to_text(Bandwidth(std::llround(value)));
    case ConstantUnit::kSize:
      return to_text(Bytes(std::llround(value)));
  }
  ORRERY_ASSERT(false);
  return {};
}

}  // namespace orrery::study
