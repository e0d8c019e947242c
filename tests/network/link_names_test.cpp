// SPDX-License-Identifier: MIT
#include "network/fabric/link_names.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "tests/network/fabric_ways.h"

using namespace orrery;
using namespace orrery::network;

TEST_CASE("a link is called by the device, switch or NIC that it begins or ends at") {
  const Fabric fabric = fabric_of("cluster: dgx-a100\nnodes: 2\n");
  std::set<std::string> names;
  for (std::uint32_t link = 0; link < fabric.link_count(); ++link) names.insert(name_of(fabric, LinkId(link)));
  CHECK(names.size() == fabric.link_count());
  for (const char* name : {"node0.gpu0.nvlink.up", "node1.gpu7.nvlink.down", "node1.nic0.up", "node0.nic7.down"}) {
    INFO(name);
    CHECK(names.contains(name));
  }
  // From device to device there is no up and down.
  const Fabric cube = fabric_of("cluster: dgx-1v\nnodes: 2\n");
  std::vector<LinkId> route;
  cube.route(DeviceId(0), DeviceId(1), route);
  REQUIRE(route.size() == 1);
  CHECK(name_of(cube, route.front()) == "node0.gpu0>node0.gpu1");
  // The stack of a host begins and ends at the device for which it works.
  const Fabric tcp = fabric_of(
      "cluster: {node: dgx-a100, scale_out: {topology: switch, latency: 1 us, network: ethernet}}\nnodes: 2\n");
  tcp.route(DeviceId(0), DeviceId(15), route);
  CHECK(name_of(tcp, route.front()) == "node0.gpu0.stack.up");
  CHECK(name_of(tcp, route.back()) == "node1.gpu7.stack.down");
}

TEST_CASE("every link is found by its name") {
  for (const char* cluster : {"dgx-a100", "dgx-1v", "l40s-pcie", "dgx-superpod"}) {
    const Fabric fabric = fabric_of(std::string("cluster: ") + cluster + "\nnodes: 2\n");
    for (std::uint32_t link = 0; link < fabric.link_count(); ++link) {
      const std::string name = name_of(fabric, LinkId(link));
      INFO(cluster << ": " << name);
      CHECK(std::ranges::count(links_named(fabric, name), LinkId(link)) == 1);
    }
  }
}

TEST_CASE("a name that is none is likened to those of the first ten thousand vertices") {
  const Fabric fabric = fabric_of(
      "cluster: {device: {name: x}, dims: [{topology: switch, size: 20000, bandwidth: 1 GB/s, latency: 1 us}]}\n");
  CHECK(link_name_hint(fabric, "gpu9999x") == "did you mean 'gpu9999'?");
  CHECK(link_name_hint(fabric, "gpu10000x") != "did you mean 'gpu10000'?");
}
