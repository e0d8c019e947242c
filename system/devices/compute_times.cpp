#include "system/devices/compute_times.h"

#include <fmt/format.h>

namespace orrery {

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
