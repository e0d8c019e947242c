// SPDX-License-Identifier: MIT
// A NIC of one node is dead: who becomes slower, and by how much.
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "network/fabric/link_names.h"
#include "system/plans/group_library.h"
#include "system/plans/line_traffic.h"
#include "system/plans/node_ports.h"
#include "tests/system/folding/folded.h"
#include "tests/system/random_jobs.h"
#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::collectives;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::workload;
using namespace orrery::test;

namespace {

// NVLink of 100 GB/s and 1 us, NICs of 10 GB/s.
Fabric nodes_without(std::uint32_t nodes, std::uint32_t devices, std::uint32_t nics,
                     const std::vector<std::string>& dead, const std::string& network = "infiniband") {
  Fabric fabric = read_machine_text(fmt::format(R"(
cluster:
  node:
    device: a40
    devices: {}
    fabric: {{name: nvlink, topology: switch, bandwidth: 100 GB/s, latency: 1 us}}
    nics: {{count: {}, bandwidth: 80 Gb/s, host_bandwidth: 40 GB/s, host_latency: 500 ns}}
  scale_out: {{topology: switch, latency: 600 ns, network: {}}}
nodes: {}
)",
                                                devices, nics, network, nodes))
                      .fabric;
  for (const std::string& name : dead) {
    const std::vector<LinkId> links = links_named(fabric, name);
    REQUIRE_FALSE(links.empty());
    fabric.remove_links(links);
  }
  return fabric;
}

// One ring: each member sends the buffer to its node and as much to others.
class RingLibrary final : public GroupLibrary {
 public:
  static constexpr Duration kLatency{7'000'000};

  Aggregate transfer(CollectiveKind, Bytes bytes, std::uint32_t, const GroupLayout&) const override {
    return {NodePattern::kRing, bytes, bytes, kLatency, {}};
  }
  PointToPoint point_to_point(Bytes bytes, bool, Duration) const override { return {{}, bytes}; }
};

constexpr Bytes kBuffer{10'000'000};             // 1 ms over a NIC
constexpr Duration kMillisecond{1'000'000'000};  // in picoseconds
constexpr Duration kRoute{1'600'000};            // PCIe, the switch, PCIe
constexpr Duration kOverNvlink{1'000'000};
const std::vector<std::string> kOneDead = {"node1.nic0"};

Outcome run(const Job& job, const Fabric& fabric) {
  static const RingLibrary library;
  SimulationOptions options;
  options.collectives.library = &library;
  options.collectives.granularity = Granularity::kPhase;
  return fold_and_compare(job, fabric, options, NetworkModel::kFlow);
}

// Of the only operation of a rank.
Time end(const Outcome& outcome, std::uint32_t rank) {
  return outcome.end(index_of(outcome.totals.acting[rank]), NodeId(0));
}

// What NICs send and receive, by their names, in MB.
std::map<std::string, double> nic_loads(const Fabric& fabric, const std::vector<std::uint32_t>& numbers) {
  std::vector<DeviceId> devices;
  for (const std::uint32_t number : numbers) devices.push_back(DeviceId(number));
  std::map<std::string, double> loads;
  const Aggregate ring{NodePattern::kRing, Bytes(0), Bytes(42'000'000), {}, {}};
  for (const LinkTraffic& load : traffic_by_link(ring, members_of_nodes(devices, fabric), devices, fabric).links)
    if (const std::string name = name_of(fabric, load.link); name.find("nic") != std::string::npos)
      loads[name] = static_cast<double>(load.between.count()) / 1e6;
  std::erase_if(loads, [](const auto& load) { return load.first.find("pcie") != std::string::npos; });
  return loads;
}

std::vector<std::vector<std::uint32_t>> ports(const Fabric& fabric) {
  std::vector<DeviceId> devices;
  for (std::uint32_t device = 0; device < fabric.device_count(); ++device) devices.push_back(DeviceId(device));
  return ports_of_nodes(members_of_nodes(devices, fabric), devices, fabric);
}

}  // namespace

