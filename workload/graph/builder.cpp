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

// A number by which it is decided whether most nodes of a graph are different.
constexpr std::size_t kFew = 4096;

// A column of one field; empty when every node has the default.
template <class Field>
std::vector<std::uint32_t> column_of(std::span<const GraphNode> patterns, std::span<const std::uint32_t> pattern_of,
                                     Field field) {
  std::vector<std::uint32_t> column;
  if (std::ranges::all_of(patterns, [&](const GraphNode& node) { return field(node) == 0; })) return column;
  column.reserve(pattern_of.size());
  for (const std::uint32_t pattern : pattern_of) column.push_back(field(patterns[pattern]));
  return column;
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
  pattern_of_.reserve(nodes);
  edges_.reserve(edges);
}

std::size_t GraphBuilder::HashOfNode::operator()(const GraphNode& node) const {
  const auto number = [](const auto& amount) { return static_cast<std::uint64_t>(amount.count()); };
  return hash_of({static_cast<std::uint64_t>(node.kind) | static_cast<std::uint64_t>(node.collective) << 8 |
                      std::uint64_t{node.host.synchronises} << 16 | std::uint64_t{node.slot} << 32,
                  number(node.duration.value_or(Duration::zero())), number(node.flops), number(node.bytes),
                  number(node.host.launches), number(node.host.span)});
}

std::uint32_t GraphBuilder::add_pattern(const GraphNode& node, bool is_apart) {
  check(node);
  patterns_.push_back(node);
  is_apart_.push_back(is_apart);
  return static_cast<std::uint32_t>(patterns_.size() - 1);
}

NodeId GraphBuilder::append(std::uint32_t pattern) {
  ORRERY_ASSERT(size() < UINT32_MAX);
  pattern_of_.push_back(pattern);
  return NodeId(static_cast<std::uint32_t>(size() - 1));
}

// Nodes of traces are hardly ever equal: where most are new, none is looked for.
NodeId GraphBuilder::add(const GraphNode& node) {
  if (patterns_by_node_.size() > kFew && patterns_by_node_.size() * 2 > size()) return append(add_pattern(node, false));
  const auto known = patterns_by_node_.find(node);
  if (known != patterns_by_node_.end()) return append(known->second);
  const std::uint32_t pattern = add_pattern(node, false);
  patterns_by_node_.emplace(node, pattern);
  return append(pattern);
}

NodeId GraphBuilder::add_apart(const GraphNode& node) {
  has_apart_ = true;
  return append(add_pattern(node, true));
}

NodeId GraphBuilder::add_like(NodeId earlier) { return append(pattern_of_[index_of(earlier)]); }

std::uint32_t GraphBuilder::add_stretch(Stretch stretch) {
  ORRERY_ASSERT(index_of(stretch.first) + stretch.count <= size() && !stretch.tail.empty());
  stretches_.push_back(std::move(stretch));
  return static_cast<std::uint32_t>(stretches_.size() - 1);
}

void GraphBuilder::check(const GraphNode& node) const {
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
  ORRERY_ASSERT(form->order.size() == size());
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
  for (std::uint32_t number = 0; number < graph.amount_numbers(); ++number)
    ExecutionGraph::store_amounts(*amounts, number, graph.amount_numbers(), node(index_of(graph.first_node(number))));
  graph.derive_host(*amounts, nullptr);
  graph.hash_ = hash_of({graph.form_hash_, graph.content_hash_of(*amounts)});
  graph.amounts_ = std::move(amounts);
  return graph;
}

void GraphBuilder::store_columns(Form& form) const {
  form.kinds.reserve(size());
  for (const std::uint32_t pattern : pattern_of_) form.kinds.push_back(patterns_[pattern].kind);
  for (const GraphNode& pattern : patterns_) form.stream_count = std::max(form.stream_count, pattern.stream + 1);
  form.priorities = column_of(patterns_, pattern_of_, [](const GraphNode& n) { return n.priority; });
  form.streams = column_of(patterns_, pattern_of_, [](const GraphNode& n) { return n.stream; });
}

// Mostly edges come in the order of `after`, so that those of one node need no sorting.
void GraphBuilder::store_edges(Form& form) const {
  ORRERY_ASSERT(edges_.size() < UINT32_MAX);
  std::vector<std::uint32_t> place(size() + 1, 0);
  bool is_in_order = true;
  NodeId latest{};
  for (const Edge& edge : edges_) {
    ORRERY_ASSERT(edge.before != edge.after && index_of(edge.before) < size() && index_of(edge.after) < size());
    ++place[index_of(edge.before) + 1];
    is_in_order = is_in_order && latest <= edge.after;
    latest = edge.after;
  }
  for (std::size_t node = 0; node < size(); ++node) place[node + 1] += place[node];
  std::vector<NodeId> sorted(edges_.size());
  for (const Edge& edge : edges_) sorted[place[index_of(edge.before)]++] = edge.after;
  // The place of a node is now behind its edges.
  form.predecessor_counts.assign(size(), 0);
  form.successor_offsets.reserve(size() + 1);
  form.successors.reserve(sorted.size());
  std::uint32_t begin = 0;
  for (std::size_t node = 0; node < size(); begin = place[node++]) {
    const std::uint32_t first = static_cast<std::uint32_t>(form.successors.size());
    form.successor_offsets.push_back(first);
    if (!is_in_order) std::sort(sorted.begin() + begin, sorted.begin() + place[node]);
    for (std::uint32_t edge = begin; edge < place[node]; ++edge) {
      if (form.successors.size() > first && form.successors.back() == sorted[edge]) continue;
      form.successors.push_back(sorted[edge]);
      ++form.predecessor_counts[index_of(sorted[edge])];
    }
  }
  form.successor_offsets.push_back(static_cast<std::uint32_t>(form.successors.size()));
}

