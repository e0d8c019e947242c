// SPDX-License-Identifier: MIT
#include "workload/graph/builder.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <queue>
#include <tuple>
#include <unordered_map>

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

// Sorts by `before`, then by `after`. Mostly they come by `after`, so that those of one node need no sorting.
void sort_edges(std::size_t nodes, std::vector<Edge>& edges) {
  if (std::ranges::is_sorted(edges)) return;
  std::vector<std::uint32_t> place(nodes + 1, 0);
  for (const Edge& edge : edges) ++place[index_of(edge.before) + 1];
  for (std::size_t node = 0; node < nodes; ++node) place[node + 1] += place[node];
  std::vector<Edge> sorted(edges.size());
  for (const Edge& edge : edges) sorted[place[index_of(edge.before)]++] = edge;
  edges.swap(sorted);
  if (std::ranges::is_sorted(edges)) return;
  std::ranges::sort(edges);
}

// True if every node waits for nodes before it only: then their own order is a topological one.
bool goes_forward(std::span<const std::uint32_t> successor_offsets, std::span<const NodeId> successors) {
  for (std::uint32_t node = 0; node + 1 < successor_offsets.size(); ++node)
    for (std::uint32_t edge = successor_offsets[node]; edge < successor_offsets[node + 1]; ++edge)
      if (index_of(successors[edge]) <= node) return false;
  return true;
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

NodeId GraphBuilder::add(const GraphNode& node, std::uint32_t source) {
  check(node);
  if (source != 0) sources_.resize(nodes_.size());
  nodes_.push_back(node);
  if (source != 0) sources_.push_back(source);
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
  auto form = std::make_shared<Form>();
  store_columns(*form);
  store_edges(*form);
  form->order = canonical_order(form->successor_offsets, form->successors, form->predecessor_counts);
  ORRERY_ASSERT(form->order.size() == nodes_.size());
  store_communication(*form);
  store_repetitions(*form);
  store_synchronisations(*form);

  ExecutionGraph graph;
  ContentDigest digest;
  std::apply([&](const auto&... column) { (digest.add_column(column), ...); }, form->content());
  graph.form_hash_ = digest.value();
  graph.form_ = std::move(form);
  graph.numbering_ = std::make_shared<const ExecutionGraph::Numbering>(number_amounts());
  auto amounts = std::make_shared<ExecutionGraph::Amounts>();
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    ExecutionGraph::store_amounts(*amounts, graph.amount_number(NodeId(i)), graph.amount_numbers(), nodes_[i]);
  graph.derive_host(*amounts, nullptr);
  graph.hash_ = hash_of({graph.form_hash_, graph.content_hash_of(*amounts)});
  graph.amounts_ = std::move(amounts);
  return graph;
}

void GraphBuilder::store_columns(Form& form) const {
  form.kinds.reserve(nodes_.size());
  for (const GraphNode& node : nodes_) {
    form.kinds.push_back(node.kind);
    form.stream_count = std::max(form.stream_count, node.stream + 1);
  }
  form.priorities = column_of<std::uint32_t>(nodes_, [](const GraphNode& n) { return n.priority; });
  form.streams = column_of<std::uint32_t>(nodes_, [](const GraphNode& n) { return n.stream; });
}

void GraphBuilder::store_edges(Form& form) {
  ORRERY_ASSERT(edges_.size() < UINT32_MAX);
  for (const Edge& edge : edges_) {
    ORRERY_ASSERT(edge.before != edge.after);
    ORRERY_ASSERT(index_of(edge.before) < nodes_.size() && index_of(edge.after) < nodes_.size());
  }
  sort_edges(nodes_.size(), edges_);
  edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
  SuccessorLists lists(nodes_.size(), edges_);
  form.successor_offsets = std::move(lists.offsets);
  form.successors = std::move(lists.successors);
  form.predecessor_counts = std::move(lists.predecessor_counts);
}

void GraphBuilder::store_communication(Form& form) const {
  std::uint32_t communicators = 0;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const GraphNode& node = nodes_[i];
    if (!is_communication(node.kind)) continue;
    if (form.ordinals.empty()) form.ordinals.assign(nodes_.size(), 0);
    if (node.kind == NodeKind::kCollective) {
      form.ordinals[i] = static_cast<std::uint32_t>(form.collective_nodes.size());
      form.collective_nodes.push_back(NodeId(i));
      form.collective_kinds.push_back(node.collective);
      form.collective_slots.push_back(node.slot);
      communicators = std::max(communicators, node.slot + 1);
    } else {
      form.ordinals[i] = static_cast<std::uint32_t>(form.transfer_nodes.size());
      form.transfer_nodes.push_back(NodeId(i));
      form.peer_slots.push_back(node.slot);
      form.peer_slot_count = std::max(form.peer_slot_count, node.slot + 1);
    }
  }
  count_calls(form, communicators);
}