TEST_CASE("an all-reduce over two NICs a node, of which one node has lost one, takes twice as long on the network") {
  const auto time = [](const std::vector<std::string>& dead) {
    JobBuilder builder(4);
    const GroupId world = builder.group("world", {0, 1, 2, 3});
    for (std::uint32_t rank = 0; rank < 4; ++rank) builder.collective(rank, CollectiveKind::kAllReduce, kBuffer, world);
    return run(builder.build(), nodes_without(2, 2, 2, dead)).end(0, NodeId(0));
  };
  // 10 MB by each of two NICs of 10 GB/s; NVLink has its 10 MB after 0.1 ms.
  CHECK(time({}) == at(kMillisecond + RingLibrary::kLatency));
  // Both nodes have one channel left, with 20 MB.
  CHECK(time(kOneDead) == at(2 * kMillisecond + RingLibrary::kLatency));
  CHECK(time({"node0.nic1", "node1.nic0"}) == at(2 * kMillisecond + RingLibrary::kLatency));
  // A NIC that is dead in one direction is none to NCCL.
  CHECK(time({"node1.nic0.up"}) == at(2 * kMillisecond + RingLibrary::kLatency));
  CHECK(time({"node1.nic0.down"}) == at(2 * kMillisecond + RingLibrary::kLatency));
}

TEST_CASE("over TCP a ring leaves a node once by each NIC, and groups of their own by threads of their own") {
  const Fabric tcp = nodes_without(2, 2, 1, {}, "{kind: ethernet, stack: {thread: 2 GB/s, latency: 1 us}}");
  CHECK(ports(nodes_without(2, 2, 1, {})).empty());
  CHECK(ports(tcp) == std::vector<std::vector<std::uint32_t>>{{0}, {0}});
  CHECK(nic_loads(tcp, {0, 1, 2, 3})["node0.nic0.up"] == 84);
  JobBuilder builder(4);
  const GroupId world = builder.group("world", {0, 1, 2, 3});
  for (std::uint32_t rank = 0; rank < 4; ++rank) builder.collective(rank, CollectiveKind::kAllReduce, kBuffer, world);
  // 20 MB by the threads of one GPU, at 2 GB/s.
  CHECK(run(builder.build(), tcp).end(0, NodeId(0)) == at(10 * kMillisecond + RingLibrary::kLatency));
  JobBuilder pairs(4);
  for (std::uint32_t gpu = 0; gpu < 2; ++gpu) {
    const GroupId group = pairs.group(fmt::format("data{}", gpu), {gpu, gpu + 2});
    for (const std::uint32_t rank : {gpu, gpu + 2}) pairs.collective(rank, CollectiveKind::kAllReduce, kBuffer, group);
  }
  // 10 MB of each.
  CHECK(end(run(pairs.build(), tcp), 0) == at(5 * kMillisecond + RingLibrary::kLatency));
}

TEST_CASE("groups of one GPU a node go by a neighbour's NIC, and share it with the neighbour's own group") {
  const auto times = [](const std::vector<std::string>& dead) {
    JobBuilder builder(8);
    std::vector<Time> ends;
    for (std::uint32_t gpu = 0; gpu < 4; ++gpu) {
      const GroupId group = builder.group(fmt::format("data{}", gpu), {gpu, gpu + 4});
      for (const std::uint32_t rank : {gpu, gpu + 4})
        builder.collective(rank, CollectiveKind::kAllReduce, kBuffer, group);
    }
    const Outcome outcome = run(builder.build(), nodes_without(2, 4, 4, dead));
    for (std::uint32_t gpu = 0; gpu < 4; ++gpu) ends.push_back(end(outcome, gpu));
    return ends;
  };
  const Time alone = at(kMillisecond + RingLibrary::kLatency), shared = at(2 * kMillisecond + RingLibrary::kLatency);
  CHECK(times({}) == std::vector<Time>{alone, alone, alone, alone});
  CHECK(times(kOneDead) == std::vector<Time>{shared, shared, alone, alone});  // NIC 1 of node 1 has 20 MB each way
}

TEST_CASE("a pipeline's send of the GPU without a NIC shares a neighbour's, one NVLink further") {
  const auto times = [](const std::vector<std::string>& dead, bool is_back) {
    JobBuilder builder(4);
    for (const std::uint32_t gpu : {0u, 1u}) {
      const std::uint32_t from = is_back ? gpu + 2 : gpu, to = is_back ? gpu : gpu + 2;
      builder.send(from, to, kBuffer);
      builder.receive(to, from, kBuffer);
    }
    const Outcome outcome = run(builder.build(), nodes_without(2, 2, 2, dead));
    const std::uint32_t first = is_back ? 0 : 2;
    return std::vector<Time>{end(outcome, first), end(outcome, first + 1)};
  };
  const Time alone = at(kMillisecond + kRoute), shared = at(2 * kMillisecond + kRoute);
  for (const bool is_back : {false, true}) {
    CHECK(times({}, is_back) == std::vector<Time>{alone, alone});
    CHECK(times(kOneDead, is_back) == std::vector<Time>{shared + kOverNvlink, shared});
  }
  // Only what goes out is dead: what comes in keeps its way.
  CHECK(times({"node1.nic0.up"}, false) == std::vector<Time>{alone, alone});
  CHECK(times({"node1.nic0.up"}, true) == std::vector<Time>{shared + kOverNvlink, shared});
}

