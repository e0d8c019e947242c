// SPDX-License-Identifier: MIT
#include "system/devices/operation_times.h"

#include "core/hash.h"

namespace orrery::system {
namespace {

// A pool per rank, per node (the fabric's first dimension) or for all.
std::vector<std::uint32_t> pools(MemorySharing shared, std::span<const DeviceId> placement,
                                 std::uint32_t devices_per_node) {
  std::vector<std::uint32_t> pool_of_rank;
  for (std::uint32_t rank = 0; rank < placement.size(); ++rank)
    pool_of_rank.push_back(shared == MemorySharing::kRank   ? rank
                           : shared == MemorySharing::kNode ? index_of(placement[rank]) / devices_per_node
                                                            : 0);
  return pool_of_rank;
}

RemoteMemory memory_of(const OperationOptions& options, const DeviceSpec& device) {
  return options.remote_memory.value_or(RemoteMemory{device.memory_bandwidth, Duration::zero(), MemorySharing::kRank});
}

std::vector<std::uint32_t> types_of(const network::Fabric& fabric, std::span<const DeviceId> placement) {
  std::vector<std::uint32_t> types;
  if (fabric.type_count() > 1)
    for (const DeviceId device : placement) types.push_back(fabric.type_of(device));
  return types;
}

// Memory bandwidth of each rank, if it matters and devices differ.
std::vector<Bandwidth> own_bandwidths(const OperationOptions& options, std::span<const DeviceSpec> devices,
                                      std::span<const std::uint32_t> type_of_rank) {
  std::vector<Bandwidth> bandwidths;
  if (!options.remote_memory)
    for (const std::uint32_t type : type_of_rank) bandwidths.push_back(devices[type].memory_bandwidth);
  return bandwidths;
}

}  // namespace

OperationTimes::OperationTimes(const workload::Job& job, const network::Fabric& fabric,
                               std::span<const DeviceSpec> devices, std::span<const DeviceId> placement,
                               const OperationOptions& options)
    : job_(job),
      timed_(options.timed),
      is_remote_(options.remote_memory.has_value()),
      shared_(memory_of(options, devices.front()).shared),
      type_of_rank_(types_of(fabric, placement)),
      compute_times_(devices.size(), std::vector<std::vector<Duration>>(job.graphs.size())),
      memory_(memory_of(options, devices.front()), pools(shared_, placement, fabric.dimensions().front().size),
              own_bandwidths(options, devices, type_of_rank_)) {
  for (const DeviceSpec& device : devices)
    capacities_.push_back(
        {device.streaming_multiprocessors, (device.memory_bandwidth * device.compute.memory).count()});
  if (options.perturbation.disturbs_ranks()) disturbance_.emplace(options.perturbation, job, fabric, placement);
  const workload::Period period = devices.size() == 1 ? job.ranks.period() : workload::Period{};
  for (std::uint32_t i = 0; i < job.ranks.size() / period.count; ++i) {
    const std::uint32_t rank = period.at(i);
    const std::uint32_t type = type_of(RankId(rank));
    const std::uint32_t number = job.ranks.graph(rank);
    const workload::ExecutionGraph& graph = job.graphs[number];
    std::vector<Duration>& times = compute_times_[type][number];
    if (!times.empty() || graph.size() == 0) continue;
    const ComputeOptions& compute =
        options.compute_by_graph.empty() ? options.compute : options.compute_by_graph[number];
    times = timed_ ? compute_times(graph, devices[type], compute) : std::vector<Duration>(graph.amount_numbers());
  }
}

Duration OperationTimes::take(RankId rank, NodeId node, Time now) {
  const std::uint32_t number = job_.ranks.graph(index_of(rank));
  const workload::ExecutionGraph& graph = job_.graphs[number];
  switch (graph.kind(node)) {
    case workload::NodeKind::kHostCompute:
    case workload::NodeKind::kCompute:
      return disturbed(rank, node, undisturbed(rank)[graph.amount_number(node)]);
    case workload::NodeKind::kMemoryLoad:
    case workload::NodeKind::kMemoryStore:
      return timed_ ? memory_time(rank, node, now) : Duration::zero();
    case workload::NodeKind::kCopyToHost:
    case workload::NodeKind::kCopyToDevice:
      return timed_ ? disturbed(rank, node, graph.duration(node).value_or(Duration::zero())) : Duration::zero();
    default:
      return Duration::zero();
  }
}

Duration OperationTimes::memory_time(RankId rank, NodeId node, Time now) {
  const workload::ExecutionGraph& graph = job_.graph(rank);
  if (const auto measured = graph.duration(node)) return disturbed(rank, node, *measured);
  const Duration time = memory_.access(rank, graph.bytes(node), now) - now;
  return is_remote_ ? time : disturbed(rank, node, time);
}

std::vector<std::uint64_t> OperationTimes::colours() const {
  if (!has_shared_memory() && !disturbance_ && type_of_rank_.empty()) return {};
  std::vector<std::uint64_t> own(job_.ranks.size());
  for (std::uint32_t rank = 0; rank < own.size(); ++rank) {
    if (has_shared_memory()) own[rank] = rank + std::uint64_t{1};
    const std::uint64_t colour = disturbance_ ? disturbance_->colour(RankId(rank)) : 0;
    if (colour != 0) own[rank] = hash_of({own[rank], colour});
    if (type_of(RankId(rank)) != 0) own[rank] = hash_of({own[rank], type_of(RankId(rank))});
  }
  return own;
}

std::string OperationTimes::what_differs() const {
  return std::string(type_of_rank_.empty() ? "" : " and their devices") +
         std::string(disturbance_ ? " and what disturbs them" : "") +
         (has_shared_memory() ? " and the memory they share" : "");
}

}  // namespace orrery::system
