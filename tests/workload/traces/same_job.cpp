// SPDX-License-Identifier: MIT
#include "tests/workload/traces/same_job.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "workload/traces/node.h"

namespace orrery::testing {
namespace {

// Other kinds have none, whatever the binding says.
std::int64_t root_of(const workload::Job& job, RankId rank, NodeId node) {
  if (!has_root(job.graph(rank).collective_kind(node))) return -1;
  const workload::RankBinding& binding = job.ranks[index_of(rank)];
  return binding.roots().empty() ? -1 : binding.roots()[job.graph(rank).collective_index(node)];
}

// Streams by rank of their number: 1, 2, ... ascending.
std::map<std::uint32_t, std::uint32_t> stream_order(const workload::ExecutionGraph& graph) {
  std::map<std::uint32_t, std::uint32_t> order;
  for (std::uint32_t i = 0; i < graph.size(); ++i) order[graph.stream(NodeId{i})] = 0;
  order[0] = 0;
  std::uint32_t next = 0;
  for (auto& [stream, number] : order) number = next++;
  return order;
}

std::string node_difference(const workload::Job& a, const workload::Job& b, RankId rank, NodeId node) {
  const workload::ExecutionGraph& x = a.graph(rank);
  const workload::ExecutionGraph& y = b.graph(rank);
  if (x.kind(node) != y.kind(node)) return "kind";
  if (x.duration(node) != y.duration(node)) return "duration";
  if (x.flops(node) != y.flops(node)) return "FLOPs";
  if (x.bytes(node) != y.bytes(node)) return "bytes";
  if (x.priority(node) != y.priority(node)) return "priority";
  if (!std::ranges::equal(x.successors(node), y.successors(node))) return "successors";
  if (x.kind(node) == workload::NodeKind::kCollective) {
    if (x.collective_kind(node) != y.collective_kind(node)) return "collective";
    if (x.call_index(node) != y.call_index(node)) return "call index";
    if (a.communicator(rank, node) != b.communicator(rank, node)) return "communicator";
    if (root_of(a, rank, node) != root_of(b, rank, node)) return "root";
  } else if (workload::is_transfer(x.kind(node))) {
    if (a.peer(rank, node) != b.peer(rank, node)) return "peer";
    if (a.tag(rank, node) != b.tag(rank, node)) return "tag";
  }
  return "";
}

// Traces name only the communicators that somebody calls.
bool is_called(const workload::Job& job, std::size_t group) {
  return std::ranges::any_of(job.ranks, [&](const workload::RankBinding& binding) {
    const workload::ExecutionGraph& graph = job.graphs[binding.graph];
    for (std::uint32_t slot = 0; slot < graph.communicator_slots(); ++slot)
      if (!graph.calls(slot).empty() && index_of(binding.communicators[slot]) == group) return true;
    return false;
  });
}

std::string rank_difference(const workload::Job& a, const workload::Job& b, RankId rank) {
  const workload::ExecutionGraph& x = a.graph(rank);
  const workload::ExecutionGraph& y = b.graph(rank);
  if (x.size() != y.size()) return fmt::format("{} nodes and {}", x.size(), y.size());
  auto streams_a = stream_order(x);
  auto streams_b = stream_order(y);
  for (std::uint32_t i = 0; i < x.size(); ++i) {
    const NodeId node{i};
    const std::string found = node_difference(a, b, rank, node);
    if (!found.empty()) return fmt::format("node {}: {}", i, found);
    if (streams_a[x.stream(node)] != streams_b[y.stream(node)]) return fmt::format("node {}: stream", i);
    if (a.labels_of(rank).name(node) != b.labels_of(rank).name(node)) return fmt::format("node {}: name", i);
    if (a.labels_of(rank).trace_id(node) != b.labels_of(rank).trace_id(node)) return fmt::format("node {}: id", i);
  }
  return "";
}

}  // namespace

std::string difference(const workload::Job& a, const workload::Job& b) {
  if (a.ranks.size() != b.ranks.size()) return "number of ranks";
  if (a.communicators.size() != b.communicators.size()) return "number of communicators";
  for (std::size_t i = 0; i < a.communicators.size(); ++i) {
    if (is_called(a, i) && a.communicators[i].name != b.communicators[i].name)
      return fmt::format("name of communicator {}", i);
    if (a.communicators[i].members != b.communicators[i].members) return fmt::format("members of communicator {}", i);
  }
  for (std::uint32_t rank = 0; rank < a.ranks.size(); ++rank) {
    const std::string found = rank_difference(a, b, RankId{rank});
    if (!found.empty()) return fmt::format("rank {}: {}", rank, found);
  }
  return "";
}

}  // namespace orrery::testing
