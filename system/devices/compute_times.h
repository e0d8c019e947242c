// How long the compute nodes of a graph take: the measured duration, or the device's plain roofline; and its accesses
// to remote memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/error.h"
#include "core/ids.h"
#include "core/units.h"
#include "system/devices/device.h"
#include "workload/graph/job.h"

namespace orrery {

// Remote memory: where the MEM nodes of a trace load from and store to. A pool serves one access at a time, first come
// first served, so ranks that share one wait for each other.
enum class MemorySharing : std::uint8_t { kRank, kNode, kCluster };

struct RemoteMemory {
  Bandwidth bandwidth{1};
  Duration latency{};
  MemorySharing shared = MemorySharing::kRank;
};

class MemoryPools {
 public:
  // `pool_of_rank`: which pool each rank uses.
  MemoryPools(const RemoteMemory& memory, std::vector<std::uint32_t> pool_of_rank);

  // An access that `rank` asks for at `now`: when it ends. A pool is busy for bytes / bandwidth, not for the latency.
  // Accesses asked for at one instant are served in the order of these calls.
  Time access(RankId rank, Bytes bytes, Time now);
  // The pool of `rank` is as busy as that of `parent`.
  void split(RankId rank, RankId parent);

 private:
  RemoteMemory memory_;
  std::vector<std::uint32_t> pool_of_rank_;
  std::vector<Time> free_at_;
};

struct ComputeOptions {
  Precision precision = Precision::kBf16;
  bool prefer_roofline = false;  // FLOPs win over a measured duration where a node has both
};

// Whether a roofline says how long the node takes.
bool has_roofline_work(const ExecutionGraph& graph, NodeId node);

// Per node of `graph`; zero for nodes that are no computation. Host nodes take their measured duration only. InputError
// when FLOPs are to be timed and the device has no peak for the precision.
std::vector<Duration> compute_times(const ExecutionGraph& graph, const DeviceSpec& device,
                                    const ComputeOptions& options);

}  // namespace orrery
