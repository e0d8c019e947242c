// SPDX-License-Identifier: MIT
#include "network/fabric/cluster.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

using namespace orrery;
using namespace orrery::network;

namespace {

constexpr Bandwidth kNvlink(300'000'000'000);
constexpr Bandwidth kPcie(31'500'000'000);
constexpr Bandwidth kNic(25'000'000'000);

ClusterSpec cluster(std::uint32_t nodes, std::uint32_t devices, std::uint32_t nics,
                    std::string_view fabric = "switch") {
  ClusterSpec spec;
  spec.node.devices = devices;
  spec.node.fabric = {topology_named(fabric), kNvlink, Duration(700'001), "nvlink"};
  spec.node.nics = NicSpec{nics, kNic, kPcie, Duration(500'000)};
  spec.nodes = nodes;
  spec.scale_out = ScaleOutSpec{topology_named("switch"), Duration(600'001)};
  return spec;
}

// "pcie.up nic.up ...", checked to be contiguous from device to device.
std::string classes_on_route(const Fabric& fabric, std::uint32_t from, std::uint32_t to) {
  std::vector<LinkId> links;
  fabric.route(DeviceId(from), DeviceId(to), links);
  std::string classes;
  VertexId at{from};
  for (const LinkId link : links) {
    REQUIRE(fabric.ends(link).from == at);
    at = fabric.ends(link).to;
    classes += fabric.link_classes()[fabric.link(link).link_class] + " ";
  }
  REQUIRE(at == VertexId(to));
  return classes;
}

struct Cost {
  Duration latency{};
  Bandwidth narrowest = Bandwidth::max();
};

Cost cost(const Fabric& fabric, std::uint32_t from, std::uint32_t to) {
  std::vector<LinkId> links;
  fabric.route(DeviceId(from), DeviceId(to), links);
  Cost cost;
  for (const LinkId link : links) {
    cost.latency += fabric.link(link).latency;
    cost.narrowest = std::min(cost.narrowest, fabric.link(link).bandwidth);
  }
  return cost;
}

LinkId link_on_route(const Fabric& fabric, std::uint32_t from, std::uint32_t to, std::size_t hop) {
  std::vector<LinkId> links;
  fabric.route(DeviceId(from), DeviceId(to), links);
  return links.at(hop);
}

}  // namespace

TEST_CASE("messages stay inside a node, or leave it through host path, NIC and scale-out switch") {
  const Fabric fabric = build_cluster(cluster(4, 8, 8));
  CHECK(fabric.device_count() == 32);
  CHECK(classes_on_route(fabric, 9, 15) == "nvlink.up nvlink.down ");
  CHECK(classes_on_route(fabric, 9, 17) == "pcie.up nic.up nic.down pcie.down ");
  CHECK(classes_on_route(fabric, 9, 9) == "");
  CHECK(cost(fabric, 9, 15).latency == Duration(700'001));
  CHECK(cost(fabric, 9, 17).latency == Duration(500'000 + 600'001 + 500'000));
  CHECK(cost(fabric, 9, 17).narrowest == kNic);
}

TEST_CASE(
    "without GPUDirect what a NIC moves goes up to the host's memory and down again, both ways of it on one link") {
  ClusterSpec spec = cluster(2, 8, 4);
  spec.node.nics->gpu_direct = false;
  spec.node.nics->host_latency = Duration(500'001);
  const Fabric fabric = build_cluster(spec);
  CHECK(fabric.link_count() == build_cluster(cluster(2, 8, 4)).link_count() + 2 * 2 * 4);
  CHECK(classes_on_route(fabric, 1, 7) == "nvlink.up nvlink.down ");
  CHECK(classes_on_route(fabric, 1, 9) ==
        "pcie.up host-memory.up host-memory.down nic.up nic.down host-memory.up host-memory.down pcie.down ");
  CHECK(cost(fabric, 1, 9).latency == Duration(4 * 500'001 + 600'001));  // PCIe twice on either side
  CHECK(cost(fabric, 1, 9).narrowest == kNic);
  CHECK(fabric.link(link_on_route(fabric, 1, 9, 1)).bandwidth == kPcie);
  // Two devices share a NIC, and what it sends and receives its way to memory.
  for (std::size_t hop = 1; hop <= 2; ++hop) {
    CHECK(link_on_route(fabric, 0, 9, hop) == link_on_route(fabric, 1, 9, hop));
    CHECK(link_on_route(fabric, 0, 9, hop) == link_on_route(fabric, 9, 0, hop + 4));
    CHECK(link_on_route(fabric, 0, 9, hop) != link_on_route(fabric, 2, 9, hop));
  }
  ClusterSpec wide = cluster(2, 2, 4);
  wide.node.nics->gpu_direct = false;
  CHECK(cost(build_cluster(wide), 0, 2).narrowest == kPcie);  // of the device; two slots lead to memory
}

TEST_CASE("where nodes are alike every link is at one of them, and the same link of the next a stride further") {
  ClusterSpec spec = cluster(3, 8, 4);
  spec.node.nics->gpu_direct = false;
  spec.scale_out->network.stack = HostStack{Bandwidth(2'000'000'000), Duration(8)};
  const Fabric fabric = build_cluster(spec);
  REQUIRE(fabric.has_nodes_alike());
  const auto end_of = [&](VertexId vertex, std::uint32_t node) {
    std::string name = fabric.vertex_name(vertex);
    const std::string own = "node" + std::to_string(node) + ".";
    return name.starts_with(own) ? name.substr(own.size()) : name;
  };
  std::vector<std::uint32_t> of_node(3);
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i) {
    const Fabric::AtNode at = fabric.at_node(LinkId(i));
    REQUIRE(at.node < 3);
    ++of_node[at.node];
    const LinkId first{i - at.node * at.stride};
    CHECK(fabric.at_node(first).node == 0);
    CHECK(fabric.link(first) == fabric.link(LinkId(i)));
    CHECK(end_of(fabric.ends(first).from, 0) == end_of(fabric.ends(LinkId(i)).from, at.node));
    CHECK(end_of(fabric.ends(first).to, 0) == end_of(fabric.ends(LinkId(i)).to, at.node));
  }
  CHECK(of_node == std::vector<std::uint32_t>(3, fabric.link_count() / 3));
}

TEST_CASE("dimensions are the devices of a node and the nodes, the second only where there is more than one") {
  const Fabric one = build_cluster(cluster(1, 8, 8));
  REQUIRE(one.dimensions().size() == 1);
  CHECK(one.dimensions()[0].size == 8);
  CHECK(one.link_count() == 16);  // no NIC can be reached, so there are none
  CHECK(one.vertex_count() == 9);
  const Fabric three = build_cluster(cluster(3, 8, 8, "fully-connected"));
  REQUIRE(three.dimensions().size() == 2);
  CHECK(three.dimensions()[0].topology == "fully-connected");
  CHECK(three.dimensions()[1].topology == "switch");
  CHECK(three.dimensions()[1].size == 3);
}

TEST_CASE("devices share a NIC where there are fewer NICs") {
  const Fabric fabric = build_cluster(cluster(2, 8, 4));
  // Devices 0 and 1 on NIC 0, 2 and 3 on NIC 1.
  CHECK(link_on_route(fabric, 0, 8, 1) == link_on_route(fabric, 1, 8, 1));
  CHECK(link_on_route(fabric, 1, 8, 1) != link_on_route(fabric, 2, 8, 1));
  CHECK(link_on_route(fabric, 0, 8, 0) != link_on_route(fabric, 1, 8, 0));  // but each has its own host path
  CHECK(cost(fabric, 0, 8).narrowest == kNic);
  // 3 NICs for 8 devices: floor(d * 3 / 8) = 0 0 0 1 1 1 2 2.
  const Fabric uneven = build_cluster(cluster(2, 8, 3));
  std::string nics;
  for (std::uint32_t device = 0; device < 8; ++device)
    nics += std::to_string(index_of(link_on_route(uneven, device, 8, 1)) - index_of(link_on_route(uneven, 0, 8, 1)));
  CHECK(nics == "00011122");
}

TEST_CASE("a device's own NICs are one trunk of summed bandwidth, behind its one host path") {
  const Fabric fabric = build_cluster(cluster(2, 4, 8));
  CHECK(fabric.link(link_on_route(fabric, 0, 4, 1)).bandwidth == kNic * 2);
  CHECK(cost(fabric, 0, 4).narrowest == kPcie);  // 31.5 GB/s under 2 x 25 GB/s
  // 2 nodes of 4 devices: 4 + 4 links of the switches inside, 8 + 8 host paths, 8 + 8 NIC trunks.
  CHECK(fabric.link_count() == 2 * 8 + 16 + 16);
}

TEST_CASE("every link of a cluster joins what it should") {
  for (const std::uint32_t devices : {1U, 2U, 8U}) {
    for (const std::uint32_t nics : {1U, 2U, 8U}) {
      if (nics > devices && nics % devices != 0) continue;
      for (const Topology& inside : topologies()) {
        if (inside.read != nullptr) continue;  // with keys of its own
        const ClusterSpec spec = cluster(3, devices, nics, inside.name);
        const Fabric fabric = build_cluster(spec);
        INFO(inside.name << ": " << devices << " devices, " << nics << " NICs");
        REQUIRE(fabric.link_count() == link_count(spec));
        for (std::uint32_t from = 0; from < 3 * devices; ++from)
          for (std::uint32_t to = 0; to < 3 * devices; ++to) {
            const bool inside_a_node = from / devices == to / devices;
            const std::string classes = classes_on_route(fabric, from, to);
            REQUIRE((classes.find("nic.up") == std::string::npos) == inside_a_node);
          }
        for (std::uint32_t i = 0; i < fabric.link_count(); ++i) {
          const LinkEnds ends = fabric.ends(LinkId(i));
          REQUIRE(ends.from != ends.to);
          REQUIRE(std::max(ends.from, ends.to) < VertexId(fabric.vertex_count()));
        }
      }
    }
  }
}

TEST_CASE("a hundred thousand nodes are as small as their links") {
  const Fabric fabric = build_cluster(cluster(131'072, 8, 8));
  REQUIRE(fabric.device_count() == 1U << 20);
  // Six links a device: up and down on NVLink, host path and NIC.
  CHECK(fabric.link_count() == 6U << 20);
  CHECK(fabric.memory_bytes() <= 4 * (std::size_t{6} << 20) + 8 * sizeof(Link));
  CHECK(classes_on_route(fabric, 0, (1U << 20) - 1) == "pcie.up nic.up nic.down pcie.down ");
}