TEST_CASE("the fixed library sends as before, so that a neighbour's NIC carries twice as much") {
  const auto time = [](const std::vector<std::string>& dead) {
    JobBuilder builder(4);
    const GroupId world = builder.group("world", {0, 1, 2, 3});
    for (std::uint32_t rank = 0; rank < 4; ++rank)
      builder.collective(rank, CollectiveKind::kReduceScatter, Bytes(4 * kBuffer.count()), world);
    return fold_and_compare(builder.build(), nodes_without(2, 2, 2, dead), {}, NetworkModel::kFlow).end(0, NodeId(0));
  };
  // Half of 40 MB to the other GPU of the node, then half of that to the other node.
  const Duration inside = kMillisecond / 5 + kOverNvlink;
  CHECK(time({}) == at(inside + kMillisecond + kRoute));
  CHECK(time(kOneDead) == at(inside + 2 * kMillisecond + kRoute + kOverNvlink));
}

TEST_CASE("every node uses as many NICs as the poorest, on the rails that all have") {
  using Ports = std::vector<std::vector<std::uint32_t>>;
  CHECK(ports(nodes_without(3, 8, 8, {})).empty());
  const std::vector<std::uint32_t> but_the_first = {1, 2, 3, 4, 5, 6, 7};
  CHECK(ports(nodes_without(3, 8, 8, kOneDead)) == Ports{but_the_first, but_the_first, but_the_first});
  // Two of one node: the others leave the same two out.
  CHECK(ports(nodes_without(2, 4, 4, {"node0.nic0", "node0.nic3"})) == Ports{{1, 2}, {1, 2}});
  // One of each of two: both keep three, the third node those that both have, and one more.
  CHECK(ports(nodes_without(3, 4, 4, {"node0.nic0", "node1.nic3"})) == Ports{{1, 2, 3}, {0, 1, 2}, {0, 1, 2}});
  // Of two GPUs with one NIC both lose it.
  CHECK(ports(nodes_without(2, 4, 2, {"node0.nic0"})) == Ports{{2, 3}, {2, 3}});
}

TEST_CASE("the NICs that are left carry the ring's bytes in equal parts") {
  // 4 * 42 MB by three NICs.
  const Fabric fabric = nodes_without(2, 4, 4, {"node1.nic2"});
  const std::map<std::string, double> loads = nic_loads(fabric, {0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(loads.size() == 2 * 3 * 2);
  for (const auto& [name, load] : loads) {
    INFO(name);
    CHECK(load == 56);
    CHECK(name.find("nic2") == std::string::npos);
  }
  // Two GPUs of each node, one of them without its NIC: the other node's GPU keeps its own; here NIC 3 is free.
  const std::map<std::string, double> half = nic_loads(fabric, {1, 2, 5, 6});
  CHECK(half.at("node0.nic1.up") == 42);
  CHECK(half.at("node0.nic2.up") == 42);
  CHECK(half.at("node1.nic1.down") == 42);
  CHECK(half.at("node1.nic3.down") == 42);
}

TEST_CASE("a node whose NICs are all dead is cut off, and the error names both ends") {
  JobBuilder builder(4);
  const GroupId world = builder.group("world", {0, 1, 2, 3});
  for (std::uint32_t rank = 0; rank < 4; ++rank) builder.collective(rank, CollectiveKind::kAllReduce, kBuffer, world);
  const Job job = builder.build();
  CHECK_THROWS_WITH(run(job, nodes_without(2, 2, 2, {"node1.nic0", "node1.nic1"})),
                    Catch::Contains("no way is left from node0.gpu0 to node1.gpu0"));
  CHECK_THROWS_WITH(run(job, nodes_without(2, 2, 1, kOneDead)),
                    Catch::Contains("no way is left from node0.gpu0 to node1.gpu0"));
}
