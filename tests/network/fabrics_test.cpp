// SPDX-License-Identifier: MIT
// Real fabrics against hand-counted hops and bottlenecks.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "network/fabric/cluster.h"
#include "tests/network/config/read_cluster_text.h"
#include "tests/network/fabric_ways.h"
#include "tests/network/topology_examples.h"

using namespace orrery;
using namespace orrery::network;

namespace {

// Two sockets, a PCIe switch and a NIC on each, two GPUs on each switch, a bridge between GPU 1 and GPU 2.
const std::string kTree =
    "devices: 4, device: {name: x}, nics: {count: 2, bandwidth: 100 Gb/s}, links: ["
    "{from: gpu0, to: plx0, bandwidth: 16 GB/s, latency: 100 ns, class: pcie},"
    "{from: gpu1, to: plx0, bandwidth: 16 GB/s, latency: 100 ns, class: pcie},"
    "{from: nic0, to: plx0, bandwidth: 16 GB/s, latency: 100 ns, class: pcie},"
    "{from: gpu2, to: plx1, bandwidth: 16 GB/s, latency: 100 ns, class: pcie},"
    "{from: gpu3, to: plx1, bandwidth: 16 GB/s, latency: 100 ns, class: pcie},"
    "{from: nic1, to: plx1, bandwidth: 16 GB/s, latency: 100 ns, class: pcie},"
    "{from: plx0, to: cpu0, bandwidth: 14 GB/s, latency: 150 ns, class: pcie},"
    "{from: plx1, to: cpu1, bandwidth: 14 GB/s, latency: 150 ns, class: pcie},"
    "{from: cpu0, to: cpu1, bandwidth: 5 GB/s, latency: 200 ns, count: 2, class: upi},"
    "{from: gpu1, to: gpu2, bandwidth: 25 GB/s, latency: 50 ns, count: 2, class: nvlink}]";

std::string tree(const std::string& nodes = "1") {
  return "nodes: " + nodes + "\ncluster: {node: {" + kTree + "}, scale_out: {topology: switch, latency: 600 ns}}\n";
}

}  // namespace

