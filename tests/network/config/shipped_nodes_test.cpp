// SPDX-License-Identifier: MIT
// Shipped nodes against hand-counted links and bottlenecks.
#include <catch2/catch.hpp>

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
