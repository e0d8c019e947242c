// SPDX-License-Identifier: MIT
// Switch: one switch that all members are joined to by a link up and a link down, with half the latency on each.
#include <array>

#include "network/fabric/topology.h"
#include "network/topologies/member_link.h"

namespace orrery::network {
namespace {

constexpr std::array<std::string_view, 2> kClasses = {"up", "down"};

std::uint32_t switches(const TopologyParameters&) { return 1; }

std::uint64_t links(const TopologyParameters& p) { return 2 * std::uint64_t{p.size}; }

TopologyLink link(const TopologyParameters& p, std::uint32_t link) { return member_link(p, link, p.size); }

void route(const TopologyParameters& p, std::uint32_t from, std::uint32_t to, RouteBuilder& route) {
  route.cross(from);
  route.cross(p.size + to);
}

std::optional<SwitchesAbove> above(const TopologyParameters&, std::uint32_t) { return SwitchesAbove{}; }

}  // namespace

extern constinit const TopologyShape kSwitchShape{
    .link_classes = kClasses, .switches = switches, .links = links, .link = link, .route = route, .above = above};

}  // namespace orrery::network
