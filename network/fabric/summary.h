// SPDX-License-Identifier: MIT
// A fabric for people: how many vertices and links of which kind it has, and a drawing for Graphviz.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/tree.h"
#include "network/fabric/fabric.h"

namespace orrery::network {

struct VertexKind {
  std::string name;  // without the node and the number: "gpu", "nic", "plx"
  std::uint32_t count = 0;
};

// Links that are alike: of one class, bandwidth and latency, between two kinds of vertices.
struct LinkKind {
  Link link;
  std::string from;
  std::string to;
  std::uint32_t count = 0;
};

struct FabricSummary {
  std::vector<VertexKind> vertices;  // in order of first appearance
  std::vector<LinkKind> links;
};

FabricSummary summarise(const Fabric& fabric);

// The graph in the DOT language, nodes as boxes. A pair of equal links, one each way, is drawn as one.
std::string dot_text(const Fabric& fabric, const std::string& title);

// The entries of every `assumed` in a configuration, with the paths of what they name:
// "cluster.node.nics.host_latency".
std::vector<std::string> assumed_figures(const ConfigValue& root);

}  // namespace orrery::network
