// SPDX-License-Identifier: MIT
#include "network/import/nccl_graphs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include <fmt/format.h>

namespace orrery::network {
namespace {

// Names of graphs, by id: NVIDIA/nccl, src/init.cc.
constexpr std::array<std::string_view, 5> kGraphs = {"ring", "tree", "collnet-chain", "nvls", "collnet-direct"};

constexpr std::uint32_t kMostGraphChannels = 64;
// NCCL starts rings and trees twice on each path that it found, up to 32 channels (NVIDIA/nccl, src/graph/connect.cc).
constexpr std::uint32_t kTimes = 2;
constexpr std::uint32_t kMostRingChannels = 32;

double speed_of(const XmlDocument& document, const pugi::xml_node& graph, const char* key) {
  const std::string word = document.text(graph, key);
  double speed = 0;
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), speed);
  if (code != std::errc{} || end != word.data() + word.size() || !(speed >= 0) || speed > 1e6)
    document.refuse(
        graph, fmt::format("{}=\"{}\" of <graph>: expected a speed in GB/s, 0 to 1000000", key, printable(word, 40)));
  return speed;
}

NcclGraph read_graph_of_nccl(const XmlDocument& document, const pugi::xml_node& element) {
  NcclGraph graph;
  graph.name = kGraphs[document.count(element, "id", 0, kGraphs.size() - 1)];
  graph.channels = document.count(element, "nchannels", 0, kMostGraphChannels);
  graph.within = speed_of(document, element, "speedintra");
  graph.between = speed_of(document, element, "speedinter");
  graph.within_type = printable(element.attribute("typeintra").value(), 8);
  graph.between_type = printable(element.attribute("typeinter").value(), 8);
  std::set<std::string> nics;
  std::uint32_t channels = 0;
  for (const pugi::xml_node& channel : element.children("channel")) {
    ++channels;
    for (const pugi::xml_node& net : channel.children("net")) nics.insert(document.text(net, "dev"));
  }
  if (channels != graph.channels)
    document.refuse(element, fmt::format("nchannels=\"{}\" and {} <channel>", graph.channels, channels),
                    "the file may be cut short: dump it again with NCCL_GRAPH_DUMP_FILE");
  graph.nics = static_cast<std::uint32_t>(nics.size());
  return graph;
}

}  // namespace

std::vector<NcclGraph> read_nccl_graphs(const XmlDocument& document) {
  const pugi::xml_node root = document.root();
  const std::int64_t version = document.number(root, "version", INT32_MIN, INT32_MAX);
  if (version != 1)
    document.refuse(root, fmt::format("version {} of NCCL's graphs; 1 is known", version),
                    "NCCL_GRAPH_DUMP_FILE of a newer NCCL may have a format of its own");
  std::vector<NcclGraph> graphs;
  for (const pugi::xml_node& element : root.children("graph")) {
    const NcclGraph& graph = graphs.emplace_back(read_graph_of_nccl(document, element));
    const auto same = std::ranges::find(graphs, graph.name, &NcclGraph::name);
    if (&*same != &graph) document.refuse(element, fmt::format("a second graph of {}", graph.name));
  }
  if (graphs.empty())
    document.refuse(root, "no <graph> in the file", "NCCL_GRAPH_DUMP_FILE writes one for each kind of algorithm");
  return graphs;
}

std::vector<std::string> nccl_lines(const std::vector<NcclGraph>& graphs) {
  std::vector<std::string> channels;
  for (const NcclGraph& graph : graphs) {
    if (graph.channels == 0) continue;
    const std::uint32_t doubled = std::min(kTimes * graph.channels, kMostRingChannels);
    if (graph.name == "nvls") channels.push_back(fmt::format("nvls: {}", graph.channels));
    if (graph.name != "ring") continue;
    if (graph.nics > 0)
      channels.push_back(fmt::format("nic: {:.6g}", static_cast<double>(doubled) / graph.nics));
    else
      channels.push_back(fmt::format("{}: {}", graph.within_type == "NVL" ? "nvlink" : "pcie", doubled));
  }
  if (channels.empty()) return {};
  return {fmt::format("channels: {{{}}}", fmt::join(channels, ", "))};
}

std::string text_of(const NcclGraph& graph) {
  if (graph.channels == 0) return fmt::format("{}: none", graph.name);
  std::string text = fmt::format("{}: {} channels of {:.6g} GB/s, {:.6g} GB/s ({})", graph.name, graph.channels,
                                 graph.within, graph.channels * graph.within, graph.within_type);
  if (graph.nics > 0)
    text += fmt::format("; between nodes {:.6g} GB/s each over {} NICs ({})", graph.between, graph.nics,
                        graph.between_type);
  return text;
}

}  // namespace orrery::network
