#include "system/devices/compute_times.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace orrery {

MemoryPools::MemoryPools(const RemoteMemory& memory, std::vector<std::uint32_t> pool_of_rank)
    : memory_(memory), pool_of_rank_(std::move(pool_of_rank)) {
  const auto largest = std::ranges::max_element(pool_of_rank_);
  free_at_.resize(largest == pool_of_rank_.end() ? 0 : *largest + 1);
}

Time MemoryPools::access(RankId rank, Bytes bytes, Time now) {
  Time& free_at = free_at_[pool_of_rank_[index_of(rank)]];
  free_at = Time(saturating_add(std::max(free_at, now).time_since_epoch(), bytes / memory_.bandwidth));
  return Time(saturating_add(free_at.time_since_epoch(), memory_.latency));
}

void MemoryPools::split(RankId rank, RankId parent) {
  free_at_[pool_of_rank_[index_of(rank)]] = free_at_[pool_of_rank_[index_of(parent)]];
}

bool has_roofline_work(const ExecutionGraph& graph, NodeId node) {
  return graph.kind(node) == NodeKind::kCompute && (graph.flops(node).count() > 0 || graph.bytes(node).count() > 0);
}

std::vector<Duration> compute_times(const ExecutionGraph& graph, const DeviceSpec& device,
                                    const ComputeOptions& options) {
  std::vector<Duration> times(graph.size(), Duration::zero());
  const std::optional<FlopRate> peak = device.peak(options.precision);
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    const NodeId node{i};
    const NodeKind kind = graph.kind(node);
    if (kind != NodeKind::kCompute && kind != NodeKind::kHostCompute) continue;
    const Duration measured = graph.duration(node).value_or(Duration::zero());
    const bool modelled = has_roofline_work(graph, node) && (measured == Duration::zero() || options.prefer_roofline);
    if (modelled && !peak && graph.flops(node).count() > 0)
      throw InputError(
          {},
          fmt::format("{} has no {} peak, which the FLOPs of the trace need", device.name, name_of(options.precision)),
          "set workload.precision to one that the device has");
    times[i] = modelled ? roofline_time(graph.flops(node), graph.bytes(node), peak.value_or(FlopRate(1)),
                                        device.memory_bandwidth)
                        : measured;
  }
  return times;
}

}  // namespace orrery
