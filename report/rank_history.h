// SPDX-License-Identifier: MIT
// What one rank did, as whoever goes back from the end of a run asks for it: what ended when, what an operation waits
// for in its graph, which calls it made on a communicator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "report/operation_log.h"
#include "workload/graph/job.h"

namespace orrery::report {

// By node, what it waits for, ascending.
class Predecessors {
 public:
  explicit Predecessors(const workload::ExecutionGraph& graph) : first_(graph.size() + 1, 0) {
    for (std::uint32_t node = 0; node < graph.size(); ++node)
      for (const NodeId after : graph.successors(NodeId(node))) ++first_[index_of(after) + 1];
    for (std::size_t node = 0; node < graph.size(); ++node) first_[node + 1] += first_[node];
    before_.resize(first_.back());
    std::vector<std::uint32_t> next = first_;
    for (std::uint32_t node = 0; node < graph.size(); ++node)
      for (const NodeId after : graph.successors(NodeId(node))) before_[next[index_of(after)]++] = NodeId(node);
  }

  bool has(NodeId node, NodeId before) const {
    const auto of_node =
        std::span(before_).subspan(first_[index_of(node)], first_[index_of(node) + 1] - first_[index_of(node)]);
    return std::ranges::binary_search(of_node, before);
  }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<NodeId> before_;
};

// Steps of a path, and how long they are.
struct PathSum {
  Duration time{};
  std::size_t steps = 0;

  void add(Duration more) {
    time += more;
    ++steps;
  }
  void add(const PathSum& more) {
    time += more.time;
    steps += more.steps;
  }
};

// What one rank did, and what of it is on the path.
class RankHistory {
 public:
  RankHistory(const workload::Job& job, const OperationLog& log, RankId rank)
      : graph_(job.graph(rank)), operations_(log.of(rank)), on_path_(graph_.size()) {}

  const workload::ExecutionGraph& graph() const { return graph_; }
  const system::OperationRecord* of_node(NodeId node) { return by_number()[graph_.number(node)]; }
  std::span<const system::OperationRecord* const> calls(std::uint32_t slot) {
    if (calls_.empty()) find_calls();
    return calls_[slot];
  }
  // `before`: an operation that ended then or later, near which they are; null: anywhere.
  std::span<const system::OperationRecord> ended_at(Time time, const system::OperationRecord* before) const;
  // Tells times that a stretch of the program is gone through apart.
  std::uint32_t repetition(const system::OperationRecord& operation) const {
    return operation.number - graph_.number(operation.node);
  }
  PathSum& on_path(NodeId node) { return on_path_[index_of(node)]; }
  std::span<const PathSum> on_path() const { return on_path_; }  // by node

 private:
  // Few ranks are asked for what another waited for.
  const std::vector<const system::OperationRecord*>& by_number();
  void find_calls();

  const workload::ExecutionGraph& graph_;
  std::vector<system::OperationRecord> operations_;        // by end
  std::vector<const system::OperationRecord*> by_number_;  // null: it was not run
  // By communicator slot, in the order in which they meet.
  std::vector<std::vector<const system::OperationRecord*>> calls_;
  std::vector<PathSum> on_path_;
};

}  // namespace orrery::report
