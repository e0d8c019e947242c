// Fat-tree: members under leaf switches, the leaves under a spine, and with pods the spines of the pods under a core.
// The parallel links between two stages are one trunk of their summed capacity, and the switches of a stage that all of
// them lead to are one vertex: ideal spraying.
//
// Rail-optimised: the same tree, but a leaf has the NICs of one rail: the i-th NIC of `leaf_ports` nodes.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/config.h"
#include "network/topology.h"

namespace orrery {
namespace {

constexpr std::array<std::string_view, 6> kClasses = {"up", "down", "leaf-up", "leaf-down", "core-up", "core-down"};

enum Number : std::size_t { kLeafPorts, kPodLeaves, kLeafRatio, kCoreRatio, kTrunkLatency };

constexpr std::int64_t kMostPorts = 65536;
constexpr std::int64_t kOne = 1000;  // ratios are in thousandths

std::uint32_t ceil_of(std::uint64_t amount, std::uint64_t share) {
  return static_cast<std::uint32_t>((amount + share - 1) / share);
}

Bandwidth trunk_of(Bandwidth each, std::int64_t count, std::int64_t ratio) {
  const Int128 sum = Int128{each.count()} * count * kOne / ratio;
  return Bandwidth(static_cast<std::int64_t>(std::clamp<Int128>(sum, 1, Bandwidth::max().count())));
}

enum class Leaves { kOfNeighbours, kOfRails };

// The numbers of switches of each stage, and where their links start.
template <Leaves kind>
struct Tree {
  explicit Tree(const TopologyParameters& parameters)
      : p(parameters), ports(number(kLeafPorts)), rails(kind == Leaves::kOfRails ? p.own.rails : 1) {
    leaves = ceil_of(ceil_of(p.size, rails), ports) * rails;
    pod_leaves = number(kPodLeaves) == 0 ? leaves : number(kPodLeaves);
    pods = ceil_of(leaves, pod_leaves);
  }
  std::uint32_t number(Number which) const { return static_cast<std::uint32_t>(p.own.numbers[which]); }
  bool has_spine() const { return leaves > 1; }
  bool has_core() const { return pods > 1; }
  std::uint32_t leaf_of(std::uint32_t member) const { return member / rails / ports * rails + member % rails; }
  std::uint32_t spine_of(std::uint32_t leaf) const { return leaf / pod_leaves; }
  std::uint32_t leaf_up(std::uint32_t leaf) const { return 2 * p.size + leaf; }
  std::uint32_t leaf_down(std::uint32_t leaf) const { return leaf_up(leaf) + leaves; }
  std::uint32_t core_up(std::uint32_t pod) const { return leaf_down(leaves) + pod; }
  std::uint32_t core_down(std::uint32_t pod) const { return core_up(pod) + pods; }

