#include "system/devices/device.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "network/fabric/link_type.h"

namespace orrery {
namespace {

void read_compute(Section& section, ComputeSpec& compute) {
  compute.clock = section.optional<Efficiency>(
      "clock", compute.clock, "share of the peak's clock that the device keeps up under its power limit");
  compute.gemm = section.optional<Efficiency>("gemm", compute.gemm, "share of the peak in the main loop of a product");
  compute.fp8 = section.optional<Efficiency>("fp8", compute.fp8, "share of that where operands are fp8");
  compute.fp32 = section.optional<Efficiency>(
      "fp32", compute.gemm, "in place of gemm where operands are fp32, which tensor cores do not take", "as gemm");
  compute.gemm_launch =
      section.optional<Duration>("gemm_launch", compute.gemm_launch, "what a matrix product takes beside its work");
  compute.memory =
      section.optional<Efficiency>("memory", compute.memory, "share of the memory's bandwidth that kernels reach");
  compute.launch =
      section.optional<Duration>("launch", compute.launch, "what an element-wise kernel takes beside its work");
  compute.flash_forward = section.optional<Efficiency>("flash_forward", compute.flash_forward,
                                                       "flash attention as a share of the peak, where no software "
                                                       "says otherwise");
  compute.flash_backward =
      section.optional<Efficiency>("flash_backward", Efficiency(compute.flash_forward.count() * 84 / 100),
                                   "the same, backward", "0.84 of flash_forward");
}

}  // namespace

std::optional<FlopRate> DeviceSpec::peak(Precision precision) const {
  const auto of = [&](Precision p) { return peaks[static_cast<std::size_t>(p)]; };
  if (of(precision)) return of(precision);
  if (precision == Precision::kBf16) return of(Precision::kFp16);
  if (precision == Precision::kFp16) return of(Precision::kBf16);
  return std::nullopt;
}

DeviceSpec read_device(Section& section) {
  DeviceSpec device;
  device.name = section.required<std::string>("name", "name of the device, as results print it");
  section.required_section(
      "peak", "dense peak rates by precision; a precision that is left out is not supported", [&](Section& peak) {
        for (const Precision precision : kAllPrecisions)
          device.peaks[static_cast<std::size_t>(precision)] = peak.maybe<FlopRate>(name_of(precision), "dense peak");
        const bool none = std::ranges::none_of(kAllPrecisions, [&](Precision p) { return peak.has(name_of(p)); });
        if (none) peak.error("", "a device needs the peak of at least one precision", "for example bf16: 312 TFLOP/s");
      });
  section.required_section("memory", "the device's own memory (HBM)", [&](Section& memory) {
    device.memory_capacity = memory.required<Bytes>("capacity", "size");
    device.memory_bandwidth = memory.required<Bandwidth>("bandwidth", "peak bandwidth");
  });
  device.streaming_multiprocessors = static_cast<std::uint32_t>(
      section.optional_integer("streaming_multiprocessors", 0, {0, 4096}, "number of multiprocessors; 0 if not known"));
  device.architecture = static_cast<Architecture>(
      section.optional_choice("architecture", architecture_names(), 0, "generation of an NVIDIA or AMD GPU"));
  section.defaulted_section("compute", "what the best kernels reach; the defaults are means of measured GPUs",
                            [&](Section& compute) { read_compute(compute, device.compute); });
  read_device_links(section);  // for the node that the device is in
  section.note("vendor", "for people");
  section.note("source", "where the figures come from");
  section.note("assumed", "figures that were not read in a source");
  return device;
}

Duration roofline_time(Flops flops, Bytes bytes, FlopRate peak, Bandwidth memory_bandwidth) {
  return std::max(flops / peak, bytes / memory_bandwidth);
}

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
