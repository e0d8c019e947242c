// SPDX-License-Identifier: MIT
// What a collective that runs as one whole puts on the links, by how its group lies on nodes.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "system/plans/group_library.h"
#include "system/plans/group_messages.h"
#include "system/plans/line_traffic.h"
#include "tests/system/random_jobs.h"
#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::collectives;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::test;
using enum NodePattern;

namespace {

// Nodes of `devices` devices on NVLink switches, as many NICs.
Fabric switched_nodes(std::uint32_t nodes, std::uint32_t devices, std::uint32_t nics) {
  return read_machine_text(fmt::format(R"(
cluster:
  node:
    device: a40
    devices: {}
    fabric: {{name: nvlink, topology: switch, bandwidth: 100 GB/s, latency: 1 us}}
    nics: {{count: {}, bandwidth: 80 Gb/s, host_bandwidth: 20 GB/s, host_latency: 500 ns}}
  scale_out: {{topology: switch, latency: 600 ns}}
nodes: {}
)",
                                       devices, nics, nodes))
      .fabric;
}

std::vector<DeviceId> all_devices(const Fabric& fabric) {
  std::vector<DeviceId> devices;
  for (std::uint32_t i = 0; i < fabric.device_count(); ++i) devices.push_back(DeviceId(i));
  return devices;
}

std::vector<DeviceId> some_devices(const std::vector<std::uint32_t>& numbers) {
  std::vector<DeviceId> devices;
  for (const std::uint32_t number : numbers) devices.push_back(DeviceId(number));
  return devices;
}

// What the links carry, by the names of their ends.
std::map<std::string, std::int64_t> loads(const Aggregate& transfer, std::span<const DeviceId> devices,
                                          const Fabric& fabric) {
  std::map<std::string, std::int64_t> result;
  for (const LinkTraffic& load : traffic_by_link(transfer, members_of_nodes(devices, fabric), devices, fabric).links) {
    const LinkEnds ends = fabric.ends(load.link);
    result[fabric.vertex_name(ends.from) + ">" + fabric.vertex_name(ends.to)] = (load.within + load.between).count();
  }
  return result;
}

// The loads of a class of links, each with how many links carry it.
std::map<std::int64_t, int> loads_of_class(const Aggregate& transfer, std::span<const DeviceId> devices,
                                           const Fabric& fabric, std::string_view link_class) {
  std::map<std::int64_t, int> result;
  for (const LinkTraffic& load : traffic_by_link(transfer, members_of_nodes(devices, fabric), devices, fabric).links)
    if (fabric.link_classes()[fabric.link(load.link).link_class] == link_class)
      ++result[(load.within + load.between).count()];
  return result;
}

using Loads = std::map<std::int64_t, int>;

// A multiple of 2 .. 9, so that nothing is rounded.
constexpr std::int64_t kWithin = 5040'000;
constexpr std::int64_t kBetween = 2520'000;

}  // namespace

TEST_CASE("a double tree is NCCL's: mirrored for an even number of nodes, moved by one for an odd one") {
  CHECK(double_tree(1).empty());
  CHECK(double_tree(2) == std::vector<TreeEdge>{{0, 1}, {1, 0}});
  CHECK(double_tree(3) == std::vector<TreeEdge>{{2, 1}, {0, 2}, {0, 2}, {1, 0}});
  CHECK(double_tree(4) == std::vector<TreeEdge>{{2, 1}, {0, 2}, {2, 3}, {1, 2}, {3, 1}, {1, 0}});
  // 0 - 4 - (2 - (1, 3), 5) is the first of 6: 5 is xx01, whose xx10 is beyond the last, so that it hangs under xx00.
  const std::vector<TreeEdge> six = double_tree(6);
  CHECK(std::vector<TreeEdge>(six.begin(), six.begin() + 5) ==
        std::vector<TreeEdge>{{2, 1}, {4, 2}, {2, 3}, {0, 4}, {4, 5}});
}

