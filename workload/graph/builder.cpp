// SPDX-License-Identifier: MIT
#include "workload/graph/builder.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

#include "core/assert.h"
#include "core/hash.h"

namespace orrery::workload {
namespace {

// A column of one field; empty when every node has the default.
template <class Value, class Field>
std::vector<Value> column_of(std::span<const GraphNode> nodes, Field field) {
  std::vector<Value> column;
  if (std::ranges::all_of(nodes, [&](const GraphNode& node) { return field(node) == Value{}; })) return column;
  column.reserve(nodes.size());
  for (const GraphNode& node : nodes) column.push_back(field(node));
  return column;
}

}  // namespace

SuccessorLists::SuccessorLists(std::size_t nodes, std::span<const Edge> edges)
    : offsets(nodes + 1, 0), predecessor_counts(nodes, 0) {
  successors.reserve(edges.size());
  for (const Edge& edge : edges) {
    ++offsets[index_of(edge.before) + 1];
    ++predecessor_counts[index_of(edge.after)];
    successors.push_back(edge.after);
  }
  for (std::size_t i = 0; i < nodes; ++i) offsets[i + 1] += offsets[i];
}

void GraphBuilder::reserve(std::size_t nodes, std::size_t edges) {
  nodes_.reserve(nodes);
  edges_.reserve(edges);
}

NodeId GraphBuilder::add(const GraphNode& node) {
  check(node);
  nodes_.push_back(node);
  return NodeId(static_cast<std::uint32_t>(nodes_.size() - 1));
}

std::uint32_t GraphBuilder::add_stretch(Stretch stretch) {
  ORRERY_ASSERT(index_of(stretch.first) + stretch.count <= nodes_.size() && !stretch.tail.empty());
  stretches_.push_back(std::move(stretch));
  return static_cast<std::uint32_t>(stretches_.size() - 1);
}

void GraphBuilder::check(const GraphNode& node) const {
  ORRERY_ASSERT(nodes_.size() < UINT32_MAX);
  ORRERY_ASSERT(node.flops >= Flops() && node.bytes >= Bytes());
  ORRERY_ASSERT(!node.duration || *node.duration > Duration::zero());
  ORRERY_ASSERT(node.host.launches >= Duration::zero() && node.host.span >= Duration::zero());
  ORRERY_ASSERT(node.host == HostWork{} || !node.repetition);
  ORRERY_ASSERT(!node.host.synchronises || node.kind == NodeKind::kCompute || node.kind == NodeKind::kCollective ||
                node.kind == NodeKind::kHostCompute);
  ORRERY_ASSERT(!node.processor_bound || (node.kind == NodeKind::kCompute && *node.processor_bound <= kWholeShare));
  ORRERY_ASSERT(!node.repetition || (node.kind == NodeKind::kCompute && node.repetition->stretch < stretches_.size()));
}

ExecutionGraph GraphBuilder::build() && {
  ExecutionGraph graph;
  store_columns(graph);
  store_edges(graph);
  graph.order_ = canonical_order(graph.successor_offsets_, graph.successors_, graph.predecessor_counts_);
  ORRERY_ASSERT(graph.order_.size() == nodes_.size());
  store_communication(graph);
  store_repetitions(graph);
  store_host(graph);

  ContentDigest digest;
  std::apply([&](const auto&... column) { (digest.add_column(column), ...); }, graph.content());
  graph.hash_ = digest.value();
  return graph;
}

void GraphBuilder::store_columns(ExecutionGraph& graph) const {
  graph.kinds_.reserve(nodes_.size());
  graph.bytes_.reserve(nodes_.size());
  for (const GraphNode& node : nodes_) {
    graph.kinds_.push_back(node.kind);
    graph.bytes_.push_back(node.bytes);
    graph.stream_count_ = std::max(graph.stream_count_, node.stream + 1);
  }
  graph.durations_ =
      column_of<Duration>(nodes_, [](const GraphNode& n) { return n.duration.value_or(Duration::zero()); });
  graph.flops_ = column_of<Flops>(nodes_, [](const GraphNode& n) { return n.flops; });
  graph.priorities_ = column_of<std::uint32_t>(nodes_, [](const GraphNode& n) { return n.priority; });
  graph.streams_ = column_of<std::uint32_t>(nodes_, [](const GraphNode& n) { return n.stream; });
  graph.processor_bounds_ = column_of<std::uint32_t>(
      nodes_, [](const GraphNode& n) { return n.processor_bound ? 1 + *n.processor_bound : 0U; });
}

void GraphBuilder::store_edges(ExecutionGraph& graph) {
  if (!std::ranges::is_sorted(edges_)) std::ranges::sort(edges_);
  edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
  ORRERY_ASSERT(edges_.size() < UINT32_MAX);

  for (const Edge& edge : edges_) {
    ORRERY_ASSERT(edge.before != edge.after);
    ORRERY_ASSERT(index_of(edge.before) < nodes_.size() && index_of(edge.after) < nodes_.size());
  }
  SuccessorLists lists(nodes_.size(), edges_);
  graph.successor_offsets_ = std::move(lists.offsets);
  graph.successors_ = std::move(lists.successors);
  graph.predecessor_counts_ = std::move(lists.predecessor_counts);
}

void GraphBuilder::store_communication(ExecutionGraph& graph) const {
  std::uint32_t communicators = 0;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const GraphNode& node = nodes_[i];
    if (!is_communication(node.kind)) continue;
    if (graph.ordinals_.empty()) graph.ordinals_.assign(nodes_.size(), 0);
    if (node.kind == NodeKind::kCollective) {
      graph.ordinals_[i] = static_cast<std::uint32_t>(graph.collective_nodes_.size());
      graph.collective_nodes_.push_back(NodeId(i));
      graph.collective_kinds_.push_back(node.collective);
      graph.collective_slots_.push_back(node.slot);
      communicators = std::max(communicators, node.slot + 1);
    } else {
      graph.ordinals_[i] = static_cast<std::uint32_t>(graph.transfer_nodes_.size());
      graph.transfer_nodes_.push_back(NodeId(i));
      graph.peer_slots_.push_back(node.slot);
      graph.peer_slot_count_ = std::max(graph.peer_slot_count_, node.slot + 1);
    }
  }