TEST_CASE("a PCIe tree: routes climb as far as they must, and a bridge between GPUs is no way for others") {
  const Fabric fabric = fabric_of(tree());
  CHECK(way(fabric, 0, 1).through == "node0.plx0 node0.gpu1 ");
  CHECK(way(fabric, 1, 2).through == "node0.gpu2 ");
  CHECK(way(fabric, 1, 2).narrowest == gb(50));  // two links of 25
  // Over the bridge GPU 0 would reach GPU 3 in 5 hops (plx0 gpu1 gpu2 plx1 gpu3), as over the sockets (plx0 cpu0 cpu1
  // plx1 gpu3), and GPU 2 in 3 instead of 5; but GPU 1 passes nothing on from a switch.
  CHECK(way(fabric, 0, 2).through == "node0.plx0 node0.cpu0 node0.cpu1 node0.plx1 node0.gpu2 ");
  CHECK(way(fabric, 0, 2).narrowest == gb(10));  // two of 5 between the sockets
  CHECK(way(fabric, 0, 2).latency == Duration(2 * 100'000 + 2 * 150'000 + 200'000));
}

TEST_CASE("devices leave a node through the nearest NIC, or the one they are told") {
  const Fabric fabric = fabric_of(tree("2"));
  CHECK(way(fabric, 3, 4).through == "node0.plx1 node0.nic1 switch0 node1.nic0 node1.plx0 node1.gpu0 ");
  CHECK(way(fabric, 3, 4).narrowest == Bandwidth(12'500'000'000));
  CHECK(way(fabric, 3, 4).latency == Duration(4 * 100'000 + 600'000));
  const Fabric told = std::move(*read_cluster_text(tree("2"), {"cluster.node.nics.of=[0, 0, 0, 0]"}).fabric);
  CHECK(way(told, 3, 4).through ==
        "node0.plx1 node0.cpu1 node0.cpu0 node0.plx0 node0.nic0 switch0 node1.nic0 node1.plx0 node1.gpu0 ");
}

TEST_CASE("a NIC that nobody uses is pointed out") {
  // Two NICs on one switch: the lower is as near.
  const std::string links =
      "{from: gpu0, to: plx, bandwidth: 1 GB/s, latency: 0 ns}, {from: nic0, to: plx, bandwidth: 1 GB/s, latency: 0 "
      "ns}, {from: nic1, to: plx, bandwidth: 1 GB/s, latency: 0 ns}";
  const ReadCluster read = read_cluster_text(
      "cluster: {node: {device: {name: x}, devices: 1, nics: {count: 2, "
      "bandwidth: 1 GB/s}, links: [" +
      links + "]}}\n");
  CHECK(read.fabric.has_value());
  CHECK(read.errors.find("warning: no device uses nic1\n  hint: say with `nics.of`") != std::string::npos);
}

TEST_CASE("the widest of the shortest routes is taken, then the lowest vertex") {
  // From 0 to 1 over a (10, then 30), over b (20 and 20), over c (20 and 20): b.
  const Fabric fabric = fabric_of(
      "cluster: {device: {name: x}, dims: [{topology: edge-list, links: ["
      "{from: gpu0, to: a, bandwidth: 10 GB/s, latency: 0 ns}, {from: a, to: gpu1, bandwidth: 30 GB/s, latency: 0 ns},"
      "{from: gpu0, to: b, bandwidth: 20 GB/s, latency: 0 ns}, {from: b, to: gpu1, bandwidth: 20 GB/s, latency: 0 ns},"
      "{from: gpu0, to: c, bandwidth: 20 GB/s, latency: 0 ns}, {from: c, to: gpu1, bandwidth: 20 GB/s, latency: 0 ns}"
      "]}]}\n");
  CHECK(way(fabric, 0, 1).through == "dim0.0.b gpu1 ");
  CHECK(way(fabric, 0, 1).narrowest == gb(20));
}

TEST_CASE("a fat-tree: two hops under a leaf, four under a spine, six over the core; trunks carry what they should") {
  const std::string text =
      "nodes: 16\ncluster: {node: {device: {name: x}, devices: 1, fabric: {topology: switch, bandwidth: 1 GB/s, "
      "latency: 0 ns}, nics: {count: 1, bandwidth: 10 GB/s, host_bandwidth: 20 GB/s, host_latency: 0 ns}},"
      " scale_out: {topology: fat-tree, latency: 600 ns, leaf_ports: 4, oversubscription: 8, pod_leaves: 2,"
      " core_oversubscription: 2, trunk_latency: 300 ns}}\n";
  const Fabric fabric = fabric_of(text);
  CHECK(way(fabric, 0, 3).through == "node0.nic0 leaf0 node3.nic0 node3.gpu0 ");
  CHECK(way(fabric, 0, 3).narrowest == gb(10));
  CHECK(way(fabric, 0, 4).through == "node0.nic0 leaf0 spine0 leaf1 node4.nic0 node4.gpu0 ");
  CHECK(way(fabric, 0, 4).narrowest == gb(5));  // 4 ports of 10 over 8
  CHECK(way(fabric, 0, 8).through == "node0.nic0 leaf0 spine0 core spine1 leaf2 node8.nic0 node8.gpu0 ");
  CHECK(way(fabric, 0, 8).latency == Duration(600'000 + 4 * 300'000));
  // Two leaves of 5 each over 2: no narrower than a leaf's own.
  CHECK(way(fabric, 0, 8).narrowest == gb(5));
  // 16 up and down, 4 leaves, 2 pods.
  std::uint32_t trunks = 0;
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i)
    trunks += fabric.link_classes()[fabric.link(LinkId(i)).link_class].find("leaf-") != std::string::npos ? 1U : 0U;
  CHECK(trunks == 2 * 4);
}

TEST_CASE("rails: equal NICs of two nodes meet at their rail's switch, different ones at the spine") {
  const std::string text =
      "nodes: 4\ncluster: {node: {device: {name: x}, devices: 2, fabric: {topology: switch, bandwidth: 100 GB/s, "
      "latency: 0 ns}, nics: {count: 2, bandwidth: 10 GB/s, host_bandwidth: 20 GB/s, host_latency: 0 ns}},"
      " scale_out: {topology: rail-optimised, latency: 600 ns, leaf_ports: 2, oversubscription: 2,"
      " trunk_latency: 300 ns}}\n";
  const Fabric fabric = fabric_of(text);
  // GPU 1 of node 0 and GPU 1 of node 1: rail 1, the first two nodes.
  CHECK(way(fabric, 1, 3).through == "node0.nic1 rail1.leaf0 node1.nic1 node1.gpu1 ");
  CHECK(way(fabric, 1, 2).through == "node0.nic1 rail1.leaf0 spine0 rail0.leaf0 node1.nic0 node1.gpu0 ");
  CHECK(way(fabric, 1, 5).through == "node0.nic1 rail1.leaf0 spine0 rail1.leaf1 node2.nic1 node2.gpu1 ");
  CHECK(way(fabric, 1, 2).narrowest == gb(10));  // a trunk of 2 x 10 / 2
}

TEST_CASE("a million devices under rails cost four bytes a link") {
  ClusterSpec spec;
  spec.node.devices = 8;
  spec.node.fabric = {topology_named("switch"), gb(300), Duration(700'000), "nvlink"};
  spec.node.nics = NicSpec{8, gb(25), gb(31), Duration(500'000)};
  spec.nodes = 131'072;
  const Topology& rails = *topology_named("rail-optimised");
  spec.scale_out = ScaleOutSpec{
      &rails, Duration(600'000),
      topology_example(rails, "leaf_ports: 32, pod_leaves: 64, trunk_latency: 300 ns", 8, MemberKind::kNic).own};
  const Fabric fabric = build_cluster(spec);
  // Six links a device; 131,072 / 32 * 8 leaf switches and 1/64 as many pods, with two trunks each.
  const std::size_t links = 6 * (std::size_t{1} << 20) + 2 * (32'768 + 512);
  REQUIRE(fabric.link_count() == links);
  CHECK(fabric.memory_bytes() <= 4 * links + 32 * sizeof(Link));
  CHECK(way(fabric, 3, (1U << 20) - 5).hops == 8);  // host, NIC, leaf, core and back: both on rail 3
}

TEST_CASE("a dragonfly: at most one hop in each group and one between") {
  const Topology& dragonfly = *topology_named("dragonfly");
  // 3 groups of 2 routers of 2 members. Group 0 has its link to group 1 on router 0, to group 2 on router 1; group 2
  // has its link to group 0 on router 0, to group 1 on router 1.
  const TopologyParameters p = topology_example(
      dragonfly,
      "router_ports: 2, group_routers: 2, local_bandwidth: 3 GB/s, global_bandwidth: 2 GB/s, local_latency: 10 ns, "
      "global_latency: 100 ns",
      12);
  const auto routers = [&](std::uint32_t from, std::uint32_t to) {
    std::vector<LinkId> links;
    RouteBuilder builder{0, links};
    dragonfly.shape->route(p, from, to, builder);
    std::string names;
    for (const LinkId link : links) {
      const std::uint32_t vertex = dragonfly.shape->link(p, index_of(link)).to;
      if (vertex >= 12) names += dragonfly.shape->switch_name(p, vertex - 12) + " ";
    }
    return names;
  };
  CHECK(routers(0, 1) == "group0.router0 ");
  CHECK(routers(0, 2) == "group0.router0 group0.router1 ");
  CHECK(routers(0, 4) == "group0.router0 group1.router0 ");
  CHECK(routers(0, 10) == "group0.router0 group0.router1 group2.router0 group2.router1 ");
  // 24 of members, 3 groups of 2, 3 groups to 2 others.
  CHECK(dragonfly.shape->links(p) == 24 + 6 + 6);
}

TEST_CASE("a torus goes the shortest way along each axis in turn; a mesh has no way round") {
  const auto dims = [](const std::string& topology, const std::string& sizes) {
    return fabric_of("cluster: {device: {name: x}, dims: [{topology: " + topology + ", sizes: " + sizes +
                     ", bandwidth: 50 GB/s, latency: 1 us}]}\n");
  };
  const Fabric torus = dims("torus", "[4, 4, 4]");
  CHECK(torus.device_count() == 64);
  CHECK(torus.link_count() == 64 * 6);
  // (0,0,0) to (3,2,1): one down, two up, one up.
  CHECK(way(torus, 0, 3 + 2 * 4 + 16).through == "gpu3 gpu7 gpu11 gpu27 ");
  const Fabric mesh = dims("mesh", "[4, 3]");
  CHECK(mesh.link_count() == 2 * (3 * 3 + 4 * 2));
  CHECK(way(mesh, 0, 3).through == "gpu1 gpu2 gpu3 ");
  CHECK(way(mesh, 11, 0).through == "gpu10 gpu9 gpu8 gpu4 gpu0 ");
  CHECK(dims("torus", "[2, 2]").link_count() == 8);  // an axis of two has one link each way
}

TEST_CASE("an edge list joins the NICs of nodes, and says when it is written for another number") {
  const auto text = [](const std::string& nodes) {
    return "nodes: " + nodes +
           "\ncluster: {node: {device: {name: x}, devices: 1, fabric: {topology: switch, bandwidth: 1 GB/s, latency: "
           "0 ns}, nics: {count: 1, bandwidth: 10 GB/s, host_bandwidth: 20 GB/s, host_latency: 0 ns}}, scale_out: "
           "{topology: edge-list, links: [{from: nic0, to: tor, bandwidth: 10 GB/s, latency: 1 us}, "
           "{from: nic1, to: tor, bandwidth: 5 GB/s, latency: 1 us}]}}\n";
  };
  const Fabric fabric = fabric_of(text("2"));
  CHECK(way(fabric, 0, 1).through == "node0.nic0 tor node1.nic0 node1.gpu0 ");
  CHECK(way(fabric, 0, 1).narrowest == gb(5));
  CHECK(read_cluster_text(text("3")).errors ==
        "x.yaml:1:8: error: 3 nodes: 3 members, but the edge-list is written for 2\n");
}