void GraphBuilder::store_communication(Form& form) const {
  std::uint32_t communicators = 0;
  for (std::uint32_t i = 0; i < size(); ++i) {
    if (!is_communication(form.kinds[i])) continue;
    const GraphNode& node = this->node(i);
    if (form.ordinals.empty()) form.ordinals.assign(size(), 0);
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
  for (std::uint32_t node = 0; node < size(); ++node)
    for (std::uint32_t edge = form.successor_offsets[node]; edge < form.successor_offsets[node + 1]; ++edge) {
      const NodeId after = form.successors[edge];
      if (!stretch.holds(after)) continue;
      const std::uint32_t offset = index_of(after) - index_of(stretch.first);
      if (stretch.holds(NodeId(node)))
        waits_inside[offset] = true;
      else
        before[offset].push_back(NodeId(node));
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
  form.numbers.reserve(size());
  form.repetitions.reserve(size());
  for (const std::uint32_t pattern : pattern_of_) {
    form.numbers.push_back(number);
    const auto& repetition = patterns_[pattern].repetition;
    form.repetitions.push_back(repetition ? 1 + 2 * repetition->stretch + (repetition->is_rest ? 1 : 0) : 0);
    const bool is_stretch = repetition && !repetition->is_rest;
    number += is_stretch ? stretches_[repetition->stretch].count : repetition ? 0 : 1;
  }
  form.stretches = std::move(stretches_);
}

// Stores nothing if the host takes no time, since nothing waits for it then.
void GraphBuilder::store_synchronisations(Form& form) const {
  const auto has_launches = [](const GraphNode& node) { return node.host.launches > Duration::zero(); };
  if (std::ranges::none_of(patterns_, has_launches)) return;
  std::vector<bool> is_in_stretch;  // by stretch: one of its nodes synchronises
  for (const Stretch& stretch : form.stretches)
    is_in_stretch.push_back(
        std::ranges::any_of(std::span(pattern_of_).subspan(index_of(stretch.first), stretch.count),
                            [&](std::uint32_t pattern) { return patterns_[pattern].host.synchronises; }));
  std::vector<char> synchronises;  // by pattern
  for (const GraphNode& pattern : patterns_) {
    const bool repeats = pattern.repetition && !pattern.repetition->is_rest;
    synchronises.push_back(repeats ? is_in_stretch[pattern.repetition->stretch] : pattern.host.synchronises);
  }
  form.is_synchronisation.resize(size());
  for (std::uint32_t i = 0; i < size(); ++i) {
    if (node(i).host.synchronises) form.is_synchronisation[i] = true;
    if (synchronises[pattern_of_[i]] != 0) form.synchronisations.push_back(NodeId(i));
  }
}

namespace {

// Key of an amount number.
using NodeAmounts = std::array<std::uint64_t, 7>;

NodeAmounts amounts_of(const GraphNode& node) {
  const auto number = [](const auto& amount) { return static_cast<std::uint64_t>(amount.count()); };
  return {static_cast<std::uint64_t>(node.kind),
          number(node.duration.value_or(Duration::zero())),
          number(node.flops),
          number(node.bytes),
          number(node.host.launches),
          number(node.host.span),
          node.processor_bound ? 1 + *node.processor_bound : 0U};
}

struct HashOfAmounts {
  std::size_t operator()(const NodeAmounts& amounts) const {
    std::uint64_t hash = 0;
    for (const std::uint64_t amount : amounts) hash = mixed(hash ^ amount);
    return hash;
  }
};

}  // namespace

// Measured durations hardly ever come twice: where most amounts are new and no node is apart, every node has a number
// of its own.
ExecutionGraph::Numbering GraphBuilder::number_amounts() const {
  constexpr std::uint32_t kNone = UINT32_MAX;
  ExecutionGraph::Numbering numbering;
  std::unordered_map<NodeAmounts, std::uint32_t, HashOfAmounts> known;
  std::vector<std::uint32_t> number_of(patterns_.size(), kNone);
  numbering.of.reserve(size());
  for (std::uint32_t i = 0; i < size(); ++i) {
    std::uint32_t& number = number_of[pattern_of_[i]];
    if (number == kNone) {
      const std::uint32_t next = numbering.count;
      number = is_apart_[pattern_of_[i]] != 0 ? next : known.try_emplace(amounts_of(node(i)), next).first->second;
      if (number == next) {
        numbering.first_nodes.push_back(NodeId(i));
        numbering.uses.push_back(0);
        numbering.weights.push_back(0);
        ++numbering.count;
      }
    }
    numbering.of.push_back(number);
    ++numbering.uses[number];
    numbering.weights[number] += mixed(i);
    // Gives up when more than half are new: of all nodes, or of those so far once they are many.
    if (!has_apart_ && numbering.count * std::size_t{2} > (numbering.count < kFew ? size() : i)) {
      numbering = {};
      numbering.count = static_cast<std::uint32_t>(size());
      return numbering;
    }
  }
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
