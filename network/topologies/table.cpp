// SPDX-License-Identifier: MIT
// The table of topologies: one line for each.
#include <algorithm>
#include <array>

#include "network/fabric/topology.h"

namespace orrery::network {

extern const TopologyShape kButterflyShape;
extern const TopologyShape kDragonflyShape;
extern const TopologyShape kEdgeListShape;
extern const TopologyShape kFatTreeShape;
extern const TopologyShape kFlattenedButterflyShape;
extern const TopologyShape kFullyConnectedShape;
extern const TopologyShape kHypercubeShape;
extern const TopologyShape kMeshShape;
extern const TopologyShape kRailOptimisedShape;
extern const TopologyShape kRingShape;
extern const TopologyShape kSwitchShape;
extern const TopologyShape kTorusShape;

void read_butterfly(Section&, const Members&, TopologyOwn&);
void read_dragonfly(Section&, const Members&, TopologyOwn&);
void read_edge_list(Section&, const Members&, TopologyOwn&);
void read_fat_tree(Section&, const Members&, TopologyOwn&);
void read_flattened_butterfly(Section&, const Members&, TopologyOwn&);
void read_grid(Section&, const Members&, TopologyOwn&);
void read_hypercube(Section&, const Members&, TopologyOwn&);
void read_rail_optimised(Section&, const Members&, TopologyOwn&);

namespace {

constexpr std::array kTopologies = {
    Topology{"butterfly", "stages of switches that all members send through, one way", kMostDevices, true,
             &kButterflyShape, read_butterfly},
    Topology{"dragonfly", "groups of routers, each group and the groups among each other fully connected", kMostDevices,
             true, &kDragonflyShape, read_dragonfly},
    Topology{"edge-list", "every link written out; the fewest hops, then the widest route", kMostGraphVertices, true,
             &kEdgeListShape, read_edge_list},
    Topology{"fat-tree", "leaf switches under a spine, with a third level if there are pods", kMostDevices, true,
             &kFatTreeShape, read_fat_tree},
    Topology{"flattened-butterfly", "routers in a grid of which every line is fully connected", kMostDevices, true,
             &kFlattenedButterflyShape, read_flattened_butterfly},
    Topology{"fully-connected", "a directed link from every member to every other", 4096, false, &kFullyConnectedShape},
    Topology{"hypercube", "2^n members, linked where their numbers differ in one bit; bits are put right lowest first",
             kMostDevices, false, &kHypercubeShape, read_hypercube},
    Topology{"mesh", "a grid of one to six axes with open ends; messages go axis by axis", kMostDevices, false,
             &kMeshShape, read_grid},
    Topology{"rail-optimised", "NIC i of all nodes under leaf switches of rail i; a spine joins the rails",
             kMostDevices, true, &kRailOptimisedShape, read_rail_optimised},
    Topology{"ring", "links both ways between neighbours; messages take the shortest way", kMostDevices, false,
             &kRingShape},
    Topology{"switch", "one switch with a link up and a link down for every member", kMostDevices, true, &kSwitchShape},
    Topology{"torus", "a grid of one to six axes, each closed to a ring; messages go axis by axis", kMostDevices, false,
             &kTorusShape, read_grid},
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

}  // namespace orrery::network
