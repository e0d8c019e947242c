// SPDX-License-Identifier: MIT
// Hypercube: 2^n members, of which those whose numbers differ in one bit have a link each way. Messages put their bits
// right one by one, the lowest first.
#include <array>

#include "core/config/config.h"
#include "network/fabric/topology.h"
#include "network/fabric/topology_config.h"

namespace orrery::network {
namespace {

constexpr std::array<std::string_view, 1> kClasses = {"edge"};

std::uint32_t axes(const TopologyParameters& p) { return static_cast<std::uint32_t>(p.own.sizes.size()); }

std::uint32_t switches(const TopologyParameters&) { return 0; }

std::uint64_t links(const TopologyParameters& p) { return std::uint64_t{p.size} * axes(p); }

// A member's links stand together, one for each bit.
TopologyLink link(const TopologyParameters& p, std::uint32_t link) {
  const std::uint32_t from = link / axes(p);
  return {from, from ^ (1U << link % axes(p)), 0, p.bandwidth, p.latency};
}

void route(const TopologyParameters& p, std::uint32_t from, std::uint32_t to, RouteBuilder& route) {
  std::uint32_t at = from;
  for (std::uint32_t axis = 0; axis < axes(p); ++axis) {
    const std::uint32_t bit = 1U << axis;
    if ((at & bit) == (to & bit)) continue;
    route.cross(at * axes(p) + axis);
    at ^= bit;
  }
}

}  // namespace

extern constinit const TopologyShape kHypercubeShape{kClasses, switches, links, link, route};

void read_hypercube(Section& section, const Members&, TopologyOwn& own) {
  std::uint32_t axes = 0;
  section.needs("axes", axes, {0, 24}, "hypercube: number of axes, each of two members: 3 makes a cube of 8");
  own.sizes.assign(axes, 2);
  own.size = 1U << axes;
}

}  // namespace orrery::network
