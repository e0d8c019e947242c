// SPDX-License-Identifier: MIT
// Times of the operations that a rank does by itself: computation by graph, perturbations, remote memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/units.h"
#include "network/fabric/fabric.h"
#include "system/devices/device.h"
#include "system/devices/perturbation.h"
#include "workload/graph/job.h"

namespace orrery::system {

struct OperationOptions {
  bool timed = true;  // else nothing takes time
  ComputeOptions compute;
  std::vector<ComputeOptions> compute_by_graph{};  // where several jobs differ in it; empty: `compute` of all
  Perturbation perturbation;
  std::optional<RemoteMemory> remote_memory;  // else MEM nodes take the device's own bandwidth
};

// Capacity of a device, of which calls take shares. 0: not known, and nothing is slowed for want of it.
struct DeviceCapacity {
  std::int64_t processors = 0;
  std::int64_t memory_rate = 0;  // as kernels reach it, in bytes per second

  bool operator==(const DeviceCapacity&) const = default;
};

class OperationTimes {
 public:
  // `job` outlives it. `devices`: by type of the fabric's nodes. `placement`: the device of each rank.
  OperationTimes(const workload::Job& job, const network::Fabric& fabric, std::span<const DeviceSpec> devices,
                 std::span<const DeviceId> placement, const OperationOptions& options);

  // Time of a computation, or of a memory access requested at `now`.
  Duration take(RankId rank, NodeId node, Time now);
  // Times of the rank's computations by amount number, undisturbed, and with what disturbs them: those that take()
  // returns.
  std::span<const Duration> undisturbed(RankId rank) const {
    return compute_times_[type_of(rank)][job_.ranks.graph(index_of(rank))];
  }
  Duration disturbed(RankId rank, NodeId node, Duration time) {
    return disturbance_ ? disturbance_->disturbed(rank, node, time) : time;
  }
  bool is_timed() const { return timed_; }  // else nothing takes time
  // None of the rank's operations starts before.
  Time start(RankId rank) const { return disturbance_ ? disturbance_->start(rank) : Time{}; }
  // True if ranks share a memory pool, which serves them one after the other.
  bool has_shared_memory() const { return is_remote_ && shared_ != MemorySharing::kRank; }
  const DeviceCapacity& capacity(RankId rank) const { return capacities_[type_of(rank)]; }
  // The memory of `rank` is as busy as that of `parent`.
  void split(RankId rank, RankId parent) { memory_.split(rank, parent); }

  // Colours by rank: different for ranks that take different times for equal graphs. A shared pool serves its ranks one
  // after the other, so that no two of them are alike.
  std::vector<std::uint64_t> colours() const;
  // In words, what they tell apart: "", " and what disturbs them".
  std::string what_differs() const;

 private:
  std::uint32_t type_of(RankId rank) const { return type_of_rank_.empty() ? 0 : type_of_rank_[index_of(rank)]; }
  Duration memory_time(RankId rank, NodeId node, Time now);

  const workload::Job& job_;
  bool timed_;
  bool is_remote_;
  MemorySharing shared_;
  std::vector<std::uint32_t> type_of_rank_;                        // empty: there is one type of devices
  std::vector<std::vector<std::vector<Duration>>> compute_times_;  // by type, by graph, by amount number; only of ranks
  std::vector<DeviceCapacity> capacities_;                         // by type
  std::optional<Disturbance> disturbance_;
  MemoryPools memory_;
};

}  // namespace orrery::system
