#include "network/link_share.h"

#include <algorithm>
#include <limits>
#include <map>

namespace orrery {

Bytes load_of(std::uint64_t weight, Bytes busiest) {
  const Int128 load = (Int128{weight} * busiest.count()) >> 32;
  return Bytes(static_cast<std::int64_t>(std::min<Int128>(load, std::numeric_limits<std::int64_t>::max())));
}

Bandwidth rate_alone(const Fabric& fabric, std::span<const LinkShare> shares) {
  std::map<LinkId, std::uint64_t> weights;
  for (const LinkShare& share : shares) weights[share.link] += share.weight;
  Bandwidth rate = Bandwidth::max();
  for (const auto& [link, weight] : weights)
    rate = std::min(rate, Bandwidth(fill_rate(capacity_of(fabric.link(link).bandwidth), weight)));
  return rate;
}

}  // namespace orrery
