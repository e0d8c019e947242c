// SPDX-License-Identifier: MIT
// A topology: how members (devices, or NICs in a scale-out fabric) are joined by directed links, and which way a
// message goes. Everything is computed from the size, nothing is stored, so an instance of a million members costs no
// memory.
//
// A topology is one .cpp without a header plus one line in the table of topologies/table.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/units.h"
#include "network/fabric/routed_graph.h"

namespace orrery {
class Section;
}

namespace orrery::network {

inline constexpr std::uint32_t kMostDevices = 16U << 20;  // of a fabric

// Stages of a fat-tree or of rails.
struct TreeStages {
  std::uint32_t leaf_ports = 1;
  std::uint32_t pod_leaves = 0;  // 0: no pods
  double oversubscription = 1;   // of a leaf; to the thousandth
  double core_oversubscription = 1;
  Duration trunk_latency{};
  std::uint32_t uplinks = 0;       // of a leaf; 0: as many as are needed
  std::uint32_t core_uplinks = 0;  // of a spine switch; likewise
  bool has_spine = true;           // false: nothing joins the leaf switches (rail-only)
};

// Router groups of a dragonfly.
struct RouterGroups {
  std::uint32_t router_ports = 1;
  std::uint32_t group_routers = 1;
  Bandwidth local_bandwidth{1};
  Bandwidth global_bandwidth{1};  // of all links between two groups together
  std::uint32_t global_links = 1;
  Duration local_latency{};
  Duration global_latency{};
};

// Stages of a butterfly.
struct FlyStages {
  std::uint32_t ports = 1;  // of a switch, on either side
  std::uint32_t stages = 1;
};

// Properties of a topology beyond its size: its reader stores them for its other functions.
struct TopologyOwn {
  std::uint32_t size = 0;            // members, where its keys say how many; 0: any number
  std::uint32_t rails = 1;           // how many members, side by side, are of one node
  std::vector<std::uint32_t> sizes;  // of a grid of members, or of routers, along each axis
  std::vector<double> axis_shares;   // of a grid's bandwidth: what links along each axis have; empty: all of it
  TreeStages tree;
  RouterGroups groups;
  FlyStages fly;
  RoutedGraph graph;
};

struct TopologyParameters {
  std::uint32_t size = 1;  // members
  Bandwidth bandwidth{1};  // nominal, of one directed link (switch: of one port, per direction)
  Duration latency{};      // from end to end between neighbours (switched: between members of one switch)
  TopologyOwn own{};
  Routing routing{};
  Efficiency efficiency = kFullEfficiency;  // of every link; a topology that writes out its links has one for each
};

// One directed link of an instance. Its vertices are the members 0 .. size-1, then the switches.
struct TopologyLink {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t link_class = 0;  // into TopologyShape::link_classes
  Bandwidth bandwidth{1};        // nominal
  Duration latency{};
  Efficiency efficiency = kFullEfficiency;  // where links are written out
};

// Bandwidth of one of the equal links that make up a trunk.
constexpr Bandwidth part_of(Bandwidth trunk, std::uint64_t links) {
  return Bandwidth(std::max<std::int64_t>(1, trunk.count() / static_cast<std::int64_t>(links)));
}

// Collects the route of a message through an instance whose first link is `first`.
struct RouteBuilder {
  std::uint32_t first = 0;
  std::vector<LinkId>& out;
  Endpoints ends{};

  void cross(std::uint32_t link) { out.push_back(LinkId(first + link)); }
};

// An axis of a ring, a torus or a mesh.
struct GridAxis {
  std::uint32_t size = 1;
  bool closed = false;  // links join its ends
};

// Leaf and pod.
using SwitchesAbove = std::array<std::uint32_t, 2>;

// Pure functions of the parameters. Links are numbered 0 .. links-1 within an instance.
struct TopologyShape {
  std::span<const std::string_view> link_classes{};  // "up", "down"; empty: those of the graph
  std::uint32_t (*switches)(const TopologyParameters&);
  std::uint64_t (*links)(const TopologyParameters&);
  TopologyLink (*link)(const TopologyParameters&, std::uint32_t link);
  // Crosses the links from member `from` to member `to`, in the order of travel. `from` and `to` differ.
  void (*route)(const TopologyParameters&, std::uint32_t from, std::uint32_t to, RouteBuilder& route);
  // "leaf3"; null: switches are called "switch<i>".
  std::string (*switch_name)(const TopologyParameters&, std::uint32_t index) = nullptr;
  // Check of bandwidths that are derived from the parameters: the problem, or ""; null if none are derived.
  std::string (*problem)(const TopologyParameters&) = nullptr;
  // Members side by side on an axis have a link each way, and nothing else joins any; the first axis varies fastest.
  // Null: this is no grid.
  std::vector<GridAxis> (*axes)(const TopologyParameters&) = nullptr;
  // The switches above a member that say, with the same of another member, which links join the two, but for those of
  // the members themselves. Null: nothing short does.
  std::optional<SwitchesAbove> (*above)(const TopologyParameters&, std::uint32_t member) = nullptr;
  // True if some way joins members of different rails (TopologyOwn::rails). Null: it does.
  bool (*joins_rails)(const TopologyParameters&) = nullptr;
};

enum class MemberKind : std::uint8_t { kDevice, kNic };

// Members to be joined.
struct Members {
  MemberKind kind = MemberKind::kDevice;
  std::uint32_t count = 0;  // 0: not known yet
  // NICs of a node, which are side by side: those of one number are a rail. Members of different rails need no way
  // between them.
  std::uint32_t rails = 1;
};

// Reads the keys that a topology has of its own. Reports what is wrong; what it leaves then is harmless.
using ReadTopology = void (*)(Section& section, const Members& members, TopologyOwn& own);

struct Topology {
  std::string_view name;
  std::string_view summary;
  std::uint32_t most;  // members; the least is 1
  bool switched;       // no route leads through another member: fit to join NICs
  const TopologyShape* shape;
  ReadTopology read = nullptr;  // null: it has no keys of its own
};

// The axes of a grid; none of what is none.
inline std::vector<GridAxis> axes_of(const Topology& topology, const TopologyParameters& parameters) {
  return topology.shape->axes == nullptr ? std::vector<GridAxis>() : topology.shape->axes(parameters);
}

// True if the topology has a way between any two members, and not only between those of one rail.
inline bool joins_rails(const Topology& topology, const TopologyParameters& parameters) {
  return topology.shape->joins_rails == nullptr || topology.shape->joins_rails(parameters);
}

// True if the links have figures of their own, so that `bandwidth` and `latency` mean nothing.
inline bool writes_out_links(const Topology& topology) { return topology.shape->link_classes.empty(); }

// Sorted by name.
std::span<const Topology> topologies();

// Hyphen and underscore are the same; null if there is none of that name.
const Topology* topology_named(std::string_view name);

// The names of all topologies, or of those that can join NICs: for readers and hints.
std::vector<std::string> topology_names();
std::vector<std::string> switched_topology_names();

}  // namespace orrery::network
