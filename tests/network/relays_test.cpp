// SPDX-License-Identifier: MIT
// Messages between rails that a device of the receiver's rail sends for another (NCCL's PXN), by hand.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "network/fabric/fabric.h"
#include "network/fabric/link_names.h"
#include "tests/network/config/read_cluster_text.h"

using namespace orrery;
using namespace orrery::network;

namespace {

// Three nodes of two devices with a NIC each.
std::string rails(const std::string& scale_out, const std::string& more = "interconnect: nvlink") {
  return "cluster:\n"
         "  node:\n"
         "    device: a100-sxm-80gb\n"
         "    devices: 2\n"
         "    " +
         more +
         "\n"
         "    fabric: {topology: switch, bandwidth: 300 GB/s, latency: 1 us, name: nvlink}\n"
         "    nics: {count: 2, bandwidth: 200 Gb/s, host_link: pcie-4, host_latency: 300 ns}\n"
         "  scale_out: {latency: 2 us, " +
         scale_out + "}\nnodes: 3\n";
}

Fabric fabric_of(const std::string& text) {
  ReadCluster read = read_cluster_text(text);
  INFO(read.errors);
  REQUIRE(read.fabric);
  return *read.fabric;
}

using LinkNamesOnRoute = std::vector<std::string>;

// Names of the vertices that the links of a route lead to.
LinkNamesOnRoute stops(const Fabric& fabric, std::uint32_t from, std::uint32_t to) {
  std::vector<LinkId> route;
  fabric.route(DeviceId(from), DeviceId(to), route);
  LinkNamesOnRoute names;
  for (const LinkId link : route) names.push_back(fabric.vertex_name(fabric.ends(link).to));
  return names;
}

}  // namespace

TEST_CASE("a message to another rail goes over NVLink to the GPU on that rail, and never to the spine") {
  Fabric fabric = fabric_of(rails("topology: rail-optimised, leaf_ports: 4, trunk_latency: 500 ns"));
  CHECK(stops(fabric, 0, 3) ==
        LinkNamesOnRoute{"node0.nic0", "rail0.leaf0", "spine0", "rail1.leaf0", "node1.nic1", "node1.gpu1"});
  // PCIe, half a NIC hop, the trunks up and down, the other half, PCIe: 300 + 1000 + 500 + 500 + 1000 + 300 ns.
  CHECK(route_latency(fabric, DeviceId(0), DeviceId(3)) == Duration(3'600'000));
  CHECK_FALSE(fabric.apart());

  fabric.relay_between_rails();
  CHECK(stops(fabric, 0, 3) ==
        LinkNamesOnRoute{"node0.switch0", "node0.gpu1", "node0.nic1", "rail1.leaf0", "node1.nic1", "node1.gpu1"});
  // NVLink takes 1 us in place of the trunks: 1000 + 300 + 1000 + 1000 + 300 ns.
  CHECK(route_latency(fabric, DeviceId(0), DeviceId(3)) == Duration(3'600'000));
  // Devices of one rail send as before, and so do those of one node.
  CHECK(stops(fabric, 0, 2) == LinkNamesOnRoute{"node0.nic0", "rail0.leaf0", "node1.nic0", "node1.gpu0"});
  CHECK(stops(fabric, 0, 1) == LinkNamesOnRoute{"node0.switch0", "node0.gpu1"});
  // Also where one switch joins all NICs.
  Fabric flat = fabric_of(rails("topology: switch"));
  flat.relay_between_rails();
  CHECK(stops(flat, 1, 4) ==
        LinkNamesOnRoute{"node0.switch0", "node0.gpu0", "node0.nic0", "switch0", "node2.nic0", "node2.gpu0"});
}