void GraphBuilder::count_calls(Form& form, std::uint32_t communicators) const {
  std::vector<std::vector<NodeId>> calls(communicators);
  form.call_indices.assign(form.collective_nodes.size(), 0);
  for (const NodeId node : form.order) {
    if (form.kinds[index_of(node)] != NodeKind::kCollective) continue;
    const std::uint32_t collective = form.ordinals[index_of(node)];
    std::vector<NodeId>& of_slot = calls[form.collective_slots[collective]];
    form.call_indices[collective] = static_cast<std::uint32_t>(of_slot.size());
    of_slot.push_back(node);
  }
  for (const std::uint32_t slot : slots_by_node_) {
    std::ranges::sort(calls[slot]);
    for (std::uint32_t call = 0; call < calls[slot].size(); ++call)
      form.call_indices[form.ordinals[index_of(calls[slot][call])]] = call;
  }
  for (const std::vector<NodeId>& of_slot : calls) {
    form.calls.insert(form.calls.end(), of_slot.begin(), of_slot.end());
    form.call_offsets.push_back(static_cast<std::uint32_t>(form.calls.size()));
  }
}

// In a stretch, only nodes without predecessors inside may wait for nodes outside, and all of them for the same.
void GraphBuilder::check(const Form& form, const Stretch& stretch) const {
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
    const NodeKind kind = form.kinds[index_of(stretch.first) + offset];
    ORRERY_ASSERT(kind == NodeKind::kNoOp || kind == NodeKind::kCompute || kind == NodeKind::kCollective);
    ORRERY_ASSERT(before[offset].empty() || !waits_inside[offset]);
    if (waits_inside[offset]) continue;
    if (first == nullptr) first = &before[offset];
    ORRERY_ASSERT(before[offset] == *first);
  }
}

void GraphBuilder::store_repetitions(Form& form) {
  if (stretches_.empty()) return;
  for (const Stretch& stretch : stretches_) check(form, stretch);
  std::uint32_t number = 0;
  for (const GraphNode& node : nodes_) {
    form.numbers.push_back(number);
    const auto& repetition = node.repetition;
    form.repetitions.push_back(repetition ? 1 + 2 * repetition->stretch + (repetition->is_rest ? 1 : 0) : 0);
    const bool is_stretch = repetition && !repetition->is_rest;
    number += is_stretch ? stretches_[repetition->stretch].count : repetition ? 0 : 1;
  }
  form.stretches = std::move(stretches_);
}

// Where the host takes no time, nothing waits for it.
void GraphBuilder::store_synchronisations(Form& form) const {
  const auto has_launches = [](const GraphNode& node) { return node.host.launches > Duration::zero(); };
  if (std::ranges::none_of(nodes_, has_launches)) return;
  const auto synchronises = [&](const GraphNode& node) {
    if (!node.repetition || node.repetition->is_rest) return node.host.synchronises;
    const Stretch& stretch = form.stretches[node.repetition->stretch];
    return std::ranges::any_of(std::span(nodes_).subspan(index_of(stretch.first), stretch.count),
                               [](const GraphNode& one) { return one.host.synchronises; });
  };
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    form.is_synchronisation.push_back(nodes_[i].host.synchronises);
    if (synchronises(nodes_[i])) form.synchronisations.push_back(NodeId(i));
  }
}

namespace {

// Key of an amount number.
using SourcedAmounts = std::array<std::uint64_t, 8>;

SourcedAmounts sourced_amounts(const GraphNode& node, std::uint32_t source) {
  const auto number = [](const auto& amount) { return static_cast<std::uint64_t>(amount.count()); };
  return {source,
          static_cast<std::uint64_t>(node.kind),
          number(node.duration.value_or(Duration::zero())),
          number(node.flops),
          number(node.bytes),
          number(node.host.launches),
          number(node.host.span),
          node.processor_bound ? 1 + *node.processor_bound : 0U};
}

struct HashOfAmounts {
  std::size_t operator()(const SourcedAmounts& amounts) const {
    std::uint64_t hash = 0;
    for (const std::uint64_t amount : amounts) hash = mixed(hash ^ amount);
    return hash;
  }
};

}  // namespace

// Measured durations hardly ever come twice: where most amounts are new and nothing is said of their sources, every
// node has a number of its own.
ExecutionGraph::Numbering GraphBuilder::number_amounts() const {
  constexpr std::size_t kFew = 4096;
  ExecutionGraph::Numbering numbering;
  std::unordered_map<SourcedAmounts, std::uint32_t, HashOfAmounts> known;
  numbering.of.reserve(nodes_.size());
  // Gives up when more than half are new: of all nodes, or of those so far once they are many.
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const auto count = static_cast<std::uint32_t>(known.size());
    const std::uint32_t source = i < sources_.size() ? sources_[i] : 0;
    const std::uint32_t number = known.try_emplace(sourced_amounts(nodes_[i], source), count).first->second;
    numbering.of.push_back(number);
    if (number == count) {
      numbering.first_nodes.push_back(NodeId(i));
      numbering.uses.push_back(0);
      numbering.weights.push_back(0);
    }
    ++numbering.uses[number];
    numbering.weights[number] += mixed(i);
    if (sources_.empty() && known.size() * 2 > (known.size() < kFew ? nodes_.size() : i)) {
      numbering = {};
      numbering.count = static_cast<std::uint32_t>(nodes_.size());
      return numbering;
    }
  }
  numbering.count = static_cast<std::uint32_t>(known.size());
  return numbering;
}

std::vector<NodeId> canonical_order(std::span<const std::uint32_t> successor_offsets,
                                    std::span<const NodeId> successors,
                                    std::span<const std::uint32_t> predecessor_counts) {
  if (goes_forward(successor_offsets, successors)) {
    std::vector<NodeId> order;
    order.reserve(predecessor_counts.size());
    for (std::uint32_t i = 0; i < predecessor_counts.size(); ++i) order.push_back(NodeId(i));
    return order;
  }
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
