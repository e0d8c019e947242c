// SPDX-License-Identifier: MIT
// Makes an ExecutionGraph out of nodes and edges. Both the trace loader and the job generator build through this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
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
  // Nodes get the NodeIds 0, 1, ... in the order of these calls. Those with equal amounts may have one amount number
  // (ExecutionGraph::amount_number).
  NodeId add(const GraphNode& node);
  // The same, but the node has an amount number of its own, shared by those that are added like it only.
  NodeId add_apart(const GraphNode& node);
  // Adds a node that is equal to an earlier one but for its edges, with the same amount number.
  NodeId add_like(NodeId earlier);
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
  using Form = ExecutionGraph::Form;
  struct HashOfNode {
    std::size_t operator()(const GraphNode& node) const;
  };

  void check(const GraphNode& node) const;
  NodeId append(std::uint32_t pattern);
  std::uint32_t add_pattern(const GraphNode& node, bool is_apart);
  const GraphNode& node(std::uint32_t number) const { return patterns_[pattern_of_[number]]; }
  std::size_t size() const { return pattern_of_.size(); }

  void check(const Form& form, const Stretch& stretch) const;
  void store_edges(Form& form) const;
  void store_columns(Form& form) const;
  void store_communication(Form& form) const;
  void count_calls(Form& form, std::uint32_t communicators) const;
  void store_repetitions(Form& form);
  void store_synchronisations(Form& form) const;
  ExecutionGraph::Numbering number_amounts() const;

  // Programs have few different nodes, and each of them many times: nodes are kept as the numbers of their patterns.
  std::vector<GraphNode> patterns_;
  std::vector<char> is_apart_;  // by pattern
  bool has_apart_ = false;
  std::vector<std::uint32_t> pattern_of_;                                      // by node
  std::unordered_map<GraphNode, std::uint32_t, HashOfNode> patterns_by_node_;  // those that are not apart
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
