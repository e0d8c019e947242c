// SPDX-License-Identifier: MIT
#include "network/fabric/summary.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "tests/network/config/read_cluster_text.h"

using namespace orrery;
using namespace orrery::network;

namespace {

Fabric fabric_of(const std::string& text) {
  ReadCluster read = read_cluster_text(text);
  REQUIRE(read.errors == "");
  return std::move(*read.fabric);
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("a summary counts every vertex and link once") {
  for (const std::string name : {"dgx-1v", "dgx-a100", "rtx4090-pcie", "mi300x-8"}) {
    const Fabric fabric = fabric_of("cluster: " + name + "\nnodes: 2\n");
    const FabricSummary summary = summarise(fabric);
    std::uint32_t vertices = 0;
    std::uint32_t links = 0;
    for (const VertexKind& kind : summary.vertices) vertices += kind.count;
    for (const LinkKind& kind : summary.links) links += kind.count;
    INFO(name);
    CHECK(vertices == fabric.vertex_count());
    CHECK(links == fabric.link_count());
    CHECK(summary.vertices[0].name == "gpu");
    CHECK(summary.vertices[0].count == fabric.device_count());
  }
}

TEST_CASE("the summary of a DGX-1 V100 is that of its cube mesh") {
  const FabricSummary summary = summarise(fabric_of("cluster: dgx-1v\n"));
  REQUIRE(summary.links.size() >= 2);
  // 16 pairs, 8 of them with one link and 8 with two: 32 directed trunks.
  CHECK(summary.links[0].count == 16);
  CHECK(summary.links[0].link.nominal == Bandwidth(25'000'000'000));
  CHECK(summary.links[1].count == 16);
  CHECK(summary.links[1].link.nominal == Bandwidth(50'000'000'000));
}

TEST_CASE("a drawing has every vertex, and one edge for two equal links") {
  const Fabric fabric = fabric_of("cluster: rtx4090-pcie\n");
  const std::string dot = dot_text(fabric, "a \"b\"");
  CHECK(dot.starts_with("digraph \"a 'b'\" {\n"));
  CHECK(dot.ends_with("}\n"));
  CHECK(occurrences(dot, "[label=\"gpu") == 8);
  CHECK(occurrences(dot, "fillcolor=lightblue") == 8);  // the devices
  CHECK(occurrences(dot, "subgraph \"cluster_node0\"") == 1);
  // All links of this node are one way only.
  CHECK(occurrences(dot, " -> ") == fabric.link_count());
  const Fabric mesh = fabric_of("cluster: mi300x-8\n");
  CHECK(occurrences(dot_text(mesh, "m"), "dir=both") == 28);  // pairs of 8
}

TEST_CASE("assumed figures are named by their path") {
  Diagnostics diagnostics;
  const ConfigValue root =
      parse_config("cluster: {node: {nics: {count: 1}, assumed: [nics.count, devices]}, scale_out: {assumed: latency}}",
                   "x.yaml", diagnostics);
  CHECK(assumed_figures(root) ==
        std::vector<std::string>{"cluster.node.nics.count", "cluster.node.devices", "cluster.scale_out.latency"});
}
