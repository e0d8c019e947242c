// SPDX-License-Identifier: MIT
// Execution of a job without times: all that its dependencies allow happens, and what is left can never happen,
// however long things take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/units.h"
#include "workload/graph/job.h"
#include "workload/matching/matching.h"

namespace orrery::workload {

// True if a message of this size from one rank to another ends only when its receive is posted. None: no send waits.
using SendWaits = std::function<bool(RankId from, RankId to, Bytes bytes)>;

// A node of communication that waits for other ranks only.
struct Wait {
  RankId rank{};
  NodeId node{};

  auto operator<=>(const Wait&) const = default;
};

class Order {
 public:
  // Graphs have no repetitions. Takes 4 bytes for each node of each rank. `job` and `matching` outlive it.
  Order(const Job& job, const Matching& matching, const SendWaits& send_waits);

  // Nodes that can never be done.
  std::size_t left() const { return left_; }
  // Ranks that have such nodes, ascending.
  std::vector<RankId> unfinished() const;
  // Nodes of the rank that wait for other ranks, in canonical order.
  std::vector<NodeId> waits(RankId rank) const;
  // Nodes that others have to come to for `wait` to end, and have not.
  std::vector<Wait> missing(const Wait& wait) const;
  // True if all that the node depends on is done.
  bool has_come(const Wait& at) const {
    const std::uint32_t waiting = waiting_[place(at)];
    return waiting == 0 || waiting == kDone;
  }
  const Job& job() const { return job_; }

 private:
  static constexpr std::uint32_t kDone = UINT32_MAX;

  std::size_t place(const Wait& at) const { return first_[index_of(at.rank)] + index_of(at.node); }
  bool is_done(const Wait& at) const { return waiting_[place(at)] == kDone; }
  void come(const Wait& at, const SendWaits& send_waits);
  void come_to_call(const Wait& at);
  void come_to_transfer(const Wait& at, const SendWaits& send_waits);
  void finish(const Wait& at);
  NodeId call_of(RankId member, GroupId group, std::uint32_t call) const;

  const Job& job_;
  const Matching& matching_;
  std::vector<std::size_t> first_;      // node of each rank in waiting_
  std::vector<std::uint32_t> waiting_;  // dependencies that are not done; kDone
  std::vector<std::uint32_t> passed_;   // synchronisations of each rank that its host has gone on behind
  std::vector<Wait> ready_;
  std::unordered_map<std::uint64_t, std::uint32_t> arrived_;  // by communicator and call: members
  std::size_t left_ = 0;
};

// A wait in a circle: `wait.rank` waits for `blocked`, which comes after the next wait of the circle.
struct Hop {
  Wait wait;
  Wait blocked;
};

// Waits each of which depends on the next one, the last on the first; a short one of those there are. Some nodes are
// left. Empty where a host's order has a part in it.
std::vector<Hop> find_circle(const Order& order);

// True if `node` waits for `before`, directly or not. `but`: without this dependency of the second on the first.
bool depends(const ExecutionGraph& graph, NodeId before, NodeId node,
             std::pair<NodeId, NodeId> but = {NodeId(UINT32_MAX), NodeId(UINT32_MAX)});

}  // namespace orrery::workload