TEST_CASE("in both trees together a node has up to four edges, and all nodes are reached") {
  for (std::uint32_t nodes = 2; nodes < 200; ++nodes) {
    const std::vector<TreeEdge> edges = double_tree(nodes);
    std::vector<int> degree(nodes);
    for (const bool second : {false, true}) {
      std::vector<std::uint32_t> parent(nodes, UINT32_MAX), children(nodes);
      for (std::size_t i = 0; i + 1 < nodes; ++i) {
        const TreeEdge& edge = edges[i + (second ? nodes - 1 : 0)];
        CHECK(parent[edge.child] == UINT32_MAX);
        parent[edge.child] = edge.parent;
        ++children[edge.parent];
        ++degree[edge.child], ++degree[edge.parent];
      }
      for (std::uint32_t node = 0; node < nodes; ++node) {
        CHECK(children[node] <= 2);
        std::uint32_t at = node, steps = 0;
        while (parent[at] != UINT32_MAX && ++steps <= nodes) at = parent[at];
        CHECK(steps <= nodes);
      }
    }
    CHECK(std::ranges::all_of(degree, [](int edges_of_node) { return edges_of_node <= 4; }));
  }
}

TEST_CASE("a group on one switched node sends around it and nothing to NICs") {
  const Fabric fabric = switched_nodes(2, 8, 8);
  const std::vector<DeviceId> node = some_devices({0, 1, 2, 3, 4, 5, 6, 7});
  const Aggregate ring{kRing, Bytes(kWithin), Bytes(kBetween), {}};
  CHECK(loads_of_class(ring, node, fabric, "nvlink.up") == Loads{{kWithin, 8}});
  CHECK(loads_of_class(ring, node, fabric, "nvlink.down") == Loads{{kWithin, 8}});
  CHECK(loads_of_class(ring, node, fabric, "nic.up").empty());
}

TEST_CASE("between nodes every NIC carries the ring's part or that of each edge of the double tree") {
  // Edges of a node in both trees (double_tree): 2 nodes: 2, 2; 3 nodes: 3, 2, 3; 4 nodes: 2, 4, 4, 2. Up and down an
  // edge goes the same, for each of the 8 places.
  const std::map<std::uint32_t, Loads> in_trees = {{2, {{2 * kBetween, 16}}},
                                                   {3, {{2 * kBetween, 8}, {3 * kBetween, 16}}},
                                                   {4, {{2 * kBetween, 16}, {4 * kBetween, 16}}}};
  for (const auto& [nodes, in_tree] : in_trees) {
    const Fabric fabric = switched_nodes(nodes, 8, 8);
    const std::vector<DeviceId> devices = all_devices(fabric);
    const int ranks = static_cast<int>(devices.size());
    for (const std::string link_class : {"pcie.up", "nic.up", "nic.down", "pcie.down"}) {
      INFO(link_class << " of " << nodes << " nodes");
      CHECK(loads_of_class({kRing, Bytes(kWithin), Bytes(kBetween), {}}, devices, fabric, link_class) ==
            Loads{{kBetween, ranks}});
      CHECK(loads_of_class({kDoubleTree, Bytes(kWithin), Bytes(kBetween), {}}, devices, fabric, link_class) == in_tree);
    }
    CHECK(loads_of_class({kDoubleTree, Bytes(kWithin), Bytes(kBetween), {}}, devices, fabric, "nvlink.up") ==
          Loads{{kWithin, ranks}});
  }
}

TEST_CASE("all pairs send as much as they are told to, however many there are") {
  // 7 others in the node, and nodes x 8 of other nodes: 504 of 64, beyond which one of each node stands for 8 (of 127
  // others), and beyond that some of the nodes do (64 of 511).
  for (const std::uint32_t nodes : {2u, 4u, 64u, 128u, 512u}) {
    INFO(nodes << " nodes");
    const Fabric fabric = switched_nodes(nodes, 8, 8);
    const std::vector<DeviceId> devices = all_devices(fabric);
    const int ranks = static_cast<int>(devices.size());
    const std::int64_t between = std::int64_t{127} * 64 * 9 * 7 * 6 * 100;  // divisible by 8, 24, 504, 127 and 64
    const Aggregate transfer{kAllPairs, Bytes(kWithin), Bytes(between), {}};
    for (const std::string link_class : {"pcie.up", "nic.up", "nic.down", "pcie.down"})
      CHECK(loads_of_class(transfer, devices, fabric, link_class) == Loads{{between, ranks}});
    for (const std::string link_class : {"nvlink.up", "nvlink.down"})
      CHECK(loads_of_class(transfer, devices, fabric, link_class) == Loads{{kWithin, ranks}});
  }
}

