// SPDX-License-Identifier: MIT
// Fat-tree: members under leaf switches, the leaves under a spine, and with pods the spines of the pods under a core.
// The parallel links between two stages are one trunk of their summed capacity, and the switches of a stage that all of
// them lead to are one vertex: ideal spraying. Under another routing each up-link of a leaf leads to a spine switch of
// its own, and each up-link of a spine switch to a core switch of its own; whoever chooses the way up has chosen the
// way down.
//
// Rail-optimised: the same tree, but a leaf has the NICs of one rail: the i-th NIC of `leaf_ports` nodes. Without a
// spine it is rail-only (Wang et al., "Rail-only: a low-cost high-performance network for training LLMs with trillion
// parameters", HOTI 2024): one leaf switch for each rail, and no way from rail to rail.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "core/config/config.h"
#include "network/fabric/link_type.h"
#include "network/fabric/topology.h"
#include "network/fabric/topology_config.h"

namespace orrery::network {
namespace {

constexpr std::array<std::string_view, 6> kClasses = {"up", "down", "leaf-up", "leaf-down", "core-up", "core-down"};

constexpr std::int64_t kMostPorts = 65536;
constexpr std::int64_t kOne = 1000;  // ratios are in thousandths

std::uint32_t ceil_of(std::uint64_t amount, std::uint64_t share) {
  return static_cast<std::uint32_t>((amount + share - 1) / share);
}

std::int64_t thousandths(double ratio) { return std::llround(ratio * kOne); }

Int128 trunk_rate(Bandwidth each, std::int64_t count, double ratio) {
  return Int128{each.count()} * count * kOne / thousandths(ratio);
}

// problem() tells rates that are no bandwidth.
Bandwidth trunk_of(Bandwidth each, std::int64_t count, double ratio) {
  const Int128 rate = trunk_rate(each, count, ratio);
  return Bandwidth(static_cast<std::int64_t>(std::clamp<Int128>(rate, 1, Bandwidth::max().count())));
}

enum class Leaves { kOfNeighbours, kOfRails };

// The numbers of switches of each stage, and where their links start.
template <Leaves kind>
struct Tree {
  explicit Tree(const TopologyParameters& parameters)
      : p(parameters), own(p.own.tree), ports(own.leaf_ports), rails(kind == Leaves::kOfRails ? p.own.rails : 1) {
    leaves = ceil_of(ceil_of(p.size, rails), ports) * rails;
    pod_leaves = own.pod_leaves == 0 ? leaves : own.pod_leaves;
    pods = ceil_of(leaves, pod_leaves);
    if (!p.routing.enumerates()) return;
    planes = own.uplinks != 0 ? own.uplinks : filled_by(ports, own.oversubscription);
    cores = own.core_uplinks != 0 ? own.core_uplinks : filled_by(pod_leaves, own.core_oversubscription);
  }
  // Number of up-links that carry what `below` down-links of the same width bring.
  static std::uint32_t filled_by(std::uint32_t below, double ratio) {
    return ceil_of(std::uint64_t{below} * kOne, static_cast<std::uint64_t>(thousandths(ratio)));
  }
  bool has_spine() const { return own.has_spine && leaves > 1; }
  bool has_core() const { return pods > 1; }
  std::uint32_t leaf_of(std::uint32_t member) const { return member / rails / ports * rails + member % rails; }
  std::uint32_t spine_of(std::uint32_t leaf) const { return leaf / pod_leaves; }
  // Members, leaf by leaf: what destination modulo counts, so that the members of a leaf go over different links.
  std::uint32_t place_of(std::uint32_t member) const { return leaf_of(member) * ports + member / rails % ports; }
  std::uint32_t leaf_up(std::uint32_t leaf, std::uint32_t plane) const { return 2 * p.size + leaf * planes + plane; }
  std::uint32_t leaf_down(std::uint32_t leaf, std::uint32_t plane) const {
    return leaf_up(leaf, plane) + leaves * planes;
  }
  // Links of a spine switch: pod by pod, plane by plane.
  std::uint32_t core_up(std::uint32_t spine, std::uint32_t core) const {
    return leaf_down(leaves, 0) + spine * cores + core;
  }
  std::uint32_t core_down(std::uint32_t spine, std::uint32_t core) const {
    return core_up(spine, core) + pods * planes * cores;
  }

