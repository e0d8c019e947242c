// SPDX-License-Identifier: MIT
// A stretch (workload::Stretch) as it runs by itself, its host far ahead of its beginning: every node takes what it
// took when it ran first, less what it waited for its host and what calls slowed it. Its own calls, and what calls
// outside of it take of the rank's device meanwhile, slow its computations anew (contention.h).
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collectives/aggregate.h"
#include "core/ids.h"
#include "core/units.h"
#include "system/devices/operation_times.h"
#include "system/execution/observer.h"
#include "workload/graph/execution_graph.h"

namespace orrery::system {

// A repetition would not be exact.
struct NotRepeatable {};

// Throws NotRepeatable unless `condition` holds.
void require_repeatable(bool condition);

// Part of the device that calls outside of a stretch take from `since` after its beginning on, until the next part.
struct OutsideUse {
  Duration since{};
  collectives::DeviceShare share;

  bool operator==(const OutsideUse&) const = default;
  // An order for maps.
  bool operator<(const OutsideUse& other) const;
};

// The device that a stretch runs on: what each of its own calls takes, by offset of the node from the first.
struct ContendedDevice {
  DeviceCapacity capacity;
  std::vector<collectives::DeviceShare> takes;
};

class Replay {
 public:
  // `graph` and `stretch` outlive it. `first_run`: the operations of the stretch as they ran, by node. Without a
  // `device` nothing slows a computation. Throws NotRepeatable where it takes months.
  Replay(const workload::ExecutionGraph& graph, const workload::Stretch& stretch,
         std::vector<OperationRecord> first_run, std::optional<ContendedDevice> device);

  // The operations by node, from time 0 on. `outside`: ascending in time. Throws NotRepeatable where it depends on the
  // order of what happens at one instant.
  std::vector<OperationRecord> run(std::span<const OutsideUse> outside) const;

 private:
  friend class ReplayRun;

  struct Node {
    std::uint32_t stream = 0;
    std::uint32_t waits_for = 0;  // nodes of the stretch
    Duration time{};              // alone
    std::optional<std::uint32_t> processor_bound;
    // Latest synchronisation of the stretch before a computation, and from then to its end if the host launches it.
    std::optional<std::uint32_t> synchronisation;
    std::optional<Duration> until_end;
  };

  std::uint32_t offset_of(NodeId node) const { return index_of(node) - index_of(stretch_.first); }
  void take_host();

  const workload::ExecutionGraph& graph_;
  const workload::Stretch& stretch_;
  std::vector<OperationRecord> first_run_;
  std::optional<ContendedDevice> device_;
  std::vector<Node> nodes_;  // by offset
  std::uint32_t streams_ = 0;
};

}  // namespace orrery::system
