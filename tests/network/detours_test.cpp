// SPDX-License-Identifier: MIT
// Routes around dead links.
#include "network/fabric/detours.h"

#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "core/error.h"
#include "network/fabric/link_names.h"
#include "network/flow/flow.h"
#include "tests/network/config/read_cluster_text.h"
#include "tests/network/flow/probe.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::test;

namespace {

constexpr std::int64_t kBytePerPicosecond = 1'000'000'000'000;

std::vector<std::uint32_t> links_between(const Fabric& fabric, std::uint32_t from, std::uint32_t to) {
  std::vector<LinkId> route;
  fabric.route(DeviceId(from), DeviceId(to), route);
  std::vector<std::uint32_t> links;
  for (const LinkId link : route) links.push_back(index_of(link));
  return links;
}

Fabric read_fabric(const std::string& text, const Routing& routing = {}) {
  const ReadCluster read = read_cluster_text(text, {}, routing);
  INFO(read.errors);
  REQUIRE(read.fabric);
  return *read.fabric;
}

// Takes the link at the first of `places` away from the way, of `length` links: the new way has others there, and
// nowhere else.
void check_around(Fabric& fabric, std::uint32_t from, std::uint32_t to, std::size_t length,
                  const std::vector<std::size_t>& places) {
  const std::vector<std::uint32_t> whole = links_between(fabric, from, to);
  REQUIRE(whole.size() == length);
  fabric.remove_links(std::vector{LinkId(whole[places.front()])});
  std::vector<std::uint32_t> around = links_between(fabric, from, to);
  REQUIRE(around.size() == length);
  for (const std::size_t place : places) {
    CHECK(around[place] != whole[place]);
    around[place] = whole[place];
  }
  CHECK(around == whole);
}

}  // namespace

TEST_CASE("a message goes round a ring the other way where a link of its own way is dead") {
  // Link i leads up from i, link 4 + i down from i.
  Fabric ring = compose(std::vector{dimension("ring", 4, kBytePerPicosecond, 7)});
  ring.remove_links(std::vector{LinkId(0)});
  CHECK(links_between(ring, 0, 1) == std::vector<std::uint32_t>{4, 7, 6});
  CHECK(links_between(ring, 0, 2) == std::vector<std::uint32_t>{4, 7});
  CHECK(links_between(ring, 1, 2) == std::vector<std::uint32_t>{1});
  CHECK(links_between(ring, 1, 0) == std::vector<std::uint32_t>{5});  // the way back is another link
  Probe<FlowNetwork> probe(ring);
  probe.at(0, [&] { probe.send(0, 1, 100, 1); });
  probe.run();
  CHECK(probe.arrived(1) == 100 + 3 * 7);
}

TEST_CASE("a torus leaves its axis for a dead link, and comes back") {
  Fabric torus =
      read_fabric("cluster: {device: a40, dims: [{topology: torus, sizes: [4, 4], bandwidth: 1 GB/s, latency: 1 us}]}");
  const std::vector<std::uint32_t> own = links_between(torus, 0, 1);
  REQUIRE(own.size() == 1);
  torus.remove_links(std::vector{LinkId(own.front())});
  CHECK(links_between(torus, 0, 1).size() == 3);
  CHECK(links_between(torus, 4, 5).size() == 1);
  CHECK(links_between(torus, 0, 5).size() == 2);  // the second axis first
}

TEST_CASE("a fat-tree sends over the spine switches and up-links that are left") {
  const std::string text =
      "cluster: {device: a40, dims: [{topology: fat-tree, size: 8, leaf_ports: 4, uplinks: 2, trunk_latency: 1 us, "
      "bandwidth: 1 GB/s, latency: 1 us}]}";
  for (const RoutingKind kind : {RoutingKind::kDeterministic, RoutingKind::kEcmp}) {
    Fabric tree = read_fabric(text, {kind});
    const std::uint32_t taken = links_between(tree, 0, 4).at(1);
    tree.remove_links(std::vector{LinkId(taken)});
    for (std::uint32_t from = 0; from < 4; ++from)
      for (std::uint32_t to = 4; to < 8; ++to) {
        const std::vector<std::uint32_t> links = links_between(tree, from, to);
        CHECK(links.size() == 4);
        CHECK(std::ranges::find(links, taken) == links.end());
      }
  }
  // Sprayed over, they are one trunk, and nothing else leads up.
  Fabric sprayed = read_fabric(text);
  sprayed.remove_links(std::vector{LinkId(links_between(sprayed, 0, 4).at(1))});
  CHECK_THROWS_WITH(links_between(sprayed, 0, 4), Catch::Contains("no way is left from gpu0 to gpu4"));
  CHECK(links_between(sprayed, 0, 3).size() == 2);
}

