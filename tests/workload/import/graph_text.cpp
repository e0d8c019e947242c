// SPDX-License-Identifier: MIT
#include "tests/workload/import/graph_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config/quantity_text.h"

namespace orrery::testing {
namespace {

std::string what(const workload::Job& job, RankId rank, NodeId node) {
  const workload::ExecutionGraph& graph = job.graph(rank);
  const std::string bytes = fmt::format("{} B", graph.bytes(node).count());
  switch (graph.kind(node)) {
    case workload::NodeKind::kCollective:
      return fmt::format("{} {} on {}", name_of(graph.collective_kind(node)), bytes,
                         job.communicators[index_of(job.communicator(rank, node))].name);
    case workload::NodeKind::kSend:
      return fmt::format("send {} to {}", bytes, index_of(job.peer(rank, node)));
    case workload::NodeKind::kReceive:
      return fmt::format("receive {} from {}", bytes, index_of(job.peer(rank, node)));
    case workload::NodeKind::kCompute:
      return fmt::format("compute {}{}", to_text(graph.duration(node).value()),
                         graph.stream(node) > 0 ? fmt::format(" on stream {}", graph.stream(node)) : "");
    default:
      return std::string(workload::name_of(graph.kind(node)));
  }
}

}  // namespace

std::vector<std::string> graph_text(const workload::Job& job, std::uint32_t rank) {
  const workload::ExecutionGraph& graph = job.graph(RankId(rank));
  std::vector<std::vector<std::uint32_t>> before(graph.size());
  for (std::uint32_t node = 0; node < graph.size(); ++node)
    for (const NodeId after : graph.successors(NodeId(node))) before[index_of(after)].push_back(node);
  std::vector<std::string> lines;
  for (std::uint32_t node = 0; node < graph.size(); ++node) {
    lines.push_back(fmt::format("{}: {}, {}", node, job.labels_of(RankId(rank)).name(NodeId(node)),
                                what(job, RankId(rank), NodeId(node))));
    if (!before[node].empty()) lines.back() += fmt::format(", after {}", fmt::join(before[node], " "));
  }
  return lines;
}

std::vector<std::uint32_t> members(const workload::Job& job, const std::string& name) {
  std::vector<std::uint32_t> result;
  for (const workload::Communicator& communicator : job.communicators)
    if (communicator.name == name)
      for (const RankId rank : communicator.members) result.push_back(index_of(rank));
  return result;
}

}  // namespace orrery::testing
