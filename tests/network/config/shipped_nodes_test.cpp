// SPDX-License-Identifier: MIT
// Shipped nodes against hand-counted links and bottlenecks.
#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/network/config/read_cluster_text.h"
#include "tests/network/fabric_ways.h"

using namespace orrery;
using namespace orrery::network;

TEST_CASE("the shipped DGX-1 V100 is the hybrid cube mesh: six links a GPU, two hops at most") {
  const Fabric fabric = fabric_of("cluster: dgx-1v\nnodes: 2\n");
  // Row 0 of its matrix: NV1 NV1 NV2 NV2 to GPUs 1 to 4; to 5, 6, 7 through a neighbour of both.
  // NCCL counts on 20 of the 25 GB/s of a link.
  const std::int64_t row[] = {20, 20, 40, 40};
  for (std::uint32_t to = 1; to <= 4; ++to) {
    CHECK(way(fabric, 0, to).hops == 1);
    CHECK(way(fabric, 0, to).narrowest == gb(row[to - 1]));
  }
  // 0 to 5: over 1 (1 link, then 2) or over 4 (2, then 1): one link either way, so the lower. 0 to 6: over 2 or 4, one
  // each. 0 to 7: over 4 (2 and 2), wider than over 3 (2 and 1).
  CHECK(way(fabric, 0, 5).through == "node0.gpu1 node0.gpu5 ");
  CHECK(way(fabric, 0, 6).through == "node0.gpu2 node0.gpu6 ");
  CHECK(way(fabric, 0, 7).through == "node0.gpu4 node0.gpu7 ");
  CHECK(way(fabric, 0, 7).narrowest == gb(40));
  for (std::uint32_t from = 0; from < 8; ++from) {
    std::int64_t links = 0;
    for (std::uint32_t to = 0; to < 8; ++to) {
      if (from == to) continue;
      CHECK(way(fabric, from, to).hops <= 2);
      if (way(fabric, from, to).hops == 1) links += way(fabric, from, to).narrowest.count() / 20'000'000'000;
    }
    CHECK(links == 6);
  }
  CHECK(way(fabric, 5, 8).through == "node0.plx2 node0.nic2 switch0 node1.nic0 node1.plx0 node1.gpu0 ");
  CHECK(way(fabric, 5, 8).narrowest == Bandwidth(11'999'925'000));  // PCIe: 76.19 % of 15.75 GB/s
}

TEST_CASE("shipped nodes without NVLink switches: who meets where") {
  const Fabric p100 = fabric_of("cluster: dgx-1p\n");
  CHECK(way(p100, 0, 4).hops == 1);
  CHECK(way(p100, 0, 5).through == "node0.gpu1 node0.gpu5 ");
  CHECK(way(p100, 0, 5).narrowest == gb(18));  // 90 % of 20
  const Fabric a40 = fabric_of("cluster: a40-pcie\n");
  CHECK(way(a40, 0, 1).narrowest == Bandwidth(47'998'125'000));  // 85.33 % of 56.25
  CHECK(way(a40, 1, 2).through == "node0.cpu0 node0.gpu2 ");
  CHECK(way(a40, 0, 4).narrowest == gb(16));
  const Fabric rtx = fabric_of("cluster: rtx4090-pcie\n");
  CHECK(way(rtx, 0, 1).through == "node0.cpu0-in node0.cpu0-out node0.gpu1 ");
  CHECK(way(rtx, 0, 1).latency == Duration(1'100'000));
  CHECK(way(rtx, 0, 4).narrowest == gb(10));
  const Fabric tpu = fabric_of("cluster: tpu-v4-pod\n");
  CHECK(tpu.link_count() == 4096 * 6);
  CHECK(way(tpu, 0, 15).hops == 1);
}

// A DGX-1 V100 is written for nic0 to nic3, one on each PCIe switch.
TEST_CASE("a node whose links name NICs is read with fewer of them, and refused with more") {
  const auto read = [](const std::string& nics) {
    return read_cluster_text("cluster: dgx-1v\nnodes: 2\n", {"cluster.node.nics.count=" + nics});
  };
  for (const std::string count : {"1", "2", "3"}) {
    const ReadCluster fewer = read(count);
    INFO(count << fewer.errors);
    REQUIRE(fewer.fabric);
    const std::string left = count == "3" ? "nic3" : "nic" + count + " to nic3";
    CHECK(fewer.errors.find("so the links of " + left + " are left out") != std::string::npos);
    std::vector<LinkId> route;
    fewer.fabric->route(DeviceId(7), DeviceId(8), route);  // by the nearest NIC that is left
    const auto stop = [&](std::size_t i) { return fewer.fabric->vertex_name(fewer.fabric->ends(route[i]).to); };
    CHECK(std::ranges::any_of(route, [&](LinkId link) {
      return fewer.fabric->vertex_name(fewer.fabric->ends(link).to) == (count == "3" ? "node0.nic2" : "node0.nic0");
    }));
    CHECK(stop(route.size() - 1) == "node1.gpu0");
  }
  CHECK(read("4").errors.empty());
  CHECK(read("5").errors.find("no link names nic4; join it to a switch or to another device, or lower `nics.count`") !=
        std::string::npos);
}

TEST_CASE("a switch may lose all but one of its links with the NICs, whichever end of a link is named first") {
  const auto errors = [](const std::string& links) {
    return read_cluster_text(
               "cluster: {node: {device: {name: x}, devices: 2, nics: {count: 1, bandwidth: 100 Gb/s}, links: [" +
               links + "]}}\n")
        .errors;
  };
  const std::string more = ", bandwidth: 10 GB/s, latency: 1 us}";
  const std::string first = "{from: nic0, to: gpu0" + more + ", {from: gpu0, to: gpu1" + more;
  for (const std::string ends : {"from: sw, to: nic1", "from: nic1, to: sw"}) {
    const std::string found = errors(first + ", {from: gpu1, to: sw" + more + ", {" + ends + more);
    INFO(found);
    CHECK(found.find("so the links of nic1 are left out") != std::string::npos);
    CHECK(found.find("leads nowhere") == std::string::npos);
  }
  CHECK(errors(first + ", {from: nic1, to: gpu1" + more + ", {from: sw, to: gpu1" + more).find("'sw' leads nowhere") !=
        std::string::npos);
}

// 256 GB/s a chip both ways along the rings of instances, over two links: 64 one way, half of the 128 within one.
TEST_CASE("a Trn2 UltraServer is a torus of 4 x 4 x 4, half as fast between its instances") {
  const Fabric fabric = fabric_of("cluster: trn2-ultraserver\n");
  CHECK(fabric.link_count() == 64 * 6);
  CHECK(way(fabric, 0, 1).narrowest == gb(128));
  CHECK(way(fabric, 0, 12).narrowest == gb(128));  // the axis closes
  CHECK(way(fabric, 0, 16).narrowest == gb(64));
  CHECK(way(fabric, 0, 48).hops == 1);
  CHECK(way(fabric, 0, 21).hops == 3);
  CHECK(way(fabric, 0, 21).narrowest == gb(64));
}

// NICs 0 of both nodes are on a switch of their own: what device 0 sends to device 9, on rail 1, goes over NVLink
// first.
TEST_CASE("without a spine a message changes rails over NVLink in its sender's node") {
  const Fabric fabric = fabric_of("cluster: dgx-h100-rail-only\nnodes: 2\n");
  CHECK(way(fabric, 0, 9).through.find("node0.gpu1 node0.nic1 ") != std::string::npos);
  CHECK(way(fabric, 0, 8).through.find("node0.nic0 ") != std::string::npos);
  CHECK(way(fabric, 0, 8).through.find("node0.gpu") == std::string::npos);
}