TEST_CASE("NICs and devices of nodes pass on nothing that they would not") {
  const std::string text =
      "cluster: {node: {device: a40, devices: 4, fabric: {topology: fully-connected, bandwidth: 1 GB/s, latency: 1 "
      "us}, "
      "nics: {count: 2, bandwidth: 5 GB/s, host_bandwidth: 4 GB/s, host_latency: 1 us, gpu_direct: false}}, nodes: 2, "
      "scale_out: {topology: switch, latency: 1 us, network: {kind: ethernet, stack: {thread: 2 GB/s, latency: 1 "
      "us}}}}";
  const Fabric whole = read_fabric(text);
  Fabric fabric = whole;
  fabric.remove_links(std::vector{LinkId(links_between(whole, 0, 1).front())});
  CHECK(links_between(fabric, 0, 1).size() == 2);  // over another device, not over the NIC of both
  // The NIC of devices 0 and 1 cannot send: they do so by way of devices 2 and 3, whose NIC can.
  Fabric off = whole;
  const std::vector<std::uint32_t> out = links_between(whole, 0, 4);
  const auto nic = std::ranges::find_if(
      out, [&](std::uint32_t link) { return whole.link_classes()[whole.link(LinkId(link)).link_class] == "nic.up"; });
  off.remove_links(std::vector{LinkId(*nic)});
  for (const std::uint32_t device : {0u, 1u}) {
    std::vector<std::uint32_t> way = links_between(whole, device + 2, 4);
    way.front() = links_between(whole, device, 4).front();  // the host's software is that of the sender
    way.insert(way.begin() + 1, links_between(whole, device, device + 2).front());
    CHECK(links_between(off, device, 4) == way);
  }
  CHECK(links_between(off, 2, 4) == links_between(whole, 2, 4));
  CHECK(links_between(off, 4, 0) == links_between(whole, 4, 0));
}

TEST_CASE(
    "neighbours that lose their NICs get different ones, and a device that is cut off from its own gets another") {
  const std::string text =
      "cluster: {node: {device: a40, devices: 8, fabric: {topology: switch, bandwidth: 1 GB/s, latency: 1 us}, nics: "
      "{count: 8, bandwidth: 5 GB/s, host_bandwidth: 4 GB/s, host_latency: 1 us}}, nodes: 2, scale_out: {topology: "
      "switch, latency: 1 us}}";
  const auto nics_out = [&](const std::vector<std::string>& dead) {
    Fabric fabric = read_fabric(text);
    for (const std::string& name : dead) fabric.remove_links(links_named(fabric, name));
    std::vector<std::uint32_t> nics;
    for (std::uint32_t device = 0; device < 8; ++device) nics.push_back(fabric.nics_of(DeviceId(device)).out);
    return nics;
  };
  CHECK(nics_out({"node0.nic0"}) == std::vector<std::uint32_t>{1, 1, 2, 3, 4, 5, 6, 7});
  CHECK(nics_out({"node0.nic0", "node0.nic1"}) == std::vector<std::uint32_t>{2, 3, 2, 3, 4, 5, 6, 7});
  CHECK(nics_out({"node0.gpu5.pcie.up"}) == std::vector<std::uint32_t>{0, 1, 2, 3, 4, 4, 6, 7});
  CHECK(nics_out({"node0.nic4.*"}) == std::vector<std::uint32_t>{0, 1, 2, 3, 5, 5, 6, 7});
  Fabric whole = read_fabric(text);
  whole.remove_links(links_named(whole, "fabric.up[0]"));
  CHECK_FALSE(whole.uses_spare_nics());
}

TEST_CASE("where NICs are in the node's graph, the nearest that is left takes over") {
  // Two PCIe switches with a device and two NICs each.
  const std::string text =
      "cluster: {node: {device: a40, devices: 2, nics: {count: 4, bandwidth: 5 GB/s, of: [0, 2]}, links: ["
      "{from: gpu0, to: plx0, bandwidth: 8 GB/s, latency: 1 us}, {from: nic0, to: plx0, bandwidth: 8 GB/s, latency: 1 "
      "us},"
      "{from: nic1, to: plx0, bandwidth: 8 GB/s, latency: 1 us}, {from: plx0, to: plx1, bandwidth: 8 GB/s, latency: 1 "
      "us},"
      "{from: gpu1, to: plx1, bandwidth: 8 GB/s, latency: 1 us}, {from: nic2, to: plx1, bandwidth: 8 GB/s, latency: 1 "
      "us},"
      "{from: nic3, to: plx1, bandwidth: 8 GB/s, latency: 1 us}]}, nodes: 2, scale_out: {topology: switch, latency: 1 "
      "us}}";
  Fabric fabric = read_fabric(text);
  const std::vector<std::uint32_t> own = links_between(fabric, 0, 2);
  fabric.remove_links(links_named(fabric, "node0.nic0"));
  CHECK(fabric.nics_of(DeviceId(0)).out == 1);
  CHECK(links_between(fabric, 0, 2).size() == own.size());
  fabric.remove_links(links_named(fabric, "node0.nic1"));
  CHECK(fabric.nics_of(DeviceId(0)).out == 2);
  CHECK(links_between(fabric, 0, 2).size() == own.size() + 1);  // over the other PCIe switch
  fabric.remove_links(links_named(fabric, "node0.nic2"));
  CHECK(fabric.nics_of(DeviceId(0)).out == 3);
  CHECK(fabric.nics_of(DeviceId(1)).out == 3);
}

