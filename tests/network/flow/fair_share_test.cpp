// SPDX-License-Identifier: MIT
// Finish times of flows that share fabrics as they are built, against shares derived by hand, to 1 ppm: rates are whole
// bytes per second, so a share of r is short by less than 1 in r, which goes to others.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "network/flow/flow.h"
#include "tests/network/fabric_ways.h"
#include "tests/network/flow/probe.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::test;

namespace {

using FlowProbe = Probe<FlowNetwork>;

constexpr std::int64_t kMillisecond = 1'000'000'000;

void check_ppm(std::int64_t time, std::int64_t expected) { CHECK(std::abs(time - expected) <= expected / 1'000'000); }

// 16 members of 10 GB/s under four leaves. Four to one: a leaf's trunk is 4 * 10 / 4 = 10 GB/s.
Fabric oversubscribed(const Routing& routing = {}) {
  return fabric_of(
      "cluster: {device: {name: x}, dims: [{topology: fat-tree, size: 16, bandwidth: 10 GB/s, latency: 600 ns, "
      "leaf_ports: 4, oversubscription: 4, trunk_latency: 300 ns}]}\n",
      routing);
}

std::vector<LinkLoad> values(const std::map<LinkId, LinkLoad>& loads) {
  std::vector<LinkLoad> result;
  for (const auto& [link, load] : loads) result.push_back(load);
  return result;
}

bool same_leaf(std::uint32_t a, std::uint32_t b) { return a / 4 == b / 4; }

}  // namespace

