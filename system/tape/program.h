// SPDX-License-Identifier: MIT
// A program as a tape runs it: its nodes with everything that they wait for as edges, the nodes before them on their
// streams included, so that a node starts when the last of these has ended, whatever the times are.
//
// That holds where the nodes of each stream become ready one after the other however long anything takes: all that a
// node waits for comes before what the next one waits for. Where that cannot be seen there is no such program, and the
// engine has to find out who is ready first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "workload/graph/execution_graph.h"

namespace orrery::system {

class TapeProgram {
 public:
  // `graph` outlives it. `contends`: calls and sends slow down what is computed beside them.
  TapeProgram(const workload::ExecutionGraph& graph, bool contends);

  // Reason why the graph does not run from a tape; empty if it does.
  std::string_view why_not() const { return why_not_; }

  const workload::ExecutionGraph& graph() const { return graph_; }
  // Number of edges to a node, and the nodes to which edges lead from it. Sends to a peer have none among one another:
  // the next may start while the one before waits for its receive.
  std::span<const std::uint32_t> waits() const { return waits_; }
  std::span<const NodeId> after(NodeId node) const {
    const std::uint32_t i = index_of(node);
    return std::span(after_).subspan(first_after_[i], first_after_[i + 1] - first_after_[i]);
  }
  // The synchronisation that the host waited for last before it turned to the node, if there is one; and how many there
  // are up to it.
  std::uint32_t synchronisations_before(NodeId node) const {
    return synchronisations_before_.empty() ? 0 : synchronisations_before_[index_of(node)];
  }
  // No node from here on is in a stretch.
  std::uint32_t end_of_stretches() const { return end_of_stretches_; }
  // Place of a computation on the stream of those that are slowed.
  std::uint32_t place(NodeId computation) const { return place_[index_of(computation)]; }
  // Number of computations of that stream that have certainly ended when the node starts; and the place of the first
  // that certainly waits for it, a large number if none does.
  std::uint32_t computed_before(NodeId node) const { return ancestors_[index_of(node)]; }
  std::uint32_t awaited_at(NodeId node) const { return released_[index_of(node)]; }
  std::uint32_t computations() const { return static_cast<std::uint32_t>(main_.size()); }
  // The sends to a peer in the order in which they become ready.
  std::span<const NodeId> sends(std::uint32_t peer_slot) const { return sends_[peer_slot]; }
  // False of a repetition that is ready as soon as its stream is free, whatever else it waits for.
  bool may_wait_for_stream(NodeId repetition) const { return std::ranges::binary_search(waiting_, repetition); }
  // Calls and sends, those first that may start earliest: before them, so many computations of that stream have ended.
  struct Taker {
    std::uint32_t behind = 0;
    NodeId node{};
  };
  std::span<const Taker> takers() const { return takers_; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Edge {
    NodeId from{};
    NodeId to{};
  };

  void find_predecessors();
  void find_main_stream();
  void find_ancestors();
  void order_streams();
  void order_host();
  void connect();
  void check_repetitions();
  void find_takers();
  bool is_main(NodeId node) const {
    return graph_.kind(node) == workload::NodeKind::kCompute && place(node) < main_.size() &&
           main_[place(node)] == node;
  }
  bool is_before(NodeId first, NodeId last);
  bool becomes_ready_before(NodeId first, NodeId second);
  std::span<const NodeId> before(NodeId node) const {
    const std::uint32_t i = index_of(node);
    return std::span(before_).subspan(first_before_[i], first_before_[i + 1] - first_before_[i]);
  }
  void refuse(std::string_view why) {
    if (why_not_.empty()) why_not_ = why;
  }

  const workload::ExecutionGraph& graph_;
  bool contends_;
  std::string_view why_not_;
  std::vector<std::uint32_t> first_before_, position_;
  std::vector<NodeId> before_;
  std::vector<NodeId> main_;              // computations of the stream of those that are slowed, in order
  std::vector<std::uint32_t> place_;      // by node
  std::vector<std::uint32_t> ancestors_;  // by node: so many of main_ are certainly done when it starts
  std::vector<bool> follows_;             // by place: by its edges it waits for the one before it in main_
  std::vector<std::uint32_t> released_;   // by node: the first of main_ that certainly waits for it
  std::vector<Edge> added_;               // along streams, and from synchronisations
  std::vector<std::uint32_t> waits_, first_after_;
  std::vector<NodeId> after_;
  std::vector<std::uint32_t> synchronisations_before_;
  std::vector<Taker> takers_;
  std::vector<std::vector<NodeId>> sends_;  // by peer slot
  std::vector<NodeId> waiting_;             // repetitions that may wait for their stream, ascending
  std::vector<NodeId> stack_;               // scratch of is_before()
  std::vector<std::uint32_t> seen_;         // likewise
  std::uint32_t search_ = 0;
  std::uint32_t end_of_stretches_ = 0;
};

}  // namespace orrery::system