  std::vector<std::vector<NodeId>> calls(communicators);
  graph.call_indices_.assign(graph.collective_nodes_.size(), 0);
  for (const NodeId node : graph.order_) {
    if (graph.kind(node) != NodeKind::kCollective) continue;
    std::vector<NodeId>& of_slot = calls[graph.communicator_slot(node)];
    graph.call_indices_[graph.collective_index(node)] = static_cast<std::uint32_t>(of_slot.size());
    of_slot.push_back(node);
  }
  for (const std::uint32_t slot : slots_by_node_) {
    std::ranges::sort(calls[slot]);
    for (std::uint32_t call = 0; call < calls[slot].size(); ++call)
      graph.call_indices_[graph.collective_index(calls[slot][call])] = call;
  }
  for (const std::vector<NodeId>& of_slot : calls) {
    graph.calls_.insert(graph.calls_.end(), of_slot.begin(), of_slot.end());
    graph.call_offsets_.push_back(static_cast<std::uint32_t>(graph.calls_.size()));
  }
}

// In a stretch, only nodes without predecessors inside may wait for nodes outside, and all of them for the same.
void GraphBuilder::check(const ExecutionGraph& graph, const Stretch& stretch) const {
  std::vector<std::vector<NodeId>> before(stretch.count);
  std::vector<bool> waits_inside(stretch.count);
  for (const Edge& edge : edges_) {
    if (!stretch.holds(edge.after)) continue;
    const std::uint32_t offset = index_of(edge.after) - index_of(stretch.first);
    if (stretch.holds(edge.before))
      waits_inside[offset] = true;
    else
      before[offset].push_back(edge.before);
  }
  const std::vector<NodeId>* first = nullptr;
  for (std::uint32_t offset = 0; offset < stretch.count; ++offset) {
    const NodeKind kind = graph.kind(NodeId(index_of(stretch.first) + offset));
    ORRERY_ASSERT(kind == NodeKind::kNoOp || kind == NodeKind::kCompute || kind == NodeKind::kCollective);
    ORRERY_ASSERT(before[offset].empty() || !waits_inside[offset]);
    if (waits_inside[offset]) continue;
    if (first == nullptr) first = &before[offset];
    ORRERY_ASSERT(before[offset] == *first);
  }
}

