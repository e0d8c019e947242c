// The table of topologies: one line for each.
#include <algorithm>
#include <array>

#include "network/topology.h"

namespace orrery {

extern const TopologyShape kFullyConnectedShape;
extern const TopologyShape kRingShape;
extern const TopologyShape kSwitchShape;

namespace {

constexpr std::array kTopologies = {
    Topology{"fully-connected", "a directed link from every member to every other", 4096, false, &kFullyConnectedShape},
    Topology{"ring", "links both ways between neighbours; messages take the shortest way", kMostDevices, false,
             &kRingShape},
    Topology{"switch", "one switch with a link up and a link down for every member", kMostDevices, true, &kSwitchShape},
};

static_assert(std::ranges::is_sorted(kTopologies, {}, &Topology::name));

}  // namespace

std::span<const Topology> topologies() { return kTopologies; }

const Topology* topology_named(std::string_view name) {
  const auto plain = [](char c) { return c == '_' ? '-' : c; };
  const auto found = std::ranges::find_if(
      kTopologies, [&](const Topology& topology) { return std::ranges::equal(topology.name, name, {}, plain, plain); });
  return found == kTopologies.end() ? nullptr : &*found;
}

std::vector<std::string> topology_names() {
  std::vector<std::string> names;
  for (const Topology& topology : kTopologies) names.emplace_back(topology.name);
  return names;
}

std::vector<std::string> switched_topology_names() {
  std::vector<std::string> names;
  for (const Topology& topology : kTopologies)
    if (topology.switched) names.emplace_back(topology.name);
  return names;
}

}  // namespace orrery