TEST_CASE("two flows out of one GPU of a real cluster take twice as long as one") {
  // 100 MB over PCIe, of whose 31.5 GB/s messages get 76.19 %, less than the NIC's 25: 23.99985 GB/s, 4,166,692,709 ps,
  // and twice that for two from GPU 0 of one node to two GPUs of the other.
  const std::string text = "cluster: dgx-a100\nnodes: 2\n";
  FlowProbe one(fabric_of(text));
  one.at(0, [&] { one.send(0, 8, 100'000'000, 1); });
  one.run();
  check_ppm(one.released(1), 4'166'692'709);
  FlowProbe two(fabric_of(text));
  two.at(0, [&] {
    two.send(0, 8, 100'000'000, 1);
    two.send(0, 9, 100'000'000, 2);
  });
  two.run();
  check_ppm(two.released(1), 2 * 4'166'692'709);
  check_ppm(two.released(2), 2 * 4'166'692'709);
  // 500 ns to the NIC, 600 ns between NICs, 500 ns to the GPU.
  CHECK(two.arrived(1) - two.released(1) == 1'600'000);
}

TEST_CASE("incast of 8 from other nodes: the receiver's PCIe is shared by eight") {
  // GPU i of node 1 + i sends 25 MB to GPU 0 of node 0, over its PCIe: 200 MB at 23.99985 GB/s.
  FlowProbe probe(fabric_of("cluster: dgx-a100\nnodes: 9\n"));
  probe.at(0, [&] {
    for (std::uint32_t i = 0; i < 8; ++i) probe.send(8 * (1 + i) + i, 0, 25'000'000, i);
  });
  probe.run();
  for (std::uint32_t i = 0; i < 8; ++i) check_ppm(probe.released(i), 2 * 4'166'692'709);
}

TEST_CASE("all-to-all on a 4:1 fat-tree: the trunk sets the rate between leaves, the rest stays below it") {
  // Each of 16 members sends 30 MB to the 15 others at once. A leaf's trunk of 10 GB/s carries 4 * 12 = 48 flows:
  // 10/48 GB/s each, 144 ms, up as well as down. A member's link of 10 GB/s carries 12 of these, 2.5 GB/s, and 3 that
  // stay under the leaf: (10 - 2.5) / 3 = 2.5 GB/s each, 12 ms. When those are through, nothing changes for the others.
  FlowProbe probe(oversubscribed());
  probe.at(0, [&] {
    for (std::uint32_t from = 0; from < 16; ++from)
      for (std::uint32_t to = 0; to < 16; ++to)
        if (from != to) probe.send(from, to, 30'000'000, 16 * from + to);
  });
  probe.run();
  for (std::uint32_t from = 0; from < 16; ++from) {
    for (std::uint32_t to = 0; to < 16; ++to) {
      if (from == to) continue;
      const std::int64_t released = probe.released(16 * from + to);
      check_ppm(released, (same_leaf(from, to) ? 12 : 144) * kMillisecond);
      CHECK(probe.arrived(16 * from + to) - released == (same_leaf(from, to) ? 600'000 : 1'200'000));
    }
  }
}

TEST_CASE("all-to-all on a 4:1 fat-tree as a group flow ends with the last of the flows it stands for") {
  // The 15 * 16 messages put 15 * 30 MB on a member's link and 48 * 30 MB on a trunk, of 10 GB/s each: 144 ms there.
  const Fabric fabric = oversubscribed();
  std::vector<std::int64_t> bytes(fabric.link_count(), 0);
  std::vector<LinkId> route;
  for (std::uint32_t from = 0; from < 16; ++from)
    for (std::uint32_t to = 0; to < 16; ++to) {
      fabric.route(DeviceId(from), DeviceId(to), route);
      for (const LinkId link : route) bytes[index_of(link)] += 30'000'000;
    }
  std::vector<LinkLoad> loads;
  for (std::uint32_t link = 0; link < bytes.size(); ++link)
    loads.push_back({LinkId(link), Bytes(bytes[link]), static_cast<std::uint32_t>(bytes[link] / 30'000'000)});
  FlowProbe probe(fabric);
  probe.at(0, [&] { probe.send_group(loads, 1'200'000, 1); });
  probe.run();
  check_ppm(probe.released(1), 144 * kMillisecond);
  CHECK(probe.arrived(1) - probe.released(1) == 1'200'000);
  const std::vector<LinkUsage> usage = probe.network.link_usage();
  for (std::uint32_t link = 0; link < bytes.size(); ++link) CHECK(usage[link].bytes == Bytes(bytes[link]));
}

TEST_CASE("a group flow beside plain flows shares as the messages it stands for would") {
  // Members 0 to 2 send 10 MB each to 4 to 6, member 3 sends 30 MB to 7, all over one trunk of 10 GB/s: 2.5 GB/s each.
  // The three are through after 4 ms, when the last has 20 MB left, at 10 GB/s from then on: 6 ms.
  FlowProbe plain(oversubscribed());
  plain.at(0, [&] {
    for (std::uint32_t i = 0; i < 3; ++i) plain.send(i, 4 + i, 10'000'000, i);
    plain.send(3, 7, 30'000'000, 3);
  });
  plain.run();
  for (std::uint32_t i = 0; i < 3; ++i) check_ppm(plain.released(i), 4 * kMillisecond);
  check_ppm(plain.released(3), 6 * kMillisecond);

  const Fabric fabric = oversubscribed();
  std::map<LinkId, LinkLoad> loads;
  std::vector<LinkId> route;
  for (std::uint32_t i = 0; i < 3; ++i) {
    fabric.route(DeviceId(i), DeviceId(4 + i), route);
    for (const LinkId link : route) {
      LinkLoad& load = loads.try_emplace(link, LinkLoad{link, Bytes(0), 0}).first->second;
      load.bytes += Bytes(10'000'000);
      ++load.connections;  // three on the trunk
    }
  }
  FlowProbe group(fabric);
  group.at(0, [&] {
    group.send_group(values(loads), 1'200'000, 0);
    group.send(3, 7, 30'000'000, 3);
  });
  group.run();
  check_ppm(group.released(0), 4 * kMillisecond);
  check_ppm(group.released(3), 6 * kMillisecond);
}

TEST_CASE("two rings through one PCIe switch share its NIC, and its NVLinks not at all") {
  // DGX-1 V100: GPUs 0 and 1 are on the first PCIe switch, 2 and 3 on the second, each with a NIC behind 76.19 % of
  // the 15.75 GB/s of PCIe, 11.999925 GB/s (less than its own 12.5). A ring over GPUs 0 and 2 of two nodes crosses
  // between the nodes twice: from GPU 2 of one node, over the second switch, to GPU 0 of the other, over the first. The
  // ring over GPUs 1 and 3 does the same. Two flows a NIC and direction: 50 MB, 4,166,692,709 ps. From 0 to 2, and from
  // 1 to 3, there is one NVLink of 25 GB/s at 80 %: 1.25 ms.
  const auto ring = [](FlowProbe& probe, std::uint32_t first) {
    const std::uint32_t members[] = {first, first + 2, 8 + first, 8 + first + 2};
    for (std::uint32_t i = 0; i < 4; ++i) probe.send(members[i], members[(i + 1) % 4], 25'000'000, 4 * first + i);
  };
  const std::string text = "cluster: dgx-1v\nnodes: 2\n";
  FlowProbe both(fabric_of(text));
  REQUIRE(way(both.fabric, 2, 8).through == "node0.plx1 node0.nic1 switch0 node1.nic0 node1.plx0 node1.gpu0 ");
  both.at(0, [&] {
    ring(both, 0);
    ring(both, 1);
  });
  both.run();
  for (const std::uint32_t first : {0U, 4U}) {
    check_ppm(both.released(first + 0), kMillisecond * 5 / 4);
    check_ppm(both.released(first + 1), 4'166'692'709);
    check_ppm(both.released(first + 2), kMillisecond * 5 / 4);
    check_ppm(both.released(first + 3), 4'166'692'709);
  }
  FlowProbe alone(fabric_of(text));
  alone.at(0, [&] { ring(alone, 0); });
  alone.run();
  check_ppm(alone.released(1), 4'166'692'709 / 2);
}

TEST_CASE("two rings over both sockets share the link between them") {
  // Eight L40S: a ring over GPUs 0, 1, 4, 5 and one over 2, 3, 6, 7. Each crosses between the sockets once each way, 22
  // GB/s for two: 11 GB/s, 4 ms for 44 MB. Within a socket a hop has the PCIe links of its GPUs to itself, 76.19 %
  // of 31.5 GB/s: ceil(44 MB / 23.99985 GB/s) = 1,833,344,792 ps.
  FlowProbe probe(fabric_of("cluster: l40s-pcie\n"));
  const std::uint32_t rings[2][4] = {{0, 1, 4, 5}, {2, 3, 6, 7}};
  probe.at(0, [&] {
    for (std::uint32_t r = 0; r < 2; ++r)
      for (std::uint32_t i = 0; i < 4; ++i) probe.send(rings[r][i], rings[r][(i + 1) % 4], 44'000'000, 4 * r + i);
  });
  probe.run();
  for (const std::uint32_t ring : {0U, 4U}) {
    check_ppm(probe.released(ring + 0), 1'833'344'792);
    check_ppm(probe.released(ring + 1), 4 * kMillisecond);
    check_ppm(probe.released(ring + 2), 1'833'344'792);
    check_ppm(probe.released(ring + 3), 4 * kMillisecond);
  }
}