TEST_CASE("rails that nothing joins reach each other over NVLink alone") {
  const Fabric only = fabric_of(rails("topology: rail-optimised, leaf_ports: 3, spine: false"));
  CHECK(only.relays_between_rails());
  CHECK_FALSE(only.apart());
  CHECK(stops(only, 0, 5) ==
        LinkNamesOnRoute{"node0.switch0", "node0.gpu1", "node0.nic1", "rail1.leaf0", "node2.nic1", "node2.gpu1"});
  // Written out, too.
  std::string links;
  for (int nic = 0; nic < 6; ++nic)
    links += "{from: nic" + std::to_string(nic) + ", to: rail" + std::to_string(nic % 2) +
             ", bandwidth: 25 GB/s, latency: 1 us}, ";
  std::string text = rails("topology: edge-list, links: [" + links + "]");
  text.erase(text.find("latency: 2 us, "), std::string("latency: 2 us, ").size());
  CHECK(stops(fabric_of(text), 0, 5) ==
        LinkNamesOnRoute{"node0.switch0", "node0.gpu1", "node0.nic1", "rail1", "node2.nic1", "node2.gpu1"});
}

TEST_CASE("a network without a spine needs NVLink in the nodes, and a leaf switch for all of them") {
  const auto errors = [](const std::string& text) { return read_cluster_text(text).errors; };
  const std::string only = "topology: rail-optimised, leaf_ports: 3, spine: false";
  CHECK_THAT(errors(rails(only, "interconnect: pcie")),
             Catch::Contains("no way leads from node0.gpu0 to node1.gpu1: nothing joins their rails"));
  CHECK_THAT(
      errors(rails("topology: rail-optimised, leaf_ports: 2, spine: false")),
      Catch::Contains("'spine: false' leaves 2 leaf switches of each rail apart; with leaf_ports: 3 there is one"));
  CHECK_THAT(errors(rails(only + ", trunk_latency: 1 us")),
             Catch::Contains("'trunk_latency' means nothing with 'spine: false'"));
}

TEST_CASE("a GPU hands messages on to the NICs of its node that are alive, whichever NICs of other nodes are dead") {
  Fabric fabric = fabric_of(rails("topology: switch"));
  fabric.relay_between_rails();
  fabric.remove_links(links_named(fabric, "node1.nic1.*"));
  CHECK(stops(fabric, 2, 0) == LinkNamesOnRoute{"node1.nic0", "switch0", "node0.nic0", "node0.gpu0"});
  CHECK(stops(fabric, 2, 5) == LinkNamesOnRoute{"node1.nic0", "switch0", "node2.nic1", "node2.gpu1"});
  for (const std::uint32_t node : {0u, 2u}) {
    const std::string own = "node" + std::to_string(node), other = "node" + std::to_string(2 - node);
    CHECK(stops(fabric, 2 * node, 2 * (2 - node) + 1) == LinkNamesOnRoute{own + ".switch0", own + ".gpu1",
                                                                          own + ".nic1", "switch0", other + ".nic1",
                                                                          other + ".gpu1"});
  }
}

// A DGX-1: GPU 0 has NVLink to GPU 4, whose NIC is nic2; GPU 5 is two hops away, and GPU 1 as near to nic0 as GPU 0.
TEST_CASE("a GPU hands messages on only to one that NVLink joins it to, and not where its own way is as short") {
  Fabric fabric = fabric_of("cluster: dgx-1v\nnodes: 2\n");
  const LinkNamesOnRoute by_own = stops(fabric, 0, 8 + 5);
  fabric.relay_between_rails();
  CHECK(stops(fabric, 0, 8 + 4) == LinkNamesOnRoute{"node0.gpu4", "node0.plx2", "node0.nic2", "switch0", "node1.nic2",
                                                    "node1.plx2", "node1.gpu4"});
  CHECK(stops(fabric, 0, 8 + 5) == by_own);
  CHECK(stops(fabric, 0, 8 + 1) ==
        LinkNamesOnRoute{"node0.plx0", "node0.nic0", "switch0", "node1.nic0", "node1.plx0", "node1.gpu1"});
}
