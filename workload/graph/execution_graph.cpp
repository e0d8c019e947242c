#include "workload/graph/execution_graph.h"

#include "core/assert.h"

namespace orrery {
namespace {

template <class Element>
std::size_t bytes_of(const std::vector<Element>& column) {
  return column.capacity() * sizeof(Element);
}

bool is_transfer(NodeKind kind) { return kind == NodeKind::kSend || kind == NodeKind::kReceive; }

}  // namespace

std::string_view name_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::kNoOp:
      return "free";
    case NodeKind::kHostCompute:
      return "host compute";
    case NodeKind::kCompute:
      return "compute";
    case NodeKind::kMemoryLoad:
      return "memory load";
    case NodeKind::kMemoryStore:
      return "memory store";
    case NodeKind::kCollective:
      return "collective";
    case NodeKind::kSend:
      return "send";
    case NodeKind::kReceive:
      return "receive";
  }
  ORRERY_ASSERT(false);
}

bool is_on_device(NodeKind kind) { return kind != NodeKind::kNoOp && kind != NodeKind::kHostCompute; }

std::optional<Duration> ExecutionGraph::duration(NodeId node) const {
  if (durations_.empty() || durations_[index_of(node)] == Duration::zero()) return std::nullopt;
  return durations_[index_of(node)];
}

std::span<const NodeId> ExecutionGraph::successors(NodeId node) const {
  const std::uint32_t begin = successor_offsets_[index_of(node)];
  return std::span(successors_).subspan(begin, successor_offsets_[index_of(node) + 1] - begin);
}

std::span<const NodeId> ExecutionGraph::calls(std::uint32_t slot) const {
  return std::span(calls_).subspan(call_offsets_[slot], call_offsets_[slot + 1] - call_offsets_[slot]);
}

std::uint32_t ExecutionGraph::collective_index(NodeId node) const {
  ORRERY_ASSERT(kind(node) == NodeKind::kCollective);
  return ordinals_[index_of(node)];
}

std::uint32_t ExecutionGraph::transfer_index(NodeId node) const {
  ORRERY_ASSERT(is_transfer(kind(node)));
  return ordinals_[index_of(node)];
}

GraphNode ExecutionGraph::node(NodeId node) const {
  GraphNode result{.kind = kind(node),
                   .duration = duration(node),
                   .flops = flops(node),
                   .bytes = bytes(node),
                   .stream = stream(node),
                   .priority = priority(node)};
  if (result.kind == NodeKind::kCollective) {
    result.collective = collective_kind(node);
    result.slot = communicator_slot(node);
  } else if (is_transfer(result.kind)) {
    result.slot = peer_slot(node);
  }
  return result;
}

// The columns left out follow from these: the hash, the order, and what is derived from kinds and slots.
bool ExecutionGraph::operator==(const ExecutionGraph& other) const {
  return hash_ == other.hash_ && kinds_ == other.kinds_ && durations_ == other.durations_ && flops_ == other.flops_ &&
         bytes_ == other.bytes_ && priorities_ == other.priorities_ && streams_ == other.streams_ &&
         successor_offsets_ == other.successor_offsets_ && successors_ == other.successors_ &&
         collective_kinds_ == other.collective_kinds_ && collective_slots_ == other.collective_slots_ &&
         call_indices_ == other.call_indices_ && peer_slots_ == other.peer_slots_;
}

std::size_t ExecutionGraph::memory_bytes() const {
  return sizeof(*this) + bytes_of(kinds_) + bytes_of(durations_) + bytes_of(flops_) + bytes_of(bytes_) +
         bytes_of(priorities_) + bytes_of(streams_) + bytes_of(ordinals_) + bytes_of(successor_offsets_) +
         bytes_of(successors_) + bytes_of(predecessor_counts_) + bytes_of(order_) + bytes_of(collective_nodes_) +
         bytes_of(collective_kinds_) + bytes_of(collective_slots_) + bytes_of(call_indices_) + bytes_of(call_offsets_) +
         bytes_of(calls_) + bytes_of(transfer_nodes_) + bytes_of(peer_slots_);
}

}  // namespace orrery
