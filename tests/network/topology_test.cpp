// SPDX-License-Identifier: MIT
#include "network/fabric/topology.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>
#include <string>

#include "tests/network/topology_examples.h"

using namespace orrery;
using namespace orrery::network;

namespace {

// Hops of a route that is as short as the topology allows, by a breadth-first search over its links: slow and obviously
// right.
std::vector<std::uint32_t> hops_from(const Topology& topology, const TopologyParameters& p, std::uint32_t start) {
  const std::uint32_t vertices = p.size + topology.shape->switches(p);
  std::vector<std::uint32_t> hops(vertices, UINT32_MAX);
  std::vector<std::uint32_t> frontier = {start};
  hops[start] = 0;
  while (!frontier.empty()) {
    std::vector<std::uint32_t> next;
    for (std::uint32_t i = 0; i < topology.shape->links(p); ++i) {
      const TopologyLink link = topology.shape->link(p, i);
      const bool leads_on = std::ranges::find(frontier, link.from) != frontier.end() && hops[link.to] == UINT32_MAX;
      if (!leads_on) continue;
      hops[link.to] = hops[link.from] + 1;
      next.push_back(link.to);
    }
    frontier = std::move(next);
  }
  return hops;
}

const Topology& named(std::string_view name) {
  const Topology* topology = topology_named(name);
  REQUIRE(topology != nullptr);
  return *topology;
}

}  // namespace

