// SPDX-License-Identifier: MIT
#include "network/fabric/compose.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>

using namespace orrery;
using namespace orrery::network;

namespace {

DimensionSpec dimension(std::string_view topology, std::uint32_t size, std::int64_t latency = 1000) {
  return {topology_named(topology), size, Bandwidth(1'000'000'000), Duration(latency), {}};
}

std::vector<LinkId> route(const Fabric& fabric, std::uint32_t from, std::uint32_t to) {
  std::vector<LinkId> links = {LinkId(99)};  // must be replaced
  fabric.route(DeviceId(from), DeviceId(to), links);
  return links;
}

// The devices a route visits, ends included.
std::vector<std::uint32_t> devices_visited(const Fabric& fabric, std::uint32_t from, std::uint32_t to) {
  std::vector<std::uint32_t> visited = {from};
  std::uint32_t at = from;
  for (const LinkId link : route(fabric, from, to)) {
    REQUIRE(static_cast<std::uint32_t>(fabric.ends(link).from) == at);
    at = static_cast<std::uint32_t>(fabric.ends(link).to);
    REQUIRE(at < fabric.vertex_count());
    if (at < fabric.device_count()) visited.push_back(at);
  }
  return visited;
}

Duration latency(const Fabric& fabric, std::uint32_t from, std::uint32_t to) {
  Duration sum{};
  for (const LinkId link : route(fabric, from, to)) sum += fabric.link(link).latency;
  return sum;
}

std::uint32_t coordinate(const Fabric& fabric, std::uint32_t device, std::size_t dimension) {
  for (std::size_t d = 0; d < dimension; ++d) device /= fabric.dimensions()[d].size;
  return device % fabric.dimensions()[dimension].size;
}

}  // namespace

TEST_CASE("a route goes dimension by dimension, through the devices in between") {
  const std::vector<DimensionSpec> dims = {dimension("ring", 4), dimension("switch", 3),
                                           dimension("fully-connected", 2)};
  const Fabric fabric = compose(dims);
  REQUIRE(fabric.device_count() == 24);
  // Device 1 = (1, 0, 0) to 23 = (3, 2, 1): ring 1 -> 2 -> 3, switch 3 -> 3 + 2*4 = 11, mesh 11 -> 11 + 12.
  CHECK(devices_visited(fabric, 1, 23) == std::vector<std::uint32_t>{1, 2, 3, 11, 23});
  CHECK(devices_visited(fabric, 23, 23) == std::vector<std::uint32_t>{23});
  CHECK(route(fabric, 5, 5).empty());
}

TEST_CASE("the latency of a route is the sum over the dimensions, to the picosecond") {
  // Odd figures: a switch halves them.
  const std::vector<DimensionSpec> dims = {dimension("ring", 6, 11), dimension("switch", 3, 701),
                                           dimension("fully-connected", 3, 9001)};
  const Fabric fabric = compose(dims);
  // (0,0,0) to (4,1,2): the ring goes down 2 hops, so 2 * 11 + 701 + 9001.
  CHECK(latency(fabric, 0, 4 + 1 * 6 + 2 * 18) == Duration(2 * 11 + 701 + 9001));
}

TEST_CASE(
    "every composition of two topologies: routes between random pairs are contiguous and change one coordinate at a "
    "time") {
  std::mt19937 random(3);
  const auto below = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  for (const Topology& first : topologies()) {
    for (const Topology& second : topologies()) {
      if (first.read != nullptr || second.read != nullptr) continue;  // with keys of their own: topology_test
      for (std::uint32_t a = 1; a <= 17; a += 2) {
        const std::uint32_t b = 1 + below(17);
        const std::vector<DimensionSpec> dims = {{&first, a, Bandwidth(2), Duration(5), {}},
                                                 {&second, b, Bandwidth(3), Duration(7), {}}};
        const Fabric fabric = compose(dims);
        INFO(first.name << " " << a << " x " << second.name << " " << b);
        REQUIRE(fabric.link_count() == link_count(dims));
        for (int i = 0; i < 20; ++i) {
          const std::uint32_t from = below(a * b);
          const std::uint32_t to = below(a * b);
          const auto visited = devices_visited(fabric, from, to);
          REQUIRE(visited.back() == to);
          bool in_second = false;
          for (std::size_t hop = 1; hop < visited.size(); ++hop) {
            const bool changes_first = coordinate(fabric, visited[hop - 1], 0) != coordinate(fabric, visited[hop], 0);
            const bool changes_second = coordinate(fabric, visited[hop - 1], 1) != coordinate(fabric, visited[hop], 1);
            REQUIRE(changes_first != changes_second);
            REQUIRE_FALSE((changes_first && in_second));
            in_second = changes_second;
          }
        }
      }
    }
  }
}

TEST_CASE("every link of a composed fabric belongs to its dimension's class and joins distinct vertices") {
  const std::vector<DimensionSpec> dims = {dimension("switch", 3), dimension("ring", 5),
                                           dimension("fully-connected", 4)};
  const Fabric fabric = compose(dims);
  // 3-switch in 20 slices, 6 links each; 5-ring in 12, 10 each; 4-mesh in 15, 12 each.
  REQUIRE(fabric.link_count() == 20 * 6 + 12 * 10 + 15 * 12);
  REQUIRE(fabric.vertex_count() == 60 + 20);
  std::vector<std::uint32_t> of_class(fabric.link_classes().size(), 0);
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i) {
    ++of_class[fabric.link(LinkId(i)).link_class];
    REQUIRE(fabric.ends(LinkId(i)).from != fabric.ends(LinkId(i)).to);
  }
  CHECK(std::vector<std::string>(fabric.link_classes().begin(), fabric.link_classes().end()) ==
        std::vector<std::string>{"dim0.up", "dim0.down", "dim1.up", "dim1.down", "dim2.peer"});
  CHECK(of_class == std::vector<std::uint32_t>{60, 60, 60, 60, 180});
}

TEST_CASE("two slices share no link") {
  const Fabric fabric = compose(std::vector<DimensionSpec>{dimension("ring", 4), dimension("ring", 4)});
  std::vector<int> used(fabric.link_count(), 0);
  for (std::uint32_t device = 0; device < 16; ++device) {
    const std::uint32_t along_first = device / 4 * 4 + (device + 1) % 4;
    const std::uint32_t along_second = (device + 4) % 16;
    for (const std::uint32_t to : {along_first, along_second})
      for (const LinkId link : route(fabric, device, to)) ++used[index_of(link)];
  }
  // All 32 messages go one hop up, each on its own link; the 32 links down are unused.
  CHECK(std::ranges::count(used, 1) == 32);
  CHECK(std::ranges::count(used, 0) == 32);
}

TEST_CASE("dimensions keep their name, topology and size") {
  DimensionSpec pod = dimension("switch", 8);
  pod.name = "pod";
  const Fabric fabric = compose(std::vector<DimensionSpec>{pod, dimension("ring", 2)});
  REQUIRE(fabric.dimensions().size() == 2);
  CHECK(fabric.dimensions()[0].name == "pod");
  CHECK(fabric.dimensions()[0].topology == "switch");
  CHECK(fabric.dimensions()[1].name == "dim1");
  CHECK(fabric.dimensions()[1].size == 2);
  CHECK(fabric.link_classes()[0] == "pod.up");
}

TEST_CASE("a million devices cost four bytes a link") {
  const Fabric fabric =
      compose(std::vector<DimensionSpec>{dimension("switch", 8), dimension("ring", 128), dimension("ring", 1024)});
  REQUIRE(fabric.device_count() == 1U << 20);
  // Two links per device in every dimension.
  const std::size_t links = 3 * 2 * (std::size_t{1} << 20);
  REQUIRE(fabric.link_count() == links);
  // Plus the six kinds of links: two of the switch (up, down), two of each ring, in a vector that doubles (8 of 24
  // bytes).
  CHECK(fabric.memory_bytes() <= 4 * links + 8 * sizeof(Link));
  // The far corner of all dimensions: 2 links through the switch, 64 and 512 up the rings.
  CHECK(route(fabric, 0, 7 + 8 * (64 + 128 * 512)).size() == 2 + 64 + 512);
}
