#include "system/execution/streams.h"

#include <algorithm>

#include <map>
#include <utility>

#include "core/assert.h"

namespace orrery {
namespace {

Lane lane_for(const ExecutionGraph& graph, NodeId node) {
  switch (graph.kind(node)) {
    case NodeKind::kFree:
      return {LaneKind::kFree, 0, false, false};
    case NodeKind::kHostCompute:
      return {LaneKind::kHost, 0, false, true};
    case NodeKind::kCompute:
      return {LaneKind::kCompute, graph.stream(node), graph.stream(node) > 0, true};
    case NodeKind::kMemoryLoad:
    case NodeKind::kMemoryStore:
      return {LaneKind::kMemory, 0, false, true};
    case NodeKind::kCollective:
      return {LaneKind::kCommunicator, graph.communicator_slot(node), false, true};
    case NodeKind::kSend:
      return {LaneKind::kSend, graph.peer_slot(node), false, true};
    case NodeKind::kReceive:
      return {LaneKind::kReceive, graph.peer_slot(node), false, false};
  }
  ORRERY_ASSERT(false);
}

}  // namespace

std::string_view name_of(LaneKind kind) {
  switch (kind) {
    case LaneKind::kFree:
      return "free";
    case LaneKind::kHost:
      return "host";
    case LaneKind::kCompute:
      return "compute";
    case LaneKind::kMemory:
      return "memory";
    case LaneKind::kCommunicator:
      return "communicator";
    case LaneKind::kSend:
      return "send";
    case LaneKind::kReceive:
      return "receive";
  }
  ORRERY_ASSERT(false);
}

LaneTable::LaneTable(const ExecutionGraph& graph) : lane_of_(graph.size()) {
  std::map<std::pair<LaneKind, std::uint32_t>, std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    const Lane lane = lane_for(graph, NodeId(i));
    const auto [entry, added] = numbers.try_emplace({lane.kind, lane.slot}, static_cast<std::uint32_t>(lanes_.size()));
    if (added) lanes_.push_back(lane);
    lane_of_[i] = entry->second;
  }
  offsets_.assign(lanes_.size() + 1, 0);
  for (const std::uint32_t lane : lane_of_)
    if (lanes_[lane].in_order) ++offsets_[lane + 1];
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) offsets_[lane + 1] += offsets_[lane];
  sequence_.resize(offsets_.back());
  std::vector<std::uint32_t> next(offsets_.begin(), offsets_.end() - 1);
  for (const NodeId node : graph.order())
    if (const std::uint32_t lane = lane_of(node); lanes_[lane].in_order) sequence_[next[lane]++] = node;
}

std::span<const NodeId> LaneTable::sequence(std::uint32_t lane) const {
  return std::span(sequence_).subspan(offsets_[lane], offsets_[lane + 1] - offsets_[lane]);
}

bool calls_are_in_sequence(const ExecutionGraph& graph, std::uint32_t communicator_slot) {
  std::vector<std::uint32_t> after(graph.size());  // how many calls a node comes after: all of them, if in sequence
  for (const NodeId node : graph.order()) {
    std::uint32_t calls = after[index_of(node)];
    if (graph.kind(node) == NodeKind::kCollective && graph.communicator_slot(node) == communicator_slot) {
      if (calls < graph.call_index(node)) return false;
      calls = graph.call_index(node) + 1;
    }
    for (const NodeId successor : graph.successors(node))
      after[index_of(successor)] = std::max(after[index_of(successor)], calls);
  }
  return true;
}

}  // namespace orrery