TEST_CASE("what all pairs of many ranks send over a spine is close to what all pairs do") {
  // 128 nodes, of which 32 share a leaf switch on each of 8 rails. What goes to another rail is handed to the GPU of
  // its own node on that rail first (PXN), so that a message stays below the spine if it goes to one of 31 of the 127
  // other nodes.
  const Fabric fabric = read_machine_text("cluster: dgx-superpod\nnodes: 128\n").fabric;
  const Aggregate transfer{kAllPairs, Bytes(0), Bytes(127'000'000), {}};
  const double expected = 32 * 127e6 * (1 - 31.0 / 127);
  for (const std::string link_class : {"nic.leaf-up", "nic.leaf-down"}) {
    const Loads carried = loads_of_class(transfer, all_devices(fabric), fabric, link_class);
    REQUIRE(carried.size() == 1);
    CHECK(carried.begin()->second == 4 * 8);
    CHECK(static_cast<double>(carried.begin()->first) == Approx(expected).epsilon(0.005));
  }
}

TEST_CASE("on a hybrid mesh every NVLink carries its share of the bandwidth") {
  // A V100 has six links to four others, two of which it reaches over two.
  const Fabric fabric = read_machine_text("cluster: dgx-1v\nnodes: 1\n").fabric;
  const Aggregate ring{kRing, Bytes(kWithin), Bytes(0), {}};
  const auto all = loads(ring, all_devices(fabric), fabric);
  CHECK(all.size() == 32);
  CHECK(all.at("node0.gpu0>node0.gpu1") == kWithin / 6);
  CHECK(all.at("node0.gpu0>node0.gpu3") == kWithin / 3);
  CHECK(all.at("node0.gpu6>node0.gpu2") == kWithin / 6);
  // As four of them have 4 links to each other each.
  CHECK(loads(ring, some_devices({0, 1, 2, 3}), fabric).at("node0.gpu2>node0.gpu1") == kWithin / 2);
}

TEST_CASE("where links are uneven a ring goes both ways, and where there are none one way") {
  const Fabric fabric = read_machine_text("cluster: dgx-1v\nnodes: 1\n").fabric;
  const Aggregate ring{kRing, Bytes(kWithin), Bytes(0), {}};
  // 1 and 2 have two links to each other and one to 0 each.
  const auto three = loads(ring, some_devices({0, 1, 2}), fabric);
  CHECK(three.size() == 6);
  for (const auto& [link, load] : three) CHECK(load == kWithin / 2);
  // 0-1 and 6-7 have links, but not to each other.
  const auto pairs = loads(ring, some_devices({0, 1, 6, 7}), fabric);
  CHECK(pairs.at("node0.gpu0>node0.gpu1") == kWithin);
  CHECK(pairs.at("node0.gpu6>node0.gpu7") == kWithin);
  CHECK(pairs.count("node0.gpu1>node0.gpu0") == 0);
}

TEST_CASE("on nodes of unequal parts of a group places wrap around") {
  // Four members on one node, two on the other: these receive twice and send once.
  const Fabric fabric = switched_nodes(2, 4, 4);
  const std::vector<DeviceId> devices = some_devices({0, 4, 1, 2, 5, 3});
  const GroupLayout layout = lay_out_group(devices, fabric);
  CHECK(layout.nodes == NodeMembers{{0, 2, 3, 5}, {1, 4}});
  CHECK(layout.shape.fullest == 4);
  const auto between = loads({kRing, Bytes(0), Bytes(kBetween), {}}, devices, fabric);
  const auto carried = [&](const std::string& device, const std::string& nic, bool up) {
    const auto found = between.find(up ? device + ">" + nic : nic + ">" + device);
    return found == between.end() ? 0 : found->second;
  };
  for (int place = 0; place < 4; ++place) {
    const std::string gpu = fmt::format("gpu{}", place), nic = fmt::format("nic{}", place);
    CHECK(carried("node0." + gpu, "node0." + nic, true) == kBetween);
    CHECK(carried("node0." + gpu, "node0." + nic, false) == (place < 2 ? kBetween : 0));
    CHECK(carried("node1." + gpu, "node1." + nic, true) == (place < 2 ? kBetween : 0));
    CHECK(carried("node1." + gpu, "node1." + nic, false) == (place < 2 ? 2 * kBetween : 0));
  }
}