void GraphBuilder::store_repetitions(ExecutionGraph& graph) {
  if (stretches_.empty()) return;
  for (const Stretch& stretch : stretches_) check(graph, stretch);
  std::uint32_t number = 0;
  for (const GraphNode& node : nodes_) {
    graph.numbers_.push_back(number);
    const auto& repetition = node.repetition;
    graph.repetitions_.push_back(repetition ? 1 + 2 * repetition->stretch + (repetition->is_rest ? 1 : 0) : 0);
    const bool is_stretch = repetition && !repetition->is_rest;
    number += is_stretch ? stretches_[repetition->stretch].count : repetition ? 0 : 1;
  }
  graph.stretches_ = std::move(stretches_);
}

// Time that the host is busy since its last synchronisation, once it has gone on behind the node.
Duration GraphBuilder::host_after(const ExecutionGraph& graph, const GraphNode& node, Duration before) const {
  if (!node.repetition) return node.host.synchronises ? Duration::zero() : saturating_add(before, node.host.launches);
  if (node.repetition->is_rest) return before;
  const Stretch& stretch = graph.stretches_[node.repetition->stretch];
  for (std::uint32_t offset = 0; offset < stretch.count; ++offset)
    before = host_after(graph, nodes_[index_of(stretch.first) + offset], before);
  return before;
}

void GraphBuilder::store_host(ExecutionGraph& graph) const {
  graph.host_launches_ = column_of<Duration>(nodes_, [](const GraphNode& n) { return n.host.launches; });
  if (graph.host_launches_.empty()) return;
  graph.host_spans_ = column_of<Duration>(nodes_, [](const GraphNode& n) { return n.host.span; });
  const auto synchronises = [&](const GraphNode& node) {
    if (!node.repetition || node.repetition->is_rest) return node.host.synchronises;
    const Stretch& stretch = graph.stretches_[node.repetition->stretch];
    return std::ranges::any_of(std::span(nodes_).subspan(index_of(stretch.first), stretch.count),
                               [](const GraphNode& one) { return one.host.synchronises; });
  };
  bool has_computed = false;
  Duration before{};
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const GraphNode& node = nodes_[i];
    graph.host_before_.push_back(before);
    if (!has_computed && node.host.span > Duration::zero()) {
      has_computed = true;
      graph.initial_synchronisations_ = static_cast<std::uint32_t>(graph.synchronisations_.size());
      graph.host_ahead_ =
          std::max(Duration::zero(), saturating_add(before, node.host.span) - node.duration.value_or(Duration::zero()));
    }
    if (synchronises(node)) graph.synchronisations_.push_back(NodeId(i));
    before = host_after(graph, node, before);
  }
}

std::vector<NodeId> canonical_order(std::span<const std::uint32_t> successor_offsets,
                                    std::span<const NodeId> successors,
                                    std::span<const std::uint32_t> predecessor_counts) {
  std::vector<std::uint32_t> waiting(predecessor_counts.begin(), predecessor_counts.end());
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < waiting.size(); ++i)
    if (waiting[i] == 0) ready.push(NodeId(i));

  std::vector<NodeId> order;
  order.reserve(waiting.size());
  while (!ready.empty()) {
    const NodeId node = ready.top();
    ready.pop();
    order.push_back(node);
    const std::uint32_t end = successor_offsets[index_of(node) + 1];
    for (std::uint32_t edge = successor_offsets[index_of(node)]; edge < end; ++edge)
      if (--waiting[index_of(successors[edge])] == 0) ready.push(successors[edge]);
  }
  return order;
}

namespace {

// Builder for a graph without repetitions, as graphs of traces are.
GraphBuilder builder_of(const ExecutionGraph& graph, std::span<const std::uint32_t> slot_map) {
  ORRERY_ASSERT(graph.stretches().empty());
  GraphBuilder builder;
  builder.reserve(graph.size(), graph.edge_count());
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    GraphNode node = graph.node(NodeId(i));
    if (node.kind == NodeKind::kCollective && !slot_map.empty()) node.slot = slot_map[node.slot];
    builder.add(node);
  }
  for (std::uint32_t i = 0; i < graph.size(); ++i)
    for (const NodeId after : graph.successors(NodeId(i))) builder.depend(after, NodeId(i));
  return builder;
}

}  // namespace

ExecutionGraph with_communicator_slots(const ExecutionGraph& graph, std::span<const std::uint32_t> slot_map) {
  return builder_of(graph, slot_map).build();
}

ExecutionGraph with_calls_by_node(const ExecutionGraph& graph, std::span<const std::uint32_t> slots) {
  GraphBuilder builder = builder_of(graph, {});
  for (const std::uint32_t slot : slots) builder.count_calls_by_node(slot);
  return std::move(builder).build();
}

}  // namespace orrery::workload
