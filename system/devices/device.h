// SPDX-License-Identifier: MIT
// A device: what it computes and how fast its memory is, read from configs/devices. A compute node without a measured
// time takes the plain roofline of its device; operators of a generated job take what OperatorModel makes of it. And
// remote memory, which ranks may share.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/error.h"
#include "core/ids.h"
#include "core/machine_kind.h"
#include "core/precision.h"
#include "core/units.h"
#include "system/devices/kernel_table.h"
#include "workload/graph/job.h"
#include "workload/training/options/offload.h"

namespace orrery::system {

// Fitted constants of compute: what the best kernels reach of a device's peaks, and what starting a kernel costs
// (system/devices/operator_model.h). The defaults stand for a GPU that nobody has measured: means of those that
// somebody has.
struct ComputeSpec {
  Efficiency clock{kFullEfficiency};   // of the clock that the peak is quoted at, under the device's power limit
  Efficiency gemm{780'000};            // of the peak, in the main loop of a matrix product
  Efficiency fp8{920'000};             // of that, where the operands are fp8 or int8
  Efficiency fp32{780'000};            // in place of gemm, where the operands are fp32
  Duration gemm_launch{4'000'000};     // of a matrix product, and of flash attention
  Efficiency memory{850'000};          // of the memory's bandwidth
  Duration launch{2'000'000};          // of an element-wise kernel
  Efficiency flash_forward{500'000};   // of the peak
  Efficiency flash_backward{420'000};  // likewise; 0.84 of forward where only that was measured
  // Rates of formats with a figure of their own, by Precision: in place of gemm, or of fp8 for operands of one byte.
  std::array<std::optional<Efficiency>, kAllPrecisions.size()> formats{};
  // Rates of products of gradients relative to the forward one, which has other layouts: TN, NN and NT.
  double input_gradient = 1;
  double weight_gradient = 1;

  bool operator==(const ComputeSpec&) const = default;
};

// Arrays of cells, each of which holds a value of one operand while those of the other flow through, one row a cycle.
struct SystolicArrays {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t count = 1;

  bool operator==(const SystolicArrays&) const = default;
};

struct DeviceSpec {
  std::string name;
  std::array<std::optional<FlopRate>, kAllPrecisions.size()> peaks;  // dense, by Precision
  Bytes memory_capacity{0};
  Bandwidth memory_bandwidth{1};
  Bytes cache{0};                               // that all multiprocessors share (L2); 0: not known
  std::uint32_t streaming_multiprocessors = 0;  // 0: not known
  double exponentials = 1;                      // that it computes a cycle, next to others of its architecture
  Architecture architecture = Architecture::kOther;
  ComputeSpec compute;
  double host_launch = 1;                  // of its node: time of its host to launch a kernel, relative to others
  workload::HostMemory host;               // of its node
  std::optional<Bandwidth> pcie;           // of its link to the host
  std::optional<SystolicArrays> systolic;  // which matrix products run on
  std::optional<Power> power;              // at most: of the whole board
  std::vector<KernelSample> measured;      // of kernels on it, which the times of operators are corrected by
  // Device as its file has it, on which the constants were measured, where that is known. None or one.
  std::vector<DeviceSpec> measured_on;

  // The peak for `precision`; bf16 falls back to fp16 and the other way (V100 has no bf16, at the same rate where both
  // exist). Nothing if the device has neither.
  std::optional<FlopRate> peak(Precision precision) const;

  bool operator==(const DeviceSpec&) const = default;
};

// "a100-sxm-80gb"; of several types with how many there are: "8 x a100-sxm-80gb, 8 x h100-sxm". `counts` by type.
std::string devices_text(std::span<const DeviceSpec> devices, std::span<const std::uint32_t> counts);

// The lowest architecture: that of the oldest generation, whose choices all can follow.
Architecture oldest_architecture(std::span<const DeviceSpec> devices);

// Reads a device section (a file in configs/devices, or inline).
DeviceSpec read_device(Section& section);
// Reads the keys of the host of a node, for its device, which has been read if there is one.
void read_host(Section& node, DeviceSpec* device);

// Roofline: the longer of flops / peak and bytes / memory bandwidth.
Duration roofline_time(Flops flops, Bytes bytes, FlopRate peak, Bandwidth memory_bandwidth);

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
  // `pool_of_rank`: which pool each rank uses; `bandwidth_of_rank`: of that pool, where it is not the memory's.
  MemoryPools(const RemoteMemory& memory, std::vector<std::uint32_t> pool_of_rank,
              std::vector<Bandwidth> bandwidth_of_rank = {});

  // An access that `rank` asks for at `now`: when it ends. A pool is busy for bytes / bandwidth, not for the latency.
  // Accesses asked for at one instant are served in the order of these calls.
  Time access(RankId rank, Bytes bytes, Time now);
  // The pool of `rank` is as busy as that of `parent`.
  void split(RankId rank, RankId parent);

 private:
  RemoteMemory memory_;
  std::vector<std::uint32_t> pool_of_rank_;
  std::vector<Bandwidth> bandwidth_of_rank_;
  std::vector<Time> free_at_;
};

struct ComputeOptions {
  Precision precision = Precision::kBf16;
  bool prefer_roofline = false;  // FLOPs win over a measured duration where a node has both
  // Share of the peak and of the memory's bandwidth that computations by the roofline reach; none: the device's own.
  std::optional<Efficiency> efficiency{};
};

// Shares of a device's peak and of its memory's bandwidth that computations by the roofline reach: by default those of
// the main loop of a matrix product, at the clock that lasts, and of kernels that are bound by memory.
struct RooflineShares {
  Efficiency peak{kFullEfficiency};
  Efficiency memory{kFullEfficiency};

  auto operator<=>(const RooflineShares&) const = default;
};
RooflineShares roofline_shares(const DeviceSpec& device, const ComputeOptions& options);

// True if a roofline can predict the node.
bool has_roofline_work(const workload::ExecutionGraph& graph, NodeId node);
// True if it does: nothing else has the time of the node, or nothing that counts.
bool is_by_roofline(const workload::ExecutionGraph& graph, NodeId node, const ComputeOptions& options);
// True if some computation on the device takes its measured duration.
bool has_measured_time(const workload::ExecutionGraph& graph, const ComputeOptions& options);

// Times by amount number of `graph`; zero for nodes that are no computation. Host nodes take their measured duration
// only. InputError when FLOPs are to be timed and the device has no peak for the precision.
std::vector<Duration> compute_times(const workload::ExecutionGraph& graph, const DeviceSpec& device,
                                    const ComputeOptions& options);

}  // namespace orrery::system
