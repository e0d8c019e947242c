// SPDX-License-Identifier: MIT
#include "collectives/group_shape.h"

#include <algorithm>

namespace orrery::collectives {

TransferSeconds lone_seconds(const Aggregate& transfer, const GroupShape& shape) {
  TransferSeconds seconds;
  const auto within = static_cast<double>(transfer.within.count());
  const auto between = static_cast<double>(transfer.between.count());
  for (const LinkCost& pace : shape.paces[static_cast<std::size_t>(transfer.pattern)]) {
    seconds.within = std::max(seconds.within, within * pace.within);
    seconds.between = std::max(seconds.between, between * pace.between);
    seconds.together = std::max(seconds.together, within * pace.within + between * pace.between);
  }
  return seconds;
}

}  // namespace orrery::collectives
