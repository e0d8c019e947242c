// SPDX-License-Identifier: MIT
// Makes an ExecutionGraph out of nodes and edges. Both the trace loader and the job generator build through this.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "workload/graph/execution_graph.h"

namespace orrery::workload {

// `after` waits for `before`.
struct Edge {
  NodeId before;
  NodeId after;

  auto operator<=>(const Edge&) const = default;
};

// Successors of each node, as lists one after the other.
struct SuccessorLists {
  // `edges` are ascending.
  SuccessorLists(std::size_t nodes, std::span<const Edge> edges);

  std::span<const NodeId> of(NodeId node) const {
    const std::uint32_t begin = offsets[index_of(node)];
    return std::span(successors).subspan(begin, offsets[index_of(node) + 1] - begin);
  }

  std::vector<std::uint32_t> offsets;  // one more than nodes
  std::vector<NodeId> successors;
  std::vector<std::uint32_t> predecessor_counts;
};

class GraphBuilder {
 public:
  void reserve(std::size_t nodes, std::size_t edges);
  // Nodes get the NodeIds 0, 1, ... in the order of these calls. Those of different sources have different amount
  // numbers (ExecutionGraph::amount_number), even if their amounts are equal.
  NodeId add(const GraphNode& node, std::uint32_t source = 0);
  // Both nodes may still be to come. A repeated edge counts once; an edge from a node to itself is a bug.
  void depend(NodeId after, NodeId before) { edges_.push_back({before, after}); }
  // Adds a stretch for GraphNode::repetition to refer to; stretches get the numbers 0, 1, ... A stretch is added before
  // what repeats it.
  std::uint32_t add_stretch(Stretch stretch);
  // The calls of the communicator slot count by NodeId instead of in canonical order (ExecutionGraph::call_index).
  void count_calls_by_node(std::uint32_t slot) { slots_by_node_.push_back(slot); }

  // The edges must be acyclic and name existing nodes: whoever reads them from outside checks that first
  // (workload/traces/dependency_check.h).
  ExecutionGraph build() &&;

 private:
  void check(const GraphNode& node) const;
  using Form = ExecutionGraph::Form;

  void check(const Form& form, const Stretch& stretch) const;
  void store_edges(Form& form);
  void store_columns(Form& form) const;
  void store_communication(Form& form) const;
  void count_calls(Form& form, std::uint32_t communicators) const;
  void store_repetitions(Form& form);
  void store_synchronisations(Form& form) const;
  ExecutionGraph::Numbering number_amounts() const;

  std::vector<GraphNode> nodes_;
  std::vector<std::uint32_t> sources_;  // by node; of those at the end that are not here, 0
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> slots_by_node_;
  std::vector<Stretch> stretches_;
};

// The order that always takes the smallest ready node, by successor lists in CSR form. Nodes on a cycle, and those
// behind one, are missing from it.
std::vector<NodeId> canonical_order(std::span<const std::uint32_t> successor_offsets,
                                    std::span<const NodeId> successors,
                                    std::span<const std::uint32_t> predecessor_counts);

// The same graph, with communicator slot s renumbered to slot_map[s]; several may become one.
ExecutionGraph with_communicator_slots(const ExecutionGraph& graph, std::span<const std::uint32_t> slot_map);

// The same graph, with the calls of these communicator slots counted by NodeId. `graph` counts all in canonical order.
ExecutionGraph with_calls_by_node(const ExecutionGraph& graph, std::span<const std::uint32_t> slots);

}  // namespace orrery::workload