  const TopologyParameters& p;
  const TreeStages& own;
  std::uint32_t ports;
  std::uint32_t rails;
  std::uint32_t leaves = 0;
  std::uint32_t pod_leaves = 0;
  std::uint32_t pods = 0;
  std::uint32_t planes = 1;  // up-links of a leaf, spine switches of a pod
  std::uint32_t cores = 1;   // up-links of a spine switch, core switches of a plane
};

template <Leaves kind>
std::uint32_t switches(const TopologyParameters& p) {
  const Tree<kind> tree(p);
  return tree.leaves + (tree.has_spine() ? tree.pods * tree.planes : 0) +
         (tree.has_core() ? tree.planes * tree.cores : 0);
}

template <Leaves kind>
std::uint64_t links(const TopologyParameters& p) {
  const Tree<kind> tree(p);
  const std::uint64_t planes = tree.planes;
  return 2 * (p.size + (tree.has_spine() ? tree.leaves * planes : 0) +
              (tree.has_core() ? tree.pods * planes * tree.cores : 0));
}

// Stage by stage, first the links up, then the links down. The odd picosecond of the latency is on the way down.
template <Leaves kind>
TopologyLink link(const TopologyParameters& p, std::uint32_t link) {
  const Tree<kind> tree(p);
  const auto both = [&](std::uint32_t low, std::uint32_t high, std::uint32_t link_class, bool up, Bandwidth bandwidth,
                        Duration latency) {
    return up ? TopologyLink{low, high, link_class, bandwidth, latency}
              : TopologyLink{high, low, link_class + 1, bandwidth, latency};
  };
  const std::uint32_t first_spine = p.size + tree.leaves;
  const Bandwidth leaf = trunk_of(p.bandwidth, tree.ports, tree.own.oversubscription);
  if (link < 2 * p.size) {
    const bool up = link < p.size;
    const std::uint32_t member = up ? link : link - p.size;
    const Duration half = p.latency / 2;
    return both(member, p.size + tree.leaf_of(member), 0, up, p.bandwidth, up ? half : p.latency - half);
  }
  if (link < tree.leaf_down(tree.leaves, 0)) {
    const bool up = link < tree.leaf_down(0, 0);
    const std::uint32_t offset = link - (up ? tree.leaf_up(0, 0) : tree.leaf_down(0, 0));
    const std::uint32_t at = offset / tree.planes;
    const std::uint32_t spine = tree.spine_of(at) * tree.planes + offset % tree.planes;
    return both(p.size + at, first_spine + spine, 2, up, part_of(leaf, tree.planes), tree.own.trunk_latency);
  }
  const bool up = link < tree.core_down(0, 0);
  const std::uint32_t offset = link - (up ? tree.core_up(0, 0) : tree.core_down(0, 0));
  const std::uint32_t spine = offset / tree.cores;
  const std::uint32_t core = spine % tree.planes * tree.cores + offset % tree.cores;
  const Bandwidth trunk = trunk_of(leaf, tree.pod_leaves, tree.own.core_oversubscription);
  return both(first_spine + spine, first_spine + tree.pods * tree.planes + core, 4, up,
              part_of(trunk, std::uint64_t{tree.planes} * tree.cores), tree.own.trunk_latency);
}

template <Leaves kind>
void route(const TopologyParameters& p, std::uint32_t from, std::uint32_t to, RouteBuilder& route) {
  const Tree<kind> tree(p);
  const std::uint32_t source = tree.leaf_of(from);
  const std::uint32_t target = tree.leaf_of(to);
  route.cross(from);
  if (source != target) {
    RouteChoices choices = p.routing.choices(route.ends, tree.place_of(to));
    const std::uint32_t plane = choices.take(tree.planes);
    route.cross(tree.leaf_up(source, plane));
    if (tree.spine_of(source) != tree.spine_of(target)) {
      const std::uint32_t core = choices.take(tree.cores);
      route.cross(tree.core_up(tree.spine_of(source) * tree.planes + plane, core));
      route.cross(tree.core_down(tree.spine_of(target) * tree.planes + plane, core));
    }
    route.cross(tree.leaf_down(target, plane));
  }
  route.cross(p.size + to);
}

template <Leaves kind>
std::string switch_name(const TopologyParameters& p, std::uint32_t index) {
  const Tree<kind> tree(p);
  if (index < tree.leaves)
    return kind == Leaves::kOfRails ? fmt::format("rail{}.leaf{}", index % tree.rails, index / tree.rails)
                                    : fmt::format("leaf{}", index);
  const std::uint32_t spine = index - tree.leaves;
  const bool single = !p.routing.enumerates();
  if (spine < tree.pods * tree.planes)
    return single ? fmt::format("spine{}", spine)
                  : fmt::format("pod{}.spine{}", spine / tree.planes, spine % tree.planes);
  return single ? "core" : fmt::format("core{}", spine - tree.pods * tree.planes);
}

template <Leaves kind>
std::string problem(const TopologyParameters& p) {
  const Tree<kind> tree(p);
  if (!tree.own.has_spine && tree.leaves > tree.rails)
    return fmt::format("'spine: false' leaves {} leaf switches of each rail apart; with leaf_ports: {} there is one",
                       tree.leaves / tree.rails, ceil_of(p.size, tree.rails));
  if (!tree.has_spine()) return {};
  const double ratio = tree.own.oversubscription;
  const std::string below = derived_bandwidth_problem("the links up from a leaf switch",
                                                      trunk_rate(p.bandwidth, tree.ports, ratio), tree.planes);
  if (!below.empty() || !tree.has_core()) return below;
  const Bandwidth leaf = trunk_of(p.bandwidth, tree.ports, ratio);
  return derived_bandwidth_problem("the links up from a pod",
                                   trunk_rate(leaf, tree.pod_leaves, tree.own.core_oversubscription),
                                   std::uint64_t{tree.planes} * tree.cores);
}

// Switches above a member depend on more than the member where there is a choice of ways.
template <Leaves kind>
std::optional<SwitchesAbove> above(const TopologyParameters& p, std::uint32_t member) {
  if (p.routing.enumerates()) return std::nullopt;
  const Tree<kind> tree(p);
  const std::uint32_t leaf = tree.leaf_of(member);
  return SwitchesAbove{leaf, tree.spine_of(leaf)};
}

template <Leaves kind>
bool joins_rails(const TopologyParameters& p) {
  const Tree<kind> tree(p);
  return tree.own.has_spine || tree.leaves == 1;
}

void read_ratio(Section& section, std::string_view key, double& ratio, std::string_view meaning) {
  section.takes(key, ratio, meaning);
  if (ratio >= 1.0 && ratio <= 1000.0) return;
  section.error(key, fmt::format("{}: {} is out of range; expected 1 to 1000", key, ratio),
                "2 means that twice as much goes into a switch from below as leaves it above");
  ratio = 1;
}

// A key that says something only where there are pods.
void read_core_key(Section& section, const TreeStages& tree, std::string_view key, const std::function<void()>& read) {
  section.know(key);
  section.when(tree.pod_leaves != 0, read);
  if (tree.pod_leaves == 0 && section.has(key))
    section.error(key, fmt::format("'{}' means nothing without 'pod_leaves'", key), "leave it out");
}

template <Leaves kind>
constexpr TopologyShape kShape{.link_classes = kClasses,
                               .switches = switches<kind>,
                               .links = links<kind>,
                               .link = link<kind>,
                               .route = route<kind>,
                               .switch_name = switch_name<kind>,
                               .problem = problem<kind>,
                               .above = above<kind>,
                               .joins_rails = joins_rails<kind>};

void read_leaf_ports(Section& section, TreeStages& tree) {
  section.needs("leaf_ports", tree.leaf_ports, {1, kMostPorts},
                "fat-tree, rail-optimised: number of members (of a rail: of nodes) under a leaf switch");
}

// Reads the keys of the switches above the leaf switches.
void read_spine(Section& section, TreeStages& tree) {
  section.takes("pod_leaves", tree.pod_leaves, {0, kMostPorts},
                "fat-tree, rail-optimised: number of leaf switches in a pod; 0: two levels, with one spine above all "
                "leaf switches");
  read_ratio(section, "oversubscription", tree.oversubscription,
             "fat-tree, rail-optimised: bandwidth from a leaf switch's members divided by its bandwidth to the spine. "
             "Example: `2` for 2:1");
  read_core_key(section, tree, "core_oversubscription", [&] {
    read_ratio(section, "core_oversubscription", tree.core_oversubscription,
               "fat-tree, rail-optimised, with `pod_leaves`: bandwidth from a pod's leaf switches divided by the pod's "
               "bandwidth to the core");
  });
  section.needs("trunk_latency", tree.trunk_latency, kTrunkLatencyMeaning);
  section.takes("uplinks", tree.uplinks, {0, kMostPorts},
                "fat-tree, rail-optimised: number of links from a leaf switch to the spine, among which "
                "`network.routing` chooses; 0: as many as are needed if each is as wide as a member's link");
  read_core_key(section, tree, "core_uplinks", [&] {
    section.takes("core_uplinks", tree.core_uplinks, {0, kMostPorts},
                  "fat-tree, rail-optimised, with `pod_leaves`: number of links from a spine switch to the core, among "
                  "which `network.routing` chooses; 0: as many as are needed if each is as wide as a link below");
  });
}

// Keys of what is above the leaf switches, where nothing is.
void refuse_spine_keys(Section& section) {
  for (const char* key : {"pod_leaves", "oversubscription", "core_oversubscription", "trunk_latency", "uplinks",
                          "core_uplinks"}) {
    section.know(key);
    if (section.has(key))
      section.error(key, fmt::format("'{}' means nothing with 'spine: false'", key), "leave it out");
  }
}

}  // namespace

extern constinit const TopologyShape kFatTreeShape = kShape<Leaves::kOfNeighbours>;
extern constinit const TopologyShape kRailOptimisedShape = kShape<Leaves::kOfRails>;

void read_fat_tree(Section& section, const Members&, TopologyOwn& own) {
  read_leaf_ports(section, own.tree);
  read_spine(section, own.tree);
}

void read_rail_optimised(Section& section, const Members& members, TopologyOwn& own) {
  read_leaf_ports(section, own.tree);
  section.takes("spine", own.tree.has_spine,
                "rail-optimised: whether a spine joins the leaf switches; false: rail-only, where messages change rails "
                "over the fabric of a node");
  section.when(own.tree.has_spine, [&] { read_spine(section, own.tree); });
  if (!own.tree.has_spine) refuse_spine_keys(section);
  if (members.kind == MemberKind::kNic) return;  // as many rails as a node has NICs
  if (!own.tree.has_spine)
    section.error("spine", "'spine: false' leaves no way between the rails of devices",
                  "leave it out; rails of NICs, in 'scale_out', may be apart, since devices of a node reach each other");
  section.needs("rails", own.rails, {1, kMostPorts},
                "rail-optimised: number of devices in a node, each of which is on its own rail");
}

}  // namespace orrery::network
