// SPDX-License-Identifier: MIT
// History of one rank for walks back from the end of a run: the operations by their end, what an operation waits for in
// its graph, the calls on a communicator.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "report/operation_log.h"
#include "workload/graph/job.h"

namespace orrery::report {

// Predecessors of a graph's operations, as if its repetitions were written out.
class Predecessors {
 public:
  // `graph` outlives it.
  explicit Predecessors(const workload::ExecutionGraph& graph);

  bool has(const system::OperationRecord& operation, const system::OperationRecord& before) const;

 private:
  // One time that a stretch is gone through: the nodes that stand for it.
  struct Instance {
    NodeId main{};
    std::optional<NodeId> rest;
  };
  bool has(NodeId node, NodeId before) const;
  std::optional<std::uint32_t> stretch_of(NodeId node) const;
  const Instance* instance_of(const system::OperationRecord& operation) const;

  const workload::ExecutionGraph& graph_;
  std::vector<std::uint32_t> first_;
  std::vector<NodeId> before_;                                             // by node, ascending
  std::map<std::pair<std::uint32_t, std::uint32_t>, Instance> instances_;  // by stretch and number of its first node
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
  PathSum operator*(std::int64_t times) const { return {time * times, steps * static_cast<std::size_t>(times)}; }
};

// Time at which the device no longer waited for launches of a computation that ended when its host let it. `through`:
// when the host was through with them. Of its kernels the one launched last was waited for if its launches take longer
// than its kernels, else the first.
Time launched_at(const workload::ExecutionGraph& graph, const system::OperationRecord& operation, Time through);

// Launches of a host without a pause, up to those of one operation.
struct HostChain {
  const system::OperationRecord* after = nullptr;  // what the host waited for before; null: it began
  Time begin;                                      // when it went on behind that, or began
  Time launched;                                   // launched_at(), between `begin` and the operation's end
  std::uint32_t first = 0;                         // number of the first operation that it launched
};

// History of one rank, with its operations on the path.
class RankHistory {
 public:
  RankHistory(const workload::Job& job, const OperationLog& log, RankId rank);

  const workload::ExecutionGraph& graph() const { return graph_; }
  const system::OperationRecord* of_node(NodeId node) { return by_number()[graph_.number(node)]; }
  // Record of the operation of that ExecutionGraph::number(), with repetitions written out; null if it was not run.
  const system::OperationRecord* of_number(std::uint32_t number) { return by_number()[number]; }
  // `operation`: one of the rank's computations, of a graph that has_host().
  HostChain launches_up_to(const system::OperationRecord& operation);
  std::span<const system::OperationRecord* const> calls(std::uint32_t slot) {
    if (calls_.empty()) find_calls();
    return calls_[slot];
  }
  // Main part of a stretch gone through once more that the operation is in; null if it is in none.
  const RepeatedStretch* stretch_of(const system::OperationRecord& operation) const;
  // `before`: an operation that ended then or later, near which they are; null: anywhere.
  std::span<const system::OperationRecord> ended_at(Time time, const system::OperationRecord* before) const;
  PathSum& on_path(NodeId node) { return on_path_[index_of(node)]; }
  std::span<const PathSum> on_path() const { return on_path_; }  // by node

 private:
  // Few ranks are asked for what another waited for.
  const std::vector<const system::OperationRecord*>& by_number();
  void find_calls();
  // Time by which the host is ahead where it goes on behind `after`, or begins.
  Duration host_ahead(const system::OperationRecord* after) const;

  const workload::ExecutionGraph& graph_;
  std::vector<system::OperationRecord> operations_;        // by end
  std::vector<RepeatedStretch> stretches_;                 // main parts, by number
  std::vector<const system::OperationRecord*> by_number_;  // null: it was not run
  // Calls by communicator slot, in the order in which they meet.
  std::vector<std::vector<const system::OperationRecord*>> calls_;
  std::vector<PathSum> on_path_;
};

// When a rank came to its calls on one communicator, in the order in which they meet: all that is asked of most
// members.
std::vector<Time> call_starts(const workload::Job& job, const OperationLog& log, RankId rank, std::uint32_t slot);

// Choice of the rank with which a path goes on where several would do: it depends neither on the numbers of the ranks
// nor on which of them were simulated. Ranks between which it cannot choose did the same at the same instants, and so
// did, one by one, those that they communicate with.
class Likeness {
 public:
  // All outlive it. `acting`: by rank, whose operations the log has for it.
  Likeness(const workload::Job& job, const OperationLog& log, std::span<const RankId> acting)
      : job_(job), log_(log), acting_(acting), alike_(log) {}

  // Chooses one of at least one rank by program, then by what was done when, then by whom with; the first of those that
  // are alike.
  RankId choose(std::span<const RankId> ranks);

 private:
  bool are_one(std::span<const RankId> ranks) const;
  std::uint64_t history(RankId rank);
  void find_colours();
  std::uint64_t colour(RankId rank) const { return colours_[period_.place(index_of(rank))]; }

  const workload::Job& job_;
  const OperationLog& log_;
  std::span<const RankId> acting_;
  AlikeRanks alike_;
  std::map<RankId, std::uint64_t> histories_;        // hashes, by rank that acts
  std::vector<system::OperationRecord> operations_;  // scratch of history()
  workload::Period period_;                          // of ranks that did the same
  // Colours by place of the rank, of its history and of those around it; empty until needed.
  std::vector<std::uint64_t> colours_;
};

}  // namespace orrery::report