TEST_CASE("a way around passes the software and the memory of the hosts as the route does") {
  // Two ways through the scale-out fabric, of which the wider is the route.
  const std::string text =
      "cluster: {node: {device: a40, devices: 1, fabric: {topology: switch, bandwidth: 1 GB/s, latency: 1 us}, nics: "
      "{count: 1, bandwidth: 5 GB/s, host_bandwidth: 4 GB/s, host_latency: 1 us, gpu_direct: false}}, nodes: 2, "
      "scale_out: {topology: edge-list, network: {kind: ethernet, stack: {thread: 2 GB/s, latency: 1 us}}, links: "
      "[{from: nic0, to: a, bandwidth: 2 GB/s, latency: 1 us}, {from: a, to: nic1, bandwidth: 2 GB/s, latency: 1 us}, "
      "{from: nic0, to: b, bandwidth: 1 GB/s, latency: 1 us}, {from: b, to: nic1, bandwidth: 1 GB/s, latency: 1 us}]}}";
  Fabric fabric = read_fabric(text);
  check_around(fabric, 0, 1, 10, {4, 5});  // stack, pcie, memory twice, two links, memory twice, pcie, stack
}

TEST_CASE("a way around begins at the NIC that takes the place of a dead one, over the node's own links") {
  std::string links;
  for (const char* nic : {"nic0", "nic1", "nic2", "nic3"})
    for (const auto& [to, rate] : {std::pair{"a", "2 GB/s"}, std::pair{"b", "1 GB/s"}})
      links += std::string("{from: ") + nic + ", to: " + to + ", bandwidth: " + rate + ", latency: 1 us}, ";
  const std::string text =
      "cluster: {node: {device: a40, devices: 2, fabric: {topology: switch, bandwidth: 9 GB/s, latency: 1 us}, nics: "
      "{count: 2, bandwidth: 5 GB/s, host_bandwidth: 4 GB/s, host_latency: 1 us}}, nodes: 2, "
      "scale_out: {topology: edge-list, links: [" +
      links + "]}}";
  Fabric fabric = read_fabric(text);
  fabric.remove_links(links_named(fabric, "node0.gpu0.pcie.up"));
  REQUIRE(fabric.nics_of(DeviceId(0)).out == 1);
  check_around(fabric, 0, 3, 6, {3, 4});  // the node's switch to device 1, its pcie, two links by 'a', pcie
}

TEST_CASE(
    "whatever is dead, a way is contiguous, alive and no shorter, and there is none only where a side is cut off") {
  std::mt19937_64 random(31);
  std::size_t found = 0, cut = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const std::string topology = std::vector<std::string>{
        "sizes: [3, 4], topology: torus", "sizes: [3, 3], topology: mesh", "axes: 3, topology: hypercube",
        "size: 7, topology: ring", "size: 5, topology: fully-connected"}[random() % 5];
    const Fabric whole =
        read_fabric("cluster: {device: a40, dims: [{" + topology + ", bandwidth: 1 GB/s, latency: 1 us}]}");
    std::vector<LinkId> dead;
    for (std::uint32_t link = 0; link < whole.link_count(); ++link)
      if (random() % 4 == 0) dead.push_back(LinkId(link));
    Fabric fabric = whole;
    fabric.remove_links(dead);
    for (std::uint32_t from = 0; from < whole.device_count(); ++from) {
      std::set<std::uint32_t> reached = {from};
      for (bool grows = true; std::exchange(grows, false);)
        for (std::uint32_t link = 0; link < whole.link_count(); ++link)
          if (std::ranges::find(dead, LinkId(link)) == dead.end() &&
              reached.contains(static_cast<std::uint32_t>(whole.ends(LinkId(link)).from)))
            grows |= reached.insert(static_cast<std::uint32_t>(whole.ends(LinkId(link)).to)).second;
      for (std::uint32_t to = 0; to < whole.device_count(); ++to) {
        if (!reached.contains(to)) {
          CHECK_THROWS_AS(links_between(fabric, from, to), InputError);
          ++cut;
          continue;
        }
        std::uint32_t at = from;
        const std::vector<std::uint32_t> links = links_between(fabric, from, to);
        for (const std::uint32_t link : links) {
          CHECK(static_cast<std::uint32_t>(whole.ends(LinkId(link)).from) == at);
          CHECK(std::ranges::find(dead, LinkId(link)) == dead.end());
          at = static_cast<std::uint32_t>(whole.ends(LinkId(link)).to);
        }
        CHECK(at == to);
        CHECK(links.size() >= links_between(whole, from, to).size());
        ++found;
      }
    }
  }
  CHECK(found > 1000);
  CHECK(cut > 10);
}
