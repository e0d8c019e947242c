// SPDX-License-Identifier: MIT
#include "system/plans/transfer_slots.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace orrery::system {
namespace {

// Surroundings of one transfer in the graph: the nodes before and after it, and its size.
struct Surroundings {
  std::vector<NodeId> before;
  std::vector<NodeId> after;
  Bytes bytes{0};

  auto operator<=>(const Surroundings&) const = default;
};

std::vector<Surroundings> surroundings_of_transfers(const workload::ExecutionGraph& graph) {
  std::vector<Surroundings> all;
  for (const NodeId node : graph.transfers()) {
    const auto successors = graph.successors(node);
    Surroundings& own = all.emplace_back();
    own.after.assign(successors.begin(), successors.end());
    std::ranges::sort(own.after);
    own.bytes = graph.bytes(node);
  }
  for (std::uint32_t i = 0; i < graph.size(); ++i)
    for (const NodeId successor : graph.successors(NodeId(i))) {
      const workload::NodeKind kind = graph.kind(successor);
      if (kind == workload::NodeKind::kSend || kind == workload::NodeKind::kReceive)
        all[graph.transfer_index(successor)].before.push_back(NodeId(i));
    }
  return all;
}

std::vector<std::uint32_t> kinds_of(const workload::ExecutionGraph& graph,
                                    const std::vector<std::vector<NodeId>>& nodes,
                                    const std::vector<Surroundings>& surroundings) {
  std::map<std::vector<Surroundings>, std::uint32_t> first;
  std::vector<std::uint32_t> kinds;
  for (std::uint32_t slot = 0; slot < nodes.size(); ++slot) {
    std::vector<Surroundings> of_slot;
    for (const NodeId node : nodes[slot]) of_slot.push_back(surroundings[graph.transfer_index(node)]);
    kinds.push_back(first.try_emplace(std::move(of_slot), slot).first->second);
  }
  return kinds;
}

}  // namespace

TransferSlots::TransferSlots(const workload::ExecutionGraph& graph)
    : sends_(graph.peer_slots()), receives_(graph.peer_slots()) {
  for (const NodeId node : graph.transfers()) {
    std::vector<NodeId>& list =
        (graph.kind(node) == workload::NodeKind::kSend ? sends_ : receives_)[graph.peer_slot(node)];
    ordinals_.push_back(static_cast<std::uint32_t>(list.size()));
    list.push_back(node);
  }
  const std::vector<Surroundings> surroundings = surroundings_of_transfers(graph);
  send_kinds_ = kinds_of(graph, sends_, surroundings);
  receive_kinds_ = kinds_of(graph, receives_, surroundings);
}

}  // namespace orrery::system
