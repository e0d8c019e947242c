// SPDX-License-Identifier: MIT
#include "workload/calls/token_rows.h"

namespace orrery::workload {

Bytes token_rows(std::int64_t rows, std::int64_t hidden, Precision precision) {
  constexpr std::int64_t kScaled = 128;
  const bool has_own_scales = values_of_scale(precision) > 0;
  const bool shares = is_of_products_only(precision) && !has_own_scales;
  const Bytes scales(shares ? 4 * ((hidden + kScaled - 1) / kScaled) : 0);
  return (stored(precision, hidden) + scales) * rows;
}

}  // namespace orrery::workload
