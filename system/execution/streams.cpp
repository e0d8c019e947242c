#include "system/execution/streams.h"

#include <algorithm>

#include <map>
#include <utility>

#include "core/assert.h"

namespace orrery {
namespace {

Stream stream_for(const ExecutionGraph& graph, NodeId node) {
  switch (graph.kind(node)) {
    case NodeKind::kNoOp:
      return {StreamKind::kNoOp, 0, false, false};
    case NodeKind::kHostCompute:
      return {StreamKind::kHost, 0, false, true};
    case NodeKind::kCompute:
      return {StreamKind::kCompute, graph.stream(node), graph.stream(node) > 0, true};
    case NodeKind::kMemoryLoad:
    case NodeKind::kMemoryStore:
      return {StreamKind::kMemory, 0, false, true};
    case NodeKind::kCollective:
      return {StreamKind::kCommunicator, graph.communicator_slot(node), false, true};
    case NodeKind::kSend:
      return {StreamKind::kSend, graph.peer_slot(node), false, true};
    case NodeKind::kReceive:
      return {StreamKind::kReceive, graph.peer_slot(node), false, false};
  }
  ORRERY_ASSERT(false);
}

}  // namespace

StreamTable::StreamTable(const ExecutionGraph& graph) : stream_of_(graph.size()) {
  std::map<std::pair<StreamKind, std::uint32_t>, std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    const Stream stream = stream_for(graph, NodeId(i));
    const auto [entry, added] =
        numbers.try_emplace({stream.kind, stream.slot}, static_cast<std::uint32_t>(streams_.size()));
    if (added) streams_.push_back(stream);
    stream_of_[i] = entry->second;
  }
  offsets_.assign(streams_.size() + 1, 0);
  for (const std::uint32_t stream : stream_of_)
    if (streams_[stream].in_order) ++offsets_[stream + 1];
  for (std::size_t stream = 0; stream < streams_.size(); ++stream) offsets_[stream + 1] += offsets_[stream];
  sequence_.resize(offsets_.back());
  std::vector<std::uint32_t> next(offsets_.begin(), offsets_.end() - 1);
  for (const NodeId node : graph.order())
    if (const std::uint32_t stream = stream_of(node); streams_[stream].in_order) sequence_[next[stream]++] = node;
}

std::span<const NodeId> StreamTable::sequence(std::uint32_t stream) const {
  return std::span(sequence_).subspan(offsets_[stream], offsets_[stream + 1] - offsets_[stream]);
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
