#include "workload/graph/summary.h"

#include <algorithm>
#include <map>
#include <utility>

namespace orrery {
namespace {

bool is_communication(NodeKind kind) {
  return kind == NodeKind::kCollective || kind == NodeKind::kSend || kind == NodeKind::kReceive;
}

void summarise_nodes(const ExecutionGraph& graph, GraphSummary& summary) {
  std::map<std::pair<std::uint32_t, CollectiveKind>, CallSummary> calls;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    const NodeId node{i};
    const NodeKind kind = graph.kind(node);
    const Total bytes = graph.bytes(node).count();
    KindSummary& of_kind = summary.kinds[static_cast<std::size_t>(kind)];
    ++of_kind.nodes;
    if (const auto duration = graph.duration(node)) {
      ++of_kind.measured;
      of_kind.picoseconds += duration->count();
    }
    summary.flops += graph.flops(node).count();
    if (!is_communication(kind)) summary.tensor_bytes += bytes;
    if (kind == NodeKind::kSend) summary.bytes_sent += bytes;
    if (kind == NodeKind::kReceive) summary.bytes_received += bytes;
    if (kind != NodeKind::kCollective) continue;
    CallSummary& call = calls[{graph.communicator_slot(node), graph.collective_kind(node)}];
    ++call.calls;
    call.bytes += bytes;
  }
  for (const auto& [key, call] : calls) {
    summary.calls.push_back(call);
    summary.calls.back().slot = key.first;
    summary.calls.back().kind = key.second;
  }
  summary.sends = summary.kinds[static_cast<std::size_t>(NodeKind::kSend)].nodes;
  summary.receives = summary.kinds[static_cast<std::size_t>(NodeKind::kReceive)].nodes;
}

void summarise_edges(const ExecutionGraph& graph, GraphSummary& summary) {
  std::vector<std::size_t> hops(graph.size(), 1);
  std::vector<Total> time(graph.size(), 0);
  for (const NodeId node : graph.order()) {
    const std::uint32_t i = index_of(node);
    if (const auto duration = graph.duration(node); duration && !is_communication(graph.kind(node)))
      time[i] += duration->count();
    const std::span<const NodeId> successors = graph.successors(node);
    for (const NodeId after : successors) {
      hops[index_of(after)] = std::max(hops[index_of(after)], hops[i] + 1);
      time[index_of(after)] = std::max(time[index_of(after)], time[i]);
    }
    summary.longest_chain = std::max(summary.longest_chain, hops[i]);
    summary.longest_chain_picoseconds = std::max(summary.longest_chain_picoseconds, time[i]);
    summary.most_successors = std::max(summary.most_successors, successors.size());
    summary.most_predecessors = std::max<std::size_t>(summary.most_predecessors, graph.predecessor_count(node));
    if (successors.empty()) ++summary.leaves;
    if (graph.predecessor_count(node) == 0) ++summary.roots;
  }
}

}  // namespace

GraphSummary summarise(const ExecutionGraph& graph) {
  GraphSummary summary;
  summary.nodes = graph.size();
  summary.edges = graph.edge_count();
  summary.streams = graph.stream_count();
  summary.memory_bytes = graph.memory_bytes();
  summarise_nodes(graph, summary);
  summarise_edges(graph, summary);
  return summary;
}

}  // namespace orrery