TEST_CASE("a group on a thousand links has the same on each") {
  const Fabric fabric = switched_nodes(64, 4, 4);
  const Aggregate transfer{kRing, Bytes(kWithin), Bytes(kBetween), {}};
  for (const char* link_class : {"nvlink.up", "nvlink.down"})
    CHECK(loads_of_class(transfer, all_devices(fabric), fabric, link_class) == Loads{{kWithin, 256}});
  for (const char* link_class : {"nic.up", "nic.down"})
    CHECK(loads_of_class(transfer, all_devices(fabric), fabric, link_class) == Loads{{kBetween, 256}});
}

TEST_CASE("nodes are alike where a group has the same places on each, in the same order") {
  const Fabric fabric = switched_nodes(3, 4, 2);
  const auto alike = [&](const std::vector<std::uint32_t>& numbers) {
    const std::vector<DeviceId> devices = some_devices(numbers);
    return are_nodes_alike(members_of_nodes(devices, fabric), devices, fabric);
  };
  CHECK(alike({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  CHECK(alike({1, 3, 5, 7}));
  CHECK_FALSE(alike({1, 3, 5, 6}));
  CHECK_FALSE(alike({0, 1, 4}));
}

TEST_CASE("a layout knows how long the links take, within nodes, between them, and both") {
  // 100 GB/s of NVLink; 10 GB/s of a NIC, which two of the four devices share.
  const Fabric fabric = switched_nodes(3, 4, 2);
  const GroupLayout layout = lay_out_group(all_devices(fabric), fabric);
  CHECK(layout.shape.ranks == 12);
  CHECK(layout.nodes.size() == 3);
  CHECK(layout.shape.within_latency == Duration(1'000'000));
  CHECK(layout.shape.between_latency == Duration(1'600'000));  // host, scale-out, host
  const TransferSeconds ring = lone_seconds({kRing, Bytes(1'000'000), Bytes(1'000'000), {}}, layout.shape);
  CHECK(ring.within == Approx(1e6 / 100e9));
  CHECK(ring.between == Approx(2 * 1e6 / 10e9));
  CHECK(ring.together == Approx(2 * 1e6 / 10e9));  // on different links
  const TransferSeconds tree = lone_seconds({kDoubleTree, Bytes(0), Bytes(1'000'000), {}}, layout.shape);
  CHECK(tree.within == 0);
  CHECK(tree.between == Approx(3 * 2 * 1e6 / 10e9));  // three edges
  // On PCIe both cross the link of the device: to the next device and to the next node.
  const Fabric pcie = read_machine_text("cluster: a40-pcie\nnodes: 2\n").fabric;
  const TransferSeconds shared =
      lone_seconds({kRing, Bytes(1'000'000), Bytes(1'000'000), {}}, lay_out_group(all_devices(pcie), pcie).shape);
  CHECK(shared.together > shared.within);
}

TEST_CASE("on every link a group counts as one message for each of its ranks that fill it") {
  const Fabric fabric = switched_nodes(2, 4, 2);
  const std::vector<DeviceId> devices = all_devices(fabric);
  const Aggregate transfer{kRing, Bytes(kWithin), Bytes(kBetween), Duration(7)};
  const LineTraffic traffic = group_traffic(transfer, members_of_nodes(devices, fabric), devices, fabric);
  CHECK(traffic.latency == Duration(7));
  for (const LinkLoad& load : traffic.loads) {
    const std::string_view link_class = fabric.link_classes()[fabric.link(load.link).link_class];
    const bool is_nic = link_class == "nic.up" || link_class == "nic.down";  // of two devices
    if (is_nic) CHECK(load.bytes == Bytes(2 * kBetween));
    if (link_class == "nvlink.up") CHECK(load.bytes == Bytes(kWithin));
    CHECK(load.connections == (is_nic ? 2 : 1));
  }
  // In a double tree over four nodes an inner node has four edges, all of one rank of a NIC: still two connections.
  const Fabric four = switched_nodes(4, 4, 2);
  const std::vector<DeviceId> all = all_devices(four);
  const Aggregate tree{kDoubleTree, Bytes(0), Bytes(kBetween), Duration(7)};
  for (const LinkLoad& load : group_traffic(tree, members_of_nodes(all, four), all, four).loads) {
    const std::string_view link_class = four.link_classes()[four.link(load.link).link_class];
    if (link_class == "nic.up") CHECK(load.connections == ceil_div(load.bytes, 4 * kBetween).count());
  }
  CHECK(group_traffic({kRing, Bytes(0), Bytes(0), Duration(7)}, members_of_nodes(devices, fabric), devices, fabric)
            .loads.empty());
}
