// SPDX-License-Identifier: MIT
// Fully connected: a directed link from every member to every other.
#include <array>

#include "network/fabric/topology.h"

namespace orrery::network {
namespace {

constexpr std::array<std::string_view, 1> kClasses = {"peer"};

std::uint32_t switches(const TopologyParameters&) { return 0; }

std::uint64_t links(const TopologyParameters& p) { return std::uint64_t{p.size} * (p.size - 1); }

// Each member's size - 1 links stand together, in the order of the peers, itself left out.
TopologyLink link(const TopologyParameters& p, std::uint32_t link) {
  const std::uint32_t peers = p.size - 1;
  const std::uint32_t from = link / peers;
  const std::uint32_t peer = link % peers;
  return {from, peer < from ? peer : peer + 1, 0, p.bandwidth, p.latency};
}

void route(const TopologyParameters& p, std::uint32_t from, std::uint32_t to, RouteBuilder& route) {
  route.cross(from * (p.size - 1) + (to < from ? to : to - 1));
}

}  // namespace

extern constinit const TopologyShape kFullyConnectedShape{kClasses, switches, links, link, route};

}  // namespace orrery::network
