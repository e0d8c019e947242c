// SPDX-License-Identifier: MIT
// How far the host of a rank has come in its program: behind which of the nodes that it synchronises with it has gone
// on, and since when. They may be done in any order; the host waits for one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "core/units.h"
#include "workload/graph/execution_graph.h"

namespace orrery::system {

class HostProgress {
 public:
  explicit HostProgress(const workload::ExecutionGraph& graph) : since_(Time{} - graph.host_ahead(0)) {}

  // The rank begins at `time`, and its host with it.
  void begin_at(Time time) { since_ += time.time_since_epoch(); }
  // True if a computation in this place of the program is not launched yet: the host waits for a node before it.
  bool is_in_front_of(const workload::ExecutionGraph& graph, NodeId node) const {
    const std::span<const NodeId> all = graph.synchronisations();
    return passed_ < all.size() && node > all[passed_];
  }
  // A computation is taken.
  void take() { ++taken_; }
  // `node` is done, which the host could go on behind at `time`. `computations_up_to`: number of computations up to
  // each synchronisation, in the order of the program. True if the host goes on.
  bool finish(const workload::ExecutionGraph& graph, NodeId node, Time time,
              std::span<const std::uint32_t> computations_up_to);
  // Time at which the host turns to a computation that can start, or that was just taken.
  Time turns_to(const workload::ExecutionGraph& graph, NodeId node) const;

 private:
  std::uint32_t passed_ = 0;  // synchronisations that the host has gone on behind
  std::uint32_t taken_ = 0;   // computations
  Time since_;                // when it went on behind the last of them, or began
  // Earlier values of `since_`, by `passed_`, while computations are left that were launched then.
  std::vector<std::pair<std::uint32_t, Time>> earlier_;
  using Done = std::pair<NodeId, Time>;
  std::priority_queue<Done, std::vector<Done>, std::greater<>> done_ahead_;  // synchronisations behind others, undone
};

}  // namespace orrery::system
