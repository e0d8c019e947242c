// Real fabrics against hand-counted hops and bottlenecks.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "network/cluster.h"
#include "network/read_cluster_text.h"
#include "network/topology_examples.h"

using namespace orrery;

namespace {

struct Way {
  std::string through;  // names of the vertices after the first
  std::size_t hops = 0;
  Bandwidth narrowest = Bandwidth::max();
  Duration latency{};
};

Way way(const Fabric& fabric, std::uint32_t from, std::uint32_t to) {
  std::vector<LinkId> links;
  fabric.route(DeviceId(from), DeviceId(to), links);
  Way way;
  VertexId at{from};
  for (const LinkId id : links) {
    REQUIRE(fabric.ends(id).from == at);
    at = fabric.ends(id).to;
    way.through += fabric.vertex_name(at) + " ";
    way.narrowest = std::min(way.narrowest, fabric.link(id).bandwidth);
    way.latency += fabric.link(id).latency;
  }
  REQUIRE(at == VertexId(to));
  way.hops = links.size();
  return way;
}

Fabric fabric_of(const std::string& text) {
  ReadCluster read = read_cluster_text(text);
  INFO(text);
  REQUIRE(read.errors == "");
  return std::move(*read.fabric);
}

constexpr Bandwidth gb(std::int64_t gigabytes) { return Bandwidth(gigabytes * 1'000'000'000); }

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

TEST_CASE("the shipped DGX-1 V100 is the hybrid cube mesh: six links a GPU, two hops at most") {
  const Fabric fabric = fabric_of("cluster: dgx-1v\nnodes: 2\n");
  // Row 0 of its matrix: NV1 NV1 NV2 NV2 to GPUs 1 to 4; to 5, 6, 7 through a neighbour of both.
  const std::int64_t row[] = {25, 25, 50, 50};
  for (std::uint32_t to = 1; to <= 4; ++to) {
    CHECK(way(fabric, 0, to).hops == 1);
    CHECK(way(fabric, 0, to).narrowest == gb(row[to - 1]));
  }
  // 0 to 5: over 1 (1 link, then 2) or over 4 (2, then 1): 25 GB/s either way, so the lower. 0 to 6: over 2 or 4, 25
  // each. 0 to 7: over 4 (2 and 2), wider than over 3 (2 and 1).
  CHECK(way(fabric, 0, 5).through == "node0.gpu1 node0.gpu5 ");
  CHECK(way(fabric, 0, 6).through == "node0.gpu2 node0.gpu6 ");
  CHECK(way(fabric, 0, 7).through == "node0.gpu4 node0.gpu7 ");
  CHECK(way(fabric, 0, 7).narrowest == gb(50));
  for (std::uint32_t from = 0; from < 8; ++from) {
    std::int64_t links = 0;
    for (std::uint32_t to = 0; to < 8; ++to) {
      if (from == to) continue;
      CHECK(way(fabric, from, to).hops <= 2);
      if (way(fabric, from, to).hops == 1) links += way(fabric, from, to).narrowest.count() / 25'000'000'000;
    }
    CHECK(links == 6);
  }
  CHECK(way(fabric, 5, 8).through == "node0.plx2 node0.nic2 switch0 node1.nic0 node1.plx0 node1.gpu0 ");
  CHECK(way(fabric, 5, 8).narrowest == Bandwidth(12'500'000'000));
}

TEST_CASE("shipped nodes without NVLink switches: who meets where") {
  const Fabric p100 = fabric_of("cluster: dgx-1p\n");
  CHECK(way(p100, 0, 4).hops == 1);
  CHECK(way(p100, 0, 5).through == "node0.gpu1 node0.gpu5 ");
  CHECK(way(p100, 0, 5).narrowest == gb(20));
  const Fabric a40 = fabric_of("cluster: a40-pcie\n");
  CHECK(way(a40, 0, 1).narrowest == Bandwidth(56'250'000'000));
  CHECK(way(a40, 1, 2).through == "node0.cpu0 node0.gpu2 ");
  CHECK(way(a40, 0, 4).narrowest == gb(16));
  const Fabric rtx = fabric_of("cluster: rtx4090-pcie\n");
  CHECK(way(rtx, 0, 1).through == "node0.cpu0-in node0.cpu0-out node0.gpu1 ");
  CHECK(way(rtx, 0, 1).latency == Duration(10'700'000));
  CHECK(way(rtx, 0, 4).narrowest == gb(10));
  const Fabric tpu = fabric_of("cluster: tpu-v4-pod\n");
  CHECK(tpu.link_count() == 4096 * 6);
  CHECK(way(tpu, 0, 15).hops == 1);
}

TEST_CASE("fabrics that cannot be built are refused where the mistake stands") {
  const auto node = [](const std::string& links, const std::string& more = "") {
    return "cluster: {node: {device: {name: x}, devices: 2" + more + ", links: [" + links + "]}}\n";
  };
  const std::string fine = "{from: gpu0, to: gpu1, bandwidth: 1 GB/s, latency: 0 ns}";
  const std::string nics = ", nics: {count: 1, bandwidth: 1 GB/s}";
  const auto dims = [](const std::string& keys) {
    return "cluster: {device: {name: x}, dims: [{bandwidth: 1 GB/s, latency: 0 ns, " + keys + "}]}\n";
  };
  REQUIRE(read_cluster_text(node(fine)).errors == "");
  const std::pair<std::string, std::string> cases[] = {
      {node(""), "'links' is empty"},
      {node("{from: gpu0, to: hub, bandwidth: 1 GB/s, latency: 0 ns}"), "'hub' leads nowhere"},
      {node("{from: gpu0, to: hub, bandwidth: 1 GB/s, latency: 0 ns}, {from: gpu1, to: hubb, bandwidth: 1 GB/s, "
            "latency: 0 ns}"),
       "did you mean 'hubb'?"},
      {node("{from: gpu0, to: gpu1, directed: true, bandwidth: 1 GB/s, latency: 0 ns}"),
       "no way leads from gpu1 to gpu0"},
      {node(fine + ", {from: nic0, to: plx9, bandwidth: 1 GB/s, latency: 0 ns}", nics), "'plx9' leads nowhere"},
      {node(fine, nics), "no way leads from gpu0 to nic0"},
      {node(fine + ", {from: nic1, to: gpu0, bandwidth: 1 GB/s, latency: 0 ns}", nics),
       "there is no 'nic1'\n  hint: the only one is nic0"},
      {node(fine + ", {from: gpu2, to: gpu0, bandwidth: 1 GB/s, latency: 0 ns}"),
       "there is no 'gpu2'\n  hint: they are gpu0 to gpu1"},
      // A NIC passes nothing on.
      {node("{from: gpu0, to: nic0, bandwidth: 1 GB/s, latency: 0 ns}, {from: gpu1, to: nic0, bandwidth: 1 GB/s, "
            "latency: 0 ns}",
            nics),
       "no way leads from gpu0 to gpu1"},
      {node("{from: gpu0, to: gpu0, bandwidth: 1 GB/s, latency: 0 ns}"), "a link from gpu0 to itself"},
      {node(fine + ", " + fine), "a second link from gpu0 to gpu1\n  hint: parallel links are one with `count`"},
      {node("{from: gpu0, to: gpu1, bandwidth: 0 GB/s, latency: 0 ns}"), "bandwidth"},
      {node("{from: gpu0, to: gpu1, bandwidth: -1 GB/s, latency: 0 ns}"), "bandwidth"},
      {node("{from: gpu0, to: gpu1, bandwidth: 9000000000 GB/s, latency: 0 ns, count: 2}"),
       "make more than can be counted"},
      {node("{from: gpu0, to: \"a b\", bandwidth: 1 GB/s, latency: 0 ns}"), "'a b' is no name"},
      {node("{from: gpu0, to: gpu1, bandwidth: 1 GB/s, latency: 0 ns, class: nic}"), "names the links that leave"},
      {node(fine, ", fabric: {topology: switch, bandwidth: 1 GB/s, latency: 0 ns}"),
       "'links' and 'fabric' exclude each other"},
      {node(fine + ", {from: nic0, to: gpu0, bandwidth: 1 GB/s, latency: 0 ns}",
            ", nics: {count: 1, bandwidth: 1 GB/s, of: [0]}"),
       "1 entries for 2 devices"},
      {node(fine + ", {from: nic0, to: gpu0, bandwidth: 1 GB/s, latency: 0 ns}",
            ", nics: {count: 1, bandwidth: 1 GB/s, of: [0, 1]}"),
       "'1' is no NIC; they are 0 to 0"},
      {"cluster: {node: {device: {name: x}, devices: 1025, links: [" + fine + "]}}\n", "at most 1024 can be joined"},
      {dims("topology: fat-tree, size: 8, leaf_ports: 4, trunk_latency: 0 ns, oversubscription: 0.5"),
       "oversubscription: 0.5 is out of range; expected 1 to 1000"},
      {dims("topology: fat-tree, size: 8, leaf_ports: 0, trunk_latency: 0 ns"), "0 is out of range"},
      {dims("topology: fat-tree, size: 8, trunk_latency: 0 ns"), "'cluster.dims[].leaf_ports' is missing"},
      {dims("topology: rail-optimised, size: 9, rails: 2, leaf_ports: 4, trunk_latency: 0 ns"),
       "9 members do not divide into nodes of 2 rails"},
      {dims("topology: torus, sizes: [4, 0]"), "'0' is no number of members"},
      {dims("topology: torus, sizes: [4, x]"), "'x' is no number of members"},
      {dims("topology: torus, sizes: [2, 2, 2, 2, 2, 2, 2]"), "7 axes; 1 to 6 are possible"},
      {dims("topology: torus, sizes: [65536, 65536]"), "the axes make more than 16777216 members"},
      {dims("topology: torus, size: 4"), "0 axes; 1 to 6 are possible"},
      {dims("topology: torus, sizes: [4, 4], size: 8"), "8 members, but the torus is written for 16"},
      {dims("topology: ring, size: 4, sizes: [4]"), "unknown key 'sizes'"},
      {dims("topology: fat-tre, size: 4"), "unknown value 'fat-tre'\n  hint: did you mean 'fat-tree'?"},
      {dims("topology: edge-list, links: [{from: a, to: b, bandwidth: 1 GB/s, latency: 0 ns}]"),
       "no link names a member; they are called gpu0, gpu1, ..."},
      {dims("topology: dragonfly, size: 4, router_ports: 2, group_routers: 0, local_bandwidth: 1 GB/s, "
            "global_bandwidth: 1 GB/s, local_latency: 0 ns, global_latency: 0 ns"),
       "0 is out of range"},
  };
  for (const auto& [text, expected] : cases) {
    INFO(text);
    const ReadCluster result = read_cluster_text(text);
    CHECK_FALSE(result.fabric.has_value());
    INFO(result.errors);
    CHECK(result.errors.find(expected) != std::string::npos);
    CHECK(result.errors.starts_with("x.yaml:"));
  }
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
