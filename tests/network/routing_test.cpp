// SPDX-License-Identifier: MIT
#include "network/fabric/routed_graph.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "network/fabric/compose.h"
#include "network/flow/flow.h"
#include "tests/network/fabric_ways.h"
#include "tests/network/flow/probe.h"
#include "tests/network/topology_examples.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::test;

namespace {

constexpr Routing kSpray{};
constexpr Routing kDeterministic{RoutingKind::kDeterministic, 0};
constexpr Routing kEcmp{RoutingKind::kEcmp, 0};

// 20 members under 5 leaves of 4, each with 4 links up.
DimensionSpec fat_tree() {
  const Topology& topology = *topology_named("fat-tree");
  return {&topology,         20,    gb(10),
          Duration(600'000), "net", topology_example(topology, "leaf_ports: 4, trunk_latency: 300 ns", 20).own};
}

// Which of its leaf's links up a message takes.
std::uint32_t uplink(const Fabric& fabric, std::uint32_t from, std::uint32_t to) {
  std::vector<LinkId> links;
  fabric.route(DeviceId(from), DeviceId(to), links);
  REQUIRE(links.size() == 4);
  REQUIRE(fabric.link_classes()[fabric.link(links[1]).link_class] == "net.leaf-up");
  return index_of(links[1]) - 2 * fabric.device_count() - from / 4 * 4;
}

}  // namespace

TEST_CASE("hops between two members are the links on the route between them") {
  const RoutedGraph graph(GraphSpec{.devices = 2,
                                    .nics = 1,
                                    .vertices = {"gpu0", "gpu1", "nic0", "hub"},
                                    .link_classes = {"link"},
                                    .links = {{.from = 0, .to = 1}, {.from = 0, .to = 3}, {.from = 3, .to = 2}}});
  const auto links = [&](std::uint32_t from, std::uint32_t to) {
    std::uint32_t count = 0;
    graph.route(from, to, [&](std::uint32_t) { ++count; });
    return count;
  };
  CHECK(links(0, 1) == 1);
  CHECK(links(0, 2) == 2);
  CHECK(graph.hops(0, 1) == 1);
  CHECK(graph.hops(0, 2) == 2);
}

TEST_CASE("deterministic: choices are the digits of the destination") {
  RouteChoices choices = kDeterministic.choices({3, 5}, 37);
  CHECK(choices.take(4) == 1);  // 37 = 1 + 4 * 9
  CHECK(choices.take(1) == 0);
  CHECK(choices.take(6) == 3);  // 9 = 3 + 6 * 1
  CHECK(choices.take(2) == 1);
  CHECK(choices.take(2) == 0);
}

TEST_CASE("deterministic: what goes to member d takes up-link d mod k, wherever it comes from") {
  const Fabric fabric = compose(std::vector<DimensionSpec>{fat_tree()}, kDeterministic);
  // 20 members and 5 leaves of 4 links, both ways; a spine switch for each up-link.
  CHECK(fabric.link_count() == 2 * (20 + 5 * 4));
  CHECK(fabric.vertex_count() == 20 + 5 + 4);
  for (std::uint32_t from = 0; from < 20; ++from)
    for (std::uint32_t to = 0; to < 20; ++to)
      if (from / 4 != to / 4) CHECK(uplink(fabric, from, to) == to % 4);
  CHECK(way(fabric, 1, 18).through == "net.0.leaf0 net.0.pod0.spine2 net.0.leaf4 gpu18 ");
}

TEST_CASE("deterministic over three levels: d mod k to the spine, (d / k) mod m to the core") {
  const Topology& topology = *topology_named("fat-tree");
  // 2 under a leaf, 2 leaves a pod, 2 links up everywhere: 4 pods of 4. To 13 = 1 + 2 * (0 + 2 * 3): spine 1, core 0 of
  // its plane, which is core 2 of 4. To 14 = 0 + 2 * (1 + 2 * 3): spine 0, core 1.
  const DimensionSpec spec{
      &topology,     16,    gb(10),
      Duration(600), "net", topology_example(topology, "leaf_ports: 2, pod_leaves: 2, trunk_latency: 300 ns", 16).own};
  const Fabric fabric = compose(std::vector<DimensionSpec>{spec}, kDeterministic);
  CHECK(way(fabric, 0, 13).through == "net.0.leaf0 net.0.pod0.spine1 net.0.core2 net.0.pod3.spine1 net.0.leaf6 gpu13 ");
  CHECK(way(fabric, 5, 14).through == "net.0.leaf2 net.0.pod1.spine0 net.0.core1 net.0.pod3.spine0 net.0.leaf7 gpu14 ");
  CHECK(way(fabric, 0, 13).narrowest == gb(10));
}

TEST_CASE("rails: the members of a leaf have up-links of their own") {
  const Topology& topology = *topology_named("rail-optimised");
  // 8 rails of 4 nodes, 2 under a leaf. To the 8 first nodes' NICs of rail 3, from rail 3 of a later node: counted node
  // by node they are 3 and 11, both 1 modulo 2; counted leaf by leaf they differ.
  TopologyParameters p = topology_example(topology, "leaf_ports: 2, trunk_latency: 300 ns, rails: 8", 32);
  p.bandwidth = gb(10);
  p.routing = kDeterministic;
  const std::uint32_t from = 2 * 8 + 3;
  CHECK(route(topology, p, from, 3)[1] != route(topology, p, from, 8 + 3)[1]);
}

TEST_CASE("with k up-links, flows to destinations that are equal modulo k get k times as much under spray") {
  // Members 0 to 3 send to 4, 8, 12 and 16. Spray: each at the 10 GB/s of its own link, 1 ms for 10 MB. Deterministic:
  // all four over up-link 0 of 10 GB/s, 2.5 GB/s each.
  const auto time = [](const Routing& routing) {
    Probe<FlowNetwork> probe(compose(std::vector<DimensionSpec>{fat_tree()}, routing));
    probe.at(0, [&] {
      for (std::uint32_t i = 0; i < 4; ++i) probe.send(i, 4 * (i + 1), 10'000'000, i);
    });
    probe.run();
    for (std::uint32_t i = 1; i < 4; ++i) CHECK(probe.released(i) == probe.released(0));
    return probe.released(0);
  };
  CHECK(time(kSpray) == 1'000'000'000);
  CHECK(time(kDeterministic) == 4'000'000'000);
}

TEST_CASE("ecmp: a pair of devices and a seed have the same choices in every release") {
  const auto first_three = [](const Endpoints& ends, std::uint64_t seed) {
    RouteChoices choices = Routing{RoutingKind::kEcmp, seed}.choices(ends, 0);
    return std::vector<std::uint32_t>{choices.take(1000), choices.take(1000), choices.take(1000)};
  };
  CHECK(first_three({3, 5}, 0) == std::vector<std::uint32_t>{703, 647, 17});
  CHECK(first_three({5, 3}, 0) == std::vector<std::uint32_t>{803, 489, 588});
  CHECK(first_three({3, 5}, 7) == std::vector<std::uint32_t>{171, 841, 927});
}

TEST_CASE("ecmp spreads pairs evenly, and sends each pair one way only") {
  // 64 members under each of two leaves, 16 links up. Each of the 64 * 64 pairs falls on a link with probability 1/16:
  // 256 expected, with a standard deviation of sqrt(4096 * 1/16 * 15/16) = 15.5. That one of 16 is further off than
  // five of these has a probability below 16 * 6e-7 = 1e-5; 75 is less than five.
  const Topology& topology = *topology_named("fat-tree");
  TopologyParameters p = topology_example(topology, "leaf_ports: 64, uplinks: 16, trunk_latency: 1 ns", 128);
  for (const std::uint64_t seed : {0U, 1U, 12345U}) {
    p.routing = {RoutingKind::kEcmp, seed};
    std::vector<int> pairs(16, 0);
    for (std::uint32_t from = 0; from < 64; ++from) {
      for (std::uint32_t to = 64; to < 128; ++to) {
        const auto links = route(topology, p, from, to);
        ++pairs.at(links[1] - 2 * p.size);
        REQUIRE(route(topology, p, from, to) == links);
        // The way down is from the same spine switch.
        REQUIRE(topology.shape->link(p, links[1]).to == topology.shape->link(p, links[2]).from);
      }
    }
    for (const int count : pairs) CHECK(std::abs(count - 256) <= 75);
  }
}

TEST_CASE("ecmp: another seed is another hash, and both ways between a pair are hashed apart") {
  const Topology& topology = *topology_named("fat-tree");
  TopologyParameters p = topology_example(topology, "leaf_ports: 64, uplinks: 16, trunk_latency: 1 ns", 128);
  p.routing = kEcmp;
  TopologyParameters q = p;
  q.routing.seed = 1;
  int as_before = 0;
  int as_back = 0;
  for (std::uint32_t from = 0; from < 64; ++from) {
    for (std::uint32_t to = 64; to < 128; ++to) {
      const auto spine = [&](const TopologyParameters& of, std::uint32_t a, std::uint32_t b) {
        return topology.shape->link(of, route(topology, of, a, b)[1]).to;
      };
      as_before += spine(p, from, to) == spine(q, from, to) ? 1 : 0;
      as_back += spine(p, from, to) == spine(p, to, from) ? 1 : 0;
    }
  }
  // Independent choices agree for 256 of 4,096 pairs, with the standard deviation above.
  CHECK(std::abs(as_before - 256) <= 75);
  CHECK(std::abs(as_back - 256) <= 75);
}

TEST_CASE("ecmp over three levels: the choice of the core says nothing about that of the spine") {
  // 4 pods of 4 members, 2 links up everywhere: 16 * 12 = 192 pairs between pods over 4 core switches, two of each
  // plane. 48 expected, with a standard deviation of sqrt(192 * 1/4 * 3/4) = 6: 30 is five of these. Were both choices
  // one, two of the four would have none.
  const Topology& topology = *topology_named("fat-tree");
  TopologyParameters p = topology_example(topology, "leaf_ports: 2, pod_leaves: 2, trunk_latency: 1 ns", 16);
  p.routing = kEcmp;
  std::map<std::uint32_t, int> pairs;
  for (std::uint32_t from = 0; from < 16; ++from)
    for (std::uint32_t to = 0; to < 16; ++to)
      if (from / 4 != to / 4) ++pairs[topology.shape->link(p, route(topology, p, from, to).at(2)).to];
  CHECK(pairs.size() == 4);
  for (const auto& [core, count] : pairs) CHECK(std::abs(count - 48) <= 30);
}

TEST_CASE("dragonfly: parallel links between groups are one trunk, or one for each destination in turn") {
  const std::string text =
      "cluster: {device: {name: x}, dims: [{topology: dragonfly, size: 12, bandwidth: 9 GB/s, latency: 0 ns, "
      "router_ports: 2, group_routers: 2, local_bandwidth: 3 GB/s, global_bandwidth: 6 GB/s, global_links: 3, "
      "local_latency: 0 ns, global_latency: 0 ns}]}\n";
  const Fabric sprayed = fabric_of(text);
  const Fabric fabric = fabric_of(text, kDeterministic);
  // Between 3 groups: 6 directed trunks, of 3 links.
  CHECK(fabric.link_count() == sprayed.link_count() + 2 * 6);
  CHECK(way(sprayed, 0, 4).narrowest == gb(6));
  CHECK(way(fabric, 0, 4).narrowest == gb(2));
  std::vector<LinkId> one;
  std::vector<LinkId> other;
  fabric.route(DeviceId(0), DeviceId(4), one);
  fabric.route(DeviceId(1), DeviceId(7), other);
  CHECK(one[1] == other[1]);  // 4 and 7 are both 1 modulo 3
  fabric.route(DeviceId(1), DeviceId(5), other);
  CHECK(one[1] != other[1]);
}

TEST_CASE("edge list: equal shortest routes and the links of trunks are told apart") {
  // Between leaves a and b: two links over s0, one over s1, each of 10 GB/s; the trunk of s0 is the widest and the only
  // way under spray, so only its links are equal. With both spines alike, there are four ways.
  const auto text = [](const std::string& s1) {
    return "cluster: {device: {name: x}, dims: [{topology: edge-list, name: net, links: ["
           "{from: gpu0, to: a, bandwidth: 40 GB/s, latency: 0 ns}, {from: gpu1, to: b, bandwidth: 40 GB/s, latency: 0 "
           "ns}, {from: gpu2, to: b, bandwidth: 40 GB/s, latency: 0 ns}, {from: gpu3, to: b, bandwidth: 40 GB/s, "
           "latency: 0 ns}, {from: gpu4, to: b, bandwidth: 40 GB/s, latency: 0 ns}, "
           "{from: a, to: s0, bandwidth: 10 GB/s, latency: 0 ns, count: 2}, {from: s0, to: b, bandwidth: 20 GB/s, "
           "latency: 0 ns}, {from: a, to: s1, bandwidth: 10 GB/s, latency: 0 ns" +
           s1 + "}, {from: s1, to: b, bandwidth: 20 GB/s, latency: 0 ns}]}]}\n";
  };
  const auto ways = [](const Fabric& fabric) {
    std::vector<std::pair<std::string, std::uint32_t>> found;
    for (std::uint32_t to = 1; to <= 4; ++to) {
      std::vector<LinkId> links;
      fabric.route(DeviceId(0), DeviceId(to), links);
      found.emplace_back(fabric.vertex_name(fabric.ends(links.at(1)).to), index_of(links[1]));
    }
    return found;
  };
  const auto narrow = ways(fabric_of(text(""), kDeterministic));
  for (const auto& [spine, link] : narrow) CHECK(spine == "net.0.s0");
  CHECK(narrow[0].second == narrow[2].second);  // destinations 1 and 3, of two links
  CHECK(narrow[0].second != narrow[1].second);
  const auto wide = ways(fabric_of(text(", count: 2"), kDeterministic));
  CHECK(wide[0].first == "net.0.s0");  // destination 1: link 1 of four
  CHECK(wide[1].first == "net.0.s1");
  CHECK(wide[2].first == "net.0.s1");
  CHECK(wide[3].first == "net.0.s0");  // destination 4: link 0
  CHECK(way(fabric_of(text("")), 0, 1).narrowest == gb(20));
  CHECK(way(fabric_of(text(""), kDeterministic), 0, 1).narrowest == gb(10));
  CHECK(way(fabric_of(text(""), kEcmp), 0, 1).narrowest == gb(10));
}

TEST_CASE("inside a node NVLink and PCIe stripe under every routing; between nodes each pair of devices is hashed") {
  const auto text = [](const std::string& node, const std::string& scale_out) {
    return "nodes: 8\ncluster: {node: " + node + ", scale_out: " + scale_out + "}\n";
  };
  const std::string tree = "{topology: fat-tree, latency: 600 ns, leaf_ports: 4, trunk_latency: 300 ns}";
  const Fabric sprayed = fabric_of(text("dgx-1v", tree));
  const Fabric hashed = fabric_of(text("dgx-1v", tree), kEcmp);
  for (std::uint32_t from = 0; from < 8; ++from)
    for (std::uint32_t to = 0; to < 8; ++to) CHECK(way(hashed, from, to).through == way(sprayed, from, to).through);
  CHECK(way(hashed, 0, 3).narrowest == gb(40));  // two links of 25, of which messages get 20 each
  // Eight devices share the one NIC of an RTX 4090 node: 64 pairs between two nodes, over four links up. That one of
  // four gets none has a probability of 4 * (3/4)^64 < 1e-7.
  const Fabric shared = fabric_of(text("rtx4090-pcie", tree), kEcmp);
  std::map<std::string, int> spines;
  for (std::uint32_t from = 0; from < 8; ++from)
    for (std::uint32_t to = 0; to < 8; ++to) {
      const std::string through = way(shared, from, 4 * 8 + to).through;
      const std::size_t at = through.find("pod0.spine");
      REQUIRE(at != std::string::npos);
      ++spines[through.substr(at, 11)];
    }
  CHECK(spines.size() == 4);
}
