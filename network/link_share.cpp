#include "network/link_share.h"

#include <algorithm>
#include <limits>

namespace orrery {

Bytes load_of(const LinkShare& share, Bytes busiest) {
  const Int128 one = (Int128{static_cast<std::int64_t>(share.weight)} * busiest.count()) >> 32;
  const Int128 most = std::numeric_limits<std::int64_t>::max();
  return Bytes(static_cast<std::int64_t>(std::min(std::min(one, most) * share.copies, most)));
}

Bandwidth rate_alone(const Fabric& fabric, std::span<const LinkShare> shares) {
  Bandwidth rate = Bandwidth::max();
  for (const LinkShare& share : shares)
    rate = std::min(rate, Bandwidth(fill_rate(capacity_of(fabric.link(share.link).bandwidth), share.weight)));
  return rate;
}

}  // namespace orrery
