// SPDX-License-Identifier: MIT
// Ring: two directed links between neighbours, the shortest way round, and up where both ways are equally long. A ring
// of two has one link each way.
#include <array>

#include "network/fabric/topology.h"

namespace orrery::network {
namespace {

constexpr std::array<std::string_view, 2> kClasses = {"up", "down"};

std::uint32_t switches(const TopologyParameters&) { return 0; }

std::uint64_t links(const TopologyParameters& p) {
  if (p.size == 1) return 0;
  return p.size == 2 ? 2 : 2 * std::uint64_t{p.size};
}

// Link i leads up from member i; link size + i leads down from member i.
TopologyLink link(const TopologyParameters& p, std::uint32_t link) {
  const bool up = link < p.size;
  const std::uint32_t from = up ? link : link - p.size;
  const std::uint32_t to = (from + (up ? 1 : p.size - 1)) % p.size;
  return {from, to, up ? 0U : 1U, p.bandwidth, p.latency};
}

void route(const TopologyParameters& p, std::uint32_t from, std::uint32_t to, RouteBuilder& route) {
  const std::uint32_t upward = to > from ? to - from : to + p.size - from;
  const std::uint32_t downward = p.size - upward;
  if (upward <= downward) {
    for (std::uint32_t at = from; at != to; at = at + 1 == p.size ? 0 : at + 1) route.cross(at);
  } else {
    for (std::uint32_t at = from; at != to; at = at == 0 ? p.size - 1 : at - 1) route.cross(p.size + at);
  }
}

std::vector<GridAxis> axes(const TopologyParameters& p) { return {{p.size, true}}; }

}  // namespace

extern constinit const TopologyShape kRingShape{kClasses, switches, links, link, route, nullptr, nullptr, axes};

}  // namespace orrery::network
