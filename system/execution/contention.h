// SPDX-License-Identifier: MIT
// Computations of one rank beside its own calls and sends, which hold multiprocessors of its device and read and write
// its memory while they run. Of a kernel that takes a time T alone, a share is bound by multiprocessors, the rest by
// memory; beside calls that hold c of m multiprocessors and move u of B bytes a second it takes
//
//   T * (share * m / (m - c) + (1 - share) * B / (B - u)),   c <= m / 2, u <= B / 2
//
// as long as these run. Its speed is that, the other way round and rounded down to 1 / kWholeShare; its end is rounded
// up to a picosecond, and nothing else is rounded. No other rank has a part in it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "collectives/aggregate.h"
#include "core/engine.h"
#include "core/ids.h"
#include "core/small_vector.h"
#include "core/units.h"
#include "system/devices/operation_times.h"
#include "workload/graph/execution_graph.h"

namespace orrery::system {

// Speed of a computation beside calls that take `taken` of the device, in kWholeShare of that alone; at least half.
// `processor_bound` as in GraphNode.
std::uint32_t speed_beside(const collectives::DeviceShare& taken, const DeviceCapacity& device,
                           std::uint32_t processor_bound);

// A computation under way.
struct Computation {
  NodeId node{};
  std::uint32_t processor_bound = 0;
  std::uint32_t speed = workload::kWholeShare;  // since `since`
  Duration alone{};
  Time taken;
  Time not_before;  // it ends no earlier: the host has not launched its kernels
  Time since;
  Time done;            // when its work is; Duration::max() from the start if that is beyond simulated time
  Int128 left = 0;      // at `since`: picoseconds alone, times kWholeShare
  EventHandle event{};  // at `due`, which is not after its end
  Time due{};

  // It begins at `now`, with the device to itself.
  static Computation of(NodeId node, Duration alone, std::uint32_t processor_bound, Time now, Time not_before) {
    return {node,
            processor_bound,
            workload::kWholeShare,
            alone,
            now,
            not_before,
            now,
            Time(saturating_add(now.time_since_epoch(), alone)),
            Int128{alone.count()} * workload::kWholeShare};
  }
  Time end() const { return std::max(done, not_before); }
  bool is_scheduled() const { return event.sequence != 0; }
  // Goes on at another speed from `now` on, which is not before `since`.
  void go_on(std::uint32_t new_speed, Time now);
};

// Operations that run on the device of one rank.
class DeviceUse {
 public:
  // A call or a send that takes part of the device begins; its data move; it has ended.
  void take(NodeId call, const collectives::DeviceShare& share);
  void move(NodeId call);
  void release(NodeId call);

  const collectives::DeviceShare& taken() const { return taken_; }

  SmallVector<Computation, 1>& computations() { return computations_; }
  // Null if there is none of that node.
  Computation* find(NodeId node);
  void erase(NodeId node);

 private:
  struct Call {
    NodeId node{};
    collectives::DeviceShare share;
    bool is_moving = false;
  };

  collectives::DeviceShare taken_;  // by all calls
  SmallVector<Call, 2> calls_;
  SmallVector<Computation, 1> computations_;
};

}  // namespace orrery::system
