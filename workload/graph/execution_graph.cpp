// SPDX-License-Identifier: MIT
#include "workload/graph/execution_graph.h"

#include <algorithm>
#include <array>

#include "core/assert.h"

namespace orrery::workload {
namespace {

template <class Element>
std::size_t bytes_of(const std::vector<Element>& column) {
  return column.capacity() * sizeof(Element);
}

}  // namespace

std::string_view name_of(NodeKind kind) {
  constexpr std::array<std::string_view, kNodeKindCount> kNames = {
      "free",       "host compute", "compute", "memory load",  "memory store",
      "collective", "send",         "receive", "copy to host", "copy to device"};
  return kNames[static_cast<std::size_t>(kind)];
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

std::optional<Repetition> ExecutionGraph::repetition(NodeId node) const {
  if (repetitions_.empty() || repetitions_[index_of(node)] == 0) return std::nullopt;
  const std::uint32_t coded = repetitions_[index_of(node)] - 1;
  return Repetition{coded / 2, coded % 2 != 0};
}

HostWork ExecutionGraph::host(NodeId node) const {
  if (!has_host()) return {};
  const std::uint32_t i = index_of(node);
  return {host_launches_[i], host_spans_.empty() ? Duration::zero() : host_spans_[i],
          !repetition(node) && std::ranges::binary_search(synchronisations_, node)};
}

std::uint32_t ExecutionGraph::written_out_size() const {
  if (size() == 0) return 0;
  const NodeId last{static_cast<std::uint32_t>(size() - 1)};
  const std::optional<Repetition> repetition = this->repetition(last);
  if (!repetition) return number(last) + 1;
  return number(last) + (repetition->is_rest ? 0 : stretches_[repetition->stretch].count);
}

GraphNode ExecutionGraph::node(NodeId node) const {
  GraphNode result{.kind = kind(node),
                   .duration = duration(node),
                   .flops = flops(node),
                   .bytes = bytes(node),
                   .stream = stream(node),
                   .priority = priority(node),
                   .repetition = repetition(node),
                   .host = host(node),
                   .processor_bound = processor_bound(node)};
  if (result.kind == NodeKind::kCollective) {
    result.collective = collective_kind(node);
    result.slot = communicator_slot(node);
  } else if (is_transfer(result.kind)) {
    result.slot = peer_slot(node);
  }
  return result;
}

bool ExecutionGraph::operator==(const ExecutionGraph& other) const {
  return hash_ == other.hash_ && content() == other.content() && stretches_ == other.stretches_;
}

std::size_t ExecutionGraph::memory_bytes() const {
  const auto derived = std::tie(ordinals_, predecessor_counts_, order_, collective_nodes_, call_offsets_, calls_,
                                transfer_nodes_, host_before_);
  std::size_t of_stretches = bytes_of(stretches_);
  for (const Stretch& stretch : stretches_) of_stretches += bytes_of(stretch.tail);
  return sizeof(*this) + of_stretches +
         std::apply([](const auto&... column) { return (bytes_of(column) + ...); }, std::tuple_cat(content(), derived));
}

}  // namespace orrery::workload
