// SPDX-License-Identifier: MIT
// Every shipped cluster: it loads, it can be shown, and every device reaches every other under every routing.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/config/config.h"
#include "network/fabric/summary.h"
#include "tests/network/fabric_ways.h"

using namespace orrery;
using namespace orrery::network;

namespace {

const std::vector<std::string> kClusters =
    ConfigFiles(std::filesystem::path(ORRERY_SOURCE_DIR) / "configs").names("clusters");

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Whether the route leads, link by link, from the one device to the other, over at least one link.
bool leads(const Fabric& fabric, std::uint32_t from, std::uint32_t to, std::vector<LinkId>& route) {
  fabric.route(DeviceId(from), DeviceId(to), route);
  VertexId at{from};
  for (const LinkId link : route) {
    const LinkEnds ends = fabric.ends(link);
    if (ends.from != at) return false;
    at = ends.to;
  }
  return at == VertexId(to) && !route.empty();
}

// All of them in a small fabric; of a large one (a TPU pod has 8,192) every so many, an odd number, so that they differ
// in every coordinate.
std::vector<std::uint32_t> devices_of(const Fabric& fabric) {
  const std::uint32_t step = fabric.device_count() <= 256 ? 1 : fabric.device_count() / 200 | 1U;
  std::vector<std::uint32_t> devices;
  for (std::uint32_t device = 0; device < fabric.device_count(); device += step) devices.push_back(device);
  if (devices.back() + 1 != fabric.device_count()) devices.push_back(fabric.device_count() - 1);
  return devices;
}

}  // namespace

TEST_CASE("every shipped cluster: on two nodes there is a way between all pairs, under every routing") {
  for (const std::string& cluster : kClusters) {
    for (const RoutingKind kind : {RoutingKind::kSpray, RoutingKind::kDeterministic, RoutingKind::kEcmp}) {
      INFO(cluster << ", " << routing_names()[static_cast<std::size_t>(kind)]);
      const Fabric fabric = fabric_of(fmt::format("cluster: {}\nnodes: 2\n", cluster), {kind, 0});
      const std::vector<std::uint32_t> devices = devices_of(fabric);
      std::vector<LinkId> route;
      for (const std::uint32_t from : devices)
        for (const std::uint32_t to : devices)
          if (from != to) REQUIRE(leads(fabric, from, to, route));
    }
  }
}

TEST_CASE("every shipped cluster: its summary and its drawing have every vertex and every link") {
  for (const std::string& cluster : kClusters) {
    INFO(cluster);
    const Fabric fabric = fabric_of(fmt::format("cluster: {}\nnodes: 2\n", cluster));
    const FabricSummary summary = summarise(fabric);
    std::uint32_t vertices = 0;
    std::uint32_t links = 0;
    for (const VertexKind& kind : summary.vertices) vertices += kind.count;
    for (const LinkKind& kind : summary.links) links += kind.count;
    CHECK(vertices == fabric.vertex_count());
    CHECK(links == fabric.link_count());
    const std::string dot = dot_text(fabric, cluster);
    CHECK(occurrences(dot, "\n  v") + occurrences(dot, "\n    v") == fabric.vertex_count() + occurrences(dot, " -> "));
    CHECK(occurrences(dot, " -> ") + occurrences(dot, "dir=both") == fabric.link_count());
    CHECK(occurrences(dot, "subgraph") == 2);
    CHECK(std::ranges::count(dot, '{') == std::ranges::count(dot, '}'));
  }
}

TEST_CASE("a drawing has every one of parallel links") {
  const std::string text =
      "cluster: {device: {name: x}, dims: [{topology: dragonfly, size: 4, bandwidth: 9 GB/s, latency: 0 ns, "
      "router_ports: 1, group_routers: 2, local_bandwidth: 3 GB/s, global_bandwidth: 6 GB/s, global_links: 3, "
      "local_latency: 0 ns, global_latency: 0 ns}]}\n";
  const Fabric fabric = fabric_of(text, {RoutingKind::kEcmp, 0});
  const std::string dot = dot_text(fabric, "parallel");
  // 4 members, 2 groups of 2 routers, 3 links between the groups: 4 + 2 + 3, each both ways.
  CHECK(fabric.link_count() == 2 * (4 + 2 + 3));
  CHECK(occurrences(dot, "dir=both") == 4 + 2 + 3);
}