  const TopologyParameters& p;
  std::uint32_t ports;
  std::uint32_t rails;
  std::uint32_t leaves = 0;
  std::uint32_t pod_leaves = 0;
  std::uint32_t pods = 0;
};

template <Leaves kind>
std::uint32_t switches(const TopologyParameters& p) {
  const Tree<kind> tree(p);
  return tree.leaves + (tree.has_spine() ? tree.pods : 0) + (tree.has_core() ? 1 : 0);
}

template <Leaves kind>
std::uint64_t links(const TopologyParameters& p) {
  const Tree<kind> tree(p);
  return 2 * (std::uint64_t{p.size} + (tree.has_spine() ? tree.leaves : 0) + (tree.has_core() ? tree.pods : 0));
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
  const Duration trunk_latency{p.own.numbers[kTrunkLatency]};
  const Bandwidth leaf = trunk_of(p.bandwidth, tree.ports, p.own.numbers[kLeafRatio]);
  if (link < 2 * p.size) {
    const bool up = link < p.size;
    const std::uint32_t member = up ? link : link - p.size;
    const Duration half = p.latency / 2;
    return both(member, p.size + tree.leaf_of(member), 0, up, p.bandwidth, up ? half : p.latency - half);
  }
  if (link < tree.leaf_down(tree.leaves)) {
    const bool up = link < tree.leaf_down(0);
    const std::uint32_t at = link - (up ? tree.leaf_up(0) : tree.leaf_down(0));
    return both(p.size + at, first_spine + tree.spine_of(at), 2, up, leaf, trunk_latency);
  }
  const bool up = link < tree.core_down(0);
  const std::uint32_t pod = link - (up ? tree.core_up(0) : tree.core_down(0));
  const Bandwidth core = trunk_of(leaf, tree.pod_leaves, p.own.numbers[kCoreRatio]);
  return both(first_spine + pod, first_spine + tree.pods, 4, up, core, trunk_latency);
}

template <Leaves kind>
void route(const TopologyParameters& p, std::uint32_t from, std::uint32_t to, RouteBuilder& route) {
  const Tree<kind> tree(p);
  const std::uint32_t source = tree.leaf_of(from);
  const std::uint32_t target = tree.leaf_of(to);
  route.cross(from);
  if (source != target) {
    route.cross(tree.leaf_up(source));
    if (tree.spine_of(source) != tree.spine_of(target)) {
      route.cross(tree.core_up(tree.spine_of(source)));
      route.cross(tree.core_down(tree.spine_of(target)));
    }
    route.cross(tree.leaf_down(target));
  }
  route.cross(p.size + to);
}

template <Leaves kind>
std::string switch_name(const TopologyParameters& p, std::uint32_t index) {
  const Tree<kind> tree(p);
  if (index < tree.leaves)
    return kind == Leaves::kOfRails ? fmt::format("rail{}.leaf{}", index % tree.rails, index / tree.rails)
                                    : fmt::format("leaf{}", index);
  if (index < tree.leaves + tree.pods) return fmt::format("spine{}", index - tree.leaves);
  return "core";
}

std::int64_t read_ratio(Section& section, std::string_view key, std::string_view meaning) {
  const double ratio = section.optional<double>(key, 1.0, meaning);
  if (ratio >= 1.0 && ratio <= 1000.0) return std::llround(ratio * static_cast<double>(kOne));
  section.error(key, fmt::format("{}: {} is out of range; expected 1 to 1000", key, ratio),
                "2 means that twice as much goes into a switch from below as leaves it above");
  return kOne;
}

}  // namespace

extern constinit const TopologyShape kFatTreeShape{kClasses,
                                                   switches<Leaves::kOfNeighbours>,
                                                   links<Leaves::kOfNeighbours>,
                                                   link<Leaves::kOfNeighbours>,
                                                   route<Leaves::kOfNeighbours>,
                                                   switch_name<Leaves::kOfNeighbours>};
extern constinit const TopologyShape kRailOptimisedShape{kClasses,
                                                         switches<Leaves::kOfRails>,
                                                         links<Leaves::kOfRails>,
                                                         link<Leaves::kOfRails>,
                                                         route<Leaves::kOfRails>,
                                                         switch_name<Leaves::kOfRails>};

void read_fat_tree(Section& section, MemberKind, TopologyOwn& own) {
  own.numbers[kLeafPorts] =
      section.required_integer("leaf_ports", {1, kMostPorts}, "members (of a rail: nodes) under a leaf switch");
  own.numbers[kPodLeaves] = section.optional_integer("pod_leaves", 0, {0, kMostPorts},
                                                     "leaf switches of a pod; 0: two levels, one spine over all");
  own.numbers[kLeafRatio] =
      read_ratio(section, "oversubscription", "what enters a leaf switch from its members over what leaves it above");
  own.numbers[kCoreRatio] = read_ratio(section, "core_oversubscription",
                                       "what enters a pod's spine from its leaves over what leaves it above");
  own.numbers[kTrunkLatency] =
      section.required<Duration>("trunk_latency", "of a link between two switches, with the switch it leads to")
          .count();
}

void read_rail_optimised(Section& section, MemberKind members, TopologyOwn& own) {
  read_fat_tree(section, members, own);
  if (members == MemberKind::kNic) return;  // as many rails as a node has NICs
  own.rails = static_cast<std::uint32_t>(
      section.required_integer("rails", {1, kMostPorts}, "devices of a node, each on a rail of its own"));
}

}  // namespace orrery
