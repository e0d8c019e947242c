// SPDX-License-Identifier: MIT
#include "workload/calls/token_rows.h"

namespace orrery::workload {

Bytes token_rows(std::int64_t rows, std::int64_t hidden, Precision precision) {
  constexpr std::int64_t kScaled = 128;
  const std::int64_t scales = is_of_products_only(precision) ? 4 * ((hidden + kScaled - 1) / kScaled) : 0;
  return Bytes(rows * (hidden * size_of(precision).count() + scales));
}

}  // namespace orrery::workload