TEST_CASE("every topology: routes are contiguous, shortest, and add up to the latency per hop") {
  // An odd latency, so that halving it shows.
  const Bandwidth bandwidth(25'000'000'000);
  const Duration apart(700'001);
  for (const Topology& topology : topologies()) {
    for (const TopologyParameters& p : topology_examples(topology, bandwidth, apart)) {
      const bool written_out = topology.name == "edge-list";  // its links have their own figures
      INFO(topology.name << " of " << p.size);
      for (std::uint32_t from = 0; from < p.size; ++from) {
        const std::vector<std::uint32_t> shortest = hops_from(topology, p, from);
        for (std::uint32_t to = 0; to < p.size; ++to) {
          if (from == to) continue;
          std::uint32_t at = from;
          Duration latency{};
          Duration trunks{};
          std::uint32_t global = 0;
          const auto links = route(topology, p, from, to);
          for (const std::uint32_t i : links) {
            REQUIRE(i < topology.shape->links(p));
            const TopologyLink link = topology.shape->link(p, i);
            REQUIRE(link.from == at);
            const bool trunk = link.from >= p.size && link.to >= p.size;
            if (!trunk && !written_out) REQUIRE(link.bandwidth == bandwidth);
            if (trunk) trunks += link.latency;
            if (topology.name == "dragonfly" && link.link_class == 3) ++global;
            if (topology.switched && !written_out) REQUIRE((link.to >= p.size || link.to == to));
            at = link.to;
            latency += link.latency;
          }
          REQUIRE(at == to);
          // The direct way between two groups of a dragonfly may be longer than one through a third group.
          const bool direct = topology.name == "dragonfly" && global == 1;
          if (direct)
            REQUIRE((links.size() >= shortest[to] && links.size() <= 5));
          else
            REQUIRE(links.size() == shortest[to]);
          // Switches halve the latency on the two links of the members; elsewhere every hop has all of it.
          const auto hops = static_cast<std::int64_t>(topology.switched ? 1 : links.size());
          if (!written_out) REQUIRE(latency == apart * hops + trunks);
        }
      }
    }
  }
}

TEST_CASE("every topology: its links are distinct, of a named class, and join what exists") {
  for (const Topology& topology : topologies()) {
    for (const TopologyParameters& p : topology_examples(topology, Bandwidth(1'000), Duration(1))) {
      INFO(topology.name << " of " << p.size);
      const std::uint32_t switches = topology.shape->switches(p);
      const std::size_t classes = topology.shape->link_classes.empty() ? p.own.graph.spec().link_classes.size()
                                                                       : topology.shape->link_classes.size();
      std::set<std::pair<std::uint32_t, std::uint32_t>> ends;
      for (std::uint32_t i = 0; i < topology.shape->links(p); ++i) {
        const TopologyLink link = topology.shape->link(p, i);
        REQUIRE(link.from != link.to);
        REQUIRE(std::max(link.from, link.to) < p.size + switches);
        REQUIRE(link.link_class < classes);
        REQUIRE(link.bandwidth > Bandwidth(0));
        ends.insert({link.from, link.to});
      }
      REQUIRE(ends.size() == topology.shape->links(p));
      std::set<std::string> names;
      if (topology.shape->switch_name != nullptr)
        for (std::uint32_t i = 0; i < switches; ++i) names.insert(topology.shape->switch_name(p, i));
      if (topology.shape->switch_name != nullptr) REQUIRE(names.size() == switches);
    }
  }
}

TEST_CASE("every topology: the largest allowed size routes without wrapping around") {
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  const std::map<std::string_view, std::string> large = {
      {"butterfly", "ports: 16, stages: 6, trunk_latency: 1 ns"},
      {"dragonfly",
       "router_ports: 16, group_routers: 128, local_bandwidth: 1 GB/s, global_bandwidth: 1 GB/s, local_latency: 1 ns, "
       "global_latency: 1 ns"},
      {"fat-tree", "leaf_ports: 1, pod_leaves: 1, trunk_latency: 1 ns"},
      {"flattened-butterfly", "router_ports: 16, sizes: [1024, 1024], router_bandwidth: 1 GB/s, trunk_latency: 1 ns"},
      {"hypercube", "axes: 24"},
      {"mesh", "sizes: [4096, 4096]"},
      {"rail-optimised", "leaf_ports: 1, pod_leaves: 1, trunk_latency: 1 ns, rails: 8"},
      {"torus", "sizes: [2, 2, 2, 2, 1024, 1024]"},
  };
  for (const Topology& topology : topologies()) {
    if (topology.name == "edge-list") continue;  // no size to choose
    TopologyParameters p{topology.most, Bandwidth(1), Duration(1)};
    if (topology.read != nullptr) p = topology_example(topology, large.at(topology.name), topology.most);
    INFO(topology.name << " of " << p.size);
    REQUIRE(topology.shape->links(p) <= UINT32_MAX);
    for (int i = 0; i < 20; ++i) {
      // Near each other around the end of the numbering, so that a ring's route stays short.
      const std::uint32_t from = (p.size - 10 + below(20)) % p.size;
      const std::uint32_t to = (p.size - 10 + below(20)) % p.size;
      if (from == to) continue;
      std::uint32_t at = from;
      for (const std::uint32_t link : route(topology, p, from, to)) {
        REQUIRE(topology.shape->link(p, link).from == at);
        at = topology.shape->link(p, link).to;
      }
      REQUIRE(at == to);
    }
  }
}

TEST_CASE("link counts are those of the textbook") {
  const auto links = [](std::string_view name, std::uint32_t size) {
    return named(name).shape->links({size, Bandwidth(1), Duration(0)});
  };
  CHECK(links("switch", 1) == 2);  // a port is a port, even alone
  CHECK(links("switch", 8) == 16);
  CHECK(links("ring", 1) == 0);
  CHECK(links("ring", 2) == 2);  // not four: the neighbour on both sides is the same one
  CHECK(links("ring", 8) == 16);
  CHECK(links("fully-connected", 1) == 0);
  CHECK(links("fully-connected", 8) == 56);
}

TEST_CASE("a ring goes the shortest way, and up where both ways are equally long") {
  const TopologyParameters p{6, Bandwidth(1), Duration(1)};
  const Topology& ring = named("ring");
  CHECK(route(ring, p, 5, 1) == std::vector<std::uint32_t>{5, 0});      // up over the end
  CHECK(route(ring, p, 1, 5) == std::vector<std::uint32_t>{6 + 1, 6});  // down over the end
  CHECK(route(ring, p, 2, 5) == std::vector<std::uint32_t>{2, 3, 4});   // 3 either way: up
}

TEST_CASE("a hypercube puts bits right from the lowest, over links of its members in the order of the bits") {
  TopologyParameters p{8, Bandwidth(1), Duration(1)};
  p.own.sizes = {2, 2, 2};
  const Topology& cube = named("hypercube");
  CHECK(cube.shape->links(p) == 24);
  CHECK(route(cube, p, 0, 7) == std::vector<std::uint32_t>{0, 3 * 1 + 1, 3 * 3 + 2});
  CHECK(route(cube, p, 6, 2) == std::vector<std::uint32_t>{3 * 6 + 2});
  CHECK(route(cube, p, 5, 6) == std::vector<std::uint32_t>{3 * 5, 3 * 4 + 1});
}

TEST_CASE("a butterfly replaces digits from the highest, one in each stage") {
  TopologyParameters p{9, Bandwidth(1), Duration(5)};
  p.own.fly = {3, 2};
  p.own.tree.trunk_latency = Duration(7);
  const Topology& fly = named("butterfly");
  CHECK(fly.shape->links(p) == 27);
  CHECK(fly.shape->switches(p) == 6);
  // 5 is 12 in threes, 7 is 21: wire 5, then 22 = 8, then 21 = 7.
  CHECK(route(fly, p, 5, 7) == std::vector<std::uint32_t>{5, 9 + 8, 18 + 7});
  CHECK(fly.shape->link(p, 5).to == 9 + 2);  // switch 2 of the first stage takes 2, 5 and 8,
  CHECK(fly.shape->link(p, 9 + 8).from == 9 + 2);
  CHECK(fly.shape->link(p, 9 + 8).to == 9 + 3 + 2);  // the last of the second 6, 7 and 8
  CHECK(fly.shape->link(p, 18 + 7).from == 9 + 3 + 2);
  CHECK(fly.shape->link(p, 18 + 7).to == 7);
  CHECK(fly.shape->link(p, 5).latency + fly.shape->link(p, 17).latency + fly.shape->link(p, 25).latency ==
        Duration(12));
}

TEST_CASE("a flattened butterfly takes one hop along each axis, the first first") {
  TopologyParameters p{24, Bandwidth(1), Duration(5)};
  p.own.sizes = {3, 4};
  p.own.groups.router_ports = 2;
  p.own.groups.local_bandwidth = Bandwidth(9);
  const Topology& flat = named("flattened-butterfly");
  CHECK(flat.shape->switches(p) == 12);
  CHECK(flat.shape->links(p) == 2 * 24 + 12 * (2 + 3));
  // Member 3 is on router 1, at (1, 0); member 22 on router 11, at (2, 3): over router 2.
  CHECK(route(flat, p, 3, 22) == std::vector<std::uint32_t>{3, 48 + 5 * 1 + 1, 48 + 5 * 2 + 2 + 2, 24 + 22});
  CHECK(flat.shape->link(p, 48 + 5 * 1 + 1).to == 24 + 2);
  CHECK(flat.shape->link(p, 48 + 5 * 2 + 4).to == 24 + 11);
  CHECK(flat.shape->link(p, 48 + 5 * 2 + 4).bandwidth == Bandwidth(9));
  CHECK(route(flat, p, 2, 3) == std::vector<std::uint32_t>{2, 24 + 3});
  CHECK(flat.shape->switch_name(p, 11) == "router2-3");
}

TEST_CASE("topologies are found by name, hyphen or underscore") {
  CHECK(topology_named("fully_connected") == topology_named("fully-connected"));
  CHECK(topology_named("fully-connected") != nullptr);
  CHECK(topology_named("Ring") == nullptr);
  CHECK(topology_named("") == nullptr);
  CHECK(switched_topology_names() == std::vector<std::string>{"butterfly", "dragonfly", "edge-list", "fat-tree",
                                                              "flattened-butterfly", "rail-optimised", "switch"});
}
