// SPDX-License-Identifier: MIT
#include "network/fabric/summary.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "core/config/quantity_text.h"

namespace orrery::network {
namespace {

std::string kind_of(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  std::string kind = dot == std::string::npos ? name : name.substr(dot + 1);
  while (kind.size() > 1 && kind.back() >= '0' && kind.back() <= '9') kind.pop_back();
  return kind;
}

// Vertices by the index of their kind.
std::vector<std::size_t> kinds_of_vertices(const Fabric& fabric, std::vector<VertexKind>& kinds) {
  std::vector<std::size_t> of_vertex;
  of_vertex.reserve(fabric.vertex_count());
  std::map<std::string, std::size_t> index;
  for (std::uint32_t vertex = 0; vertex < fabric.vertex_count(); ++vertex) {
    const std::string kind = kind_of(fabric.vertex_name(VertexId(vertex)));
    const auto [known, fresh] = index.try_emplace(kind, kinds.size());
    if (fresh) kinds.push_back({kind, 0});
    ++kinds[known->second].count;
    of_vertex.push_back(known->second);
  }
  return of_vertex;
}

std::string node_of(const std::string& name) {
  const std::size_t dot = name.find('.');
  return dot == std::string::npos || !name.starts_with("node") ? "" : name.substr(0, dot);
}

// "300 GB/s", or "300 GB/s x 80 %" where messages do not get all of it.
std::string capacity_text(const Link& link) {
  if (link.efficiency == kFullEfficiency) return to_text(link.nominal);
  return fmt::format("{} x {}", to_text(link.nominal), to_text(link.efficiency));
}

std::string dot_vertices(const Fabric& fabric) {
  std::string text;
  std::map<std::string, std::string> boxes;
  for (std::uint32_t vertex = 0; vertex < fabric.vertex_count(); ++vertex) {
    const std::string name = fabric.vertex_name(VertexId(vertex));
    const std::string node = node_of(name);
    const std::string label = node.empty() ? name : name.substr(node.size() + 1);
    const std::string line = fmt::format("v{} [label=\"{}\"{}];\n", vertex, label,
                                         vertex < fabric.device_count() ? ", style=filled, fillcolor=lightblue" : "");
    if (node.empty())
      text += "  " + line;
    else
      boxes[node] += "    " + line;
  }
  for (const auto& [node, lines] : boxes)
    text += fmt::format("  subgraph \"cluster_{0}\" {{\n    label=\"{0}\";\n{1}  }}\n", node, lines);
  return text;
}

void collect_assumed(const ConfigValue& value, const std::string& path, std::vector<std::string>& figures) {
  for (const ConfigEntry& entry : value.entries) {
    const std::string here = path.empty() ? entry.key : path + "." + entry.key;
    if (entry.key == "assumed") {
      if (entry.value.kind == ConfigValue::Kind::kScalar) figures.push_back(path + "." + printable(entry.value.scalar));
      for (const ConfigValue& item : entry.value.items) figures.push_back(path + "." + printable(item.scalar));
    } else {
      collect_assumed(entry.value, here, figures);
    }
  }
}

}  // namespace

FabricSummary summarise(const Fabric& fabric) {
  FabricSummary summary;
  const std::vector<std::size_t> kind_of_vertex = kinds_of_vertices(fabric, summary.vertices);
  using Key = std::tuple<std::uint32_t, std::size_t, std::size_t>;  // links of one kind are equal
  std::map<Key, std::size_t> index;
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i) {
    const Link& link = fabric.link(LinkId(i));
    const LinkEnds ends = fabric.ends(LinkId(i));
    const std::size_t from = kind_of_vertex[static_cast<std::uint32_t>(ends.from)];
    const std::size_t to = kind_of_vertex[static_cast<std::uint32_t>(ends.to)];
    const auto [known, fresh] = index.try_emplace(Key{fabric.kind_of(LinkId(i)), from, to}, summary.links.size());
    if (fresh) summary.links.push_back({link, summary.vertices[from].name, summary.vertices[to].name, 0});
    ++summary.links[known->second].count;
  }
  return summary;
}

std::string dot_text(const Fabric& fabric, const std::string& title) {
  std::string name = printable(title, 60);
  std::ranges::replace_if(
      name, [](char c) { return c == '"' || c == '\\'; }, '\'');
  std::string text = fmt::format("digraph \"{}\" {{\n  node [shape=box, fontsize=10];\n  edge [fontsize=8];\n", name);
  text += dot_vertices(fabric);
  using Edge = std::tuple<VertexId, VertexId, std::int64_t, std::int64_t>;
  std::multimap<Edge, std::uint32_t> unpaired;  // links whose other direction has not come up yet
  const auto edge_line = [&](VertexId from, VertexId to, const Link& link, bool both) {
    return fmt::format("  v{} -> v{} [label=\"{}\\n{}\"{}];\n", static_cast<std::uint32_t>(from),
                       static_cast<std::uint32_t>(to), capacity_text(link), to_text(link.latency),
                       both ? ", dir=both" : "");
  };
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i) {
    const Link& link = fabric.link(LinkId(i));
    const LinkEnds ends = fabric.ends(LinkId(i));
    const auto back = unpaired.find({ends.to, ends.from, link.bandwidth.count(), link.latency.count()});
    if (back == unpaired.end()) {
      unpaired.emplace(Edge{ends.from, ends.to, link.bandwidth.count(), link.latency.count()}, i);
      continue;
    }
    text += edge_line(ends.to, ends.from, link, true);
    unpaired.erase(back);
  }
  for (const auto& [edge, i] : unpaired)
    text += edge_line(std::get<0>(edge), std::get<1>(edge), fabric.link(LinkId(i)), false);
  return text + "}\n";
}

std::vector<std::string> assumed_figures(const ConfigValue& root) {
  std::vector<std::string> figures;
  collect_assumed(root, "", figures);
  return figures;
}

}  // namespace orrery::network
