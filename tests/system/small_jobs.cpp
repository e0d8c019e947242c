// SPDX-License-Identifier: MIT
#include "tests/system/small_jobs.h"

#include <algorithm>

#include "core/assert.h"
#include "workload/graph/content_pool.h"

namespace orrery::test {

JobBuilder::JobBuilder(std::uint32_t ranks) : ranks_(ranks) {
  std::vector<RankId> world;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) world.push_back(RankId(rank));
  communicators_.push_back({"world", world});
}

GroupId JobBuilder::group(const std::string& name, const std::vector<std::uint32_t>& members) {
  workload::Communicator communicator{name, {}};
  for (const std::uint32_t member : members) communicator.members.push_back(RankId(member));
  communicators_.push_back(communicator);
  return GroupId(static_cast<std::uint32_t>(communicators_.size() - 1));
}

NodeId JobBuilder::add(std::uint32_t rank, const workload::GraphNode& node, const std::vector<NodeId>& after) {
  Rank& r = ranks_[rank];
  const NodeId id = r.graph.add(node);
  for (const NodeId before : after) r.graph.depend(id, before);
  r.labels.push_back({r.labels.size(), workload::name_of(node.kind)});
  return id;
}

NodeId JobBuilder::compute(std::uint32_t rank, Duration time, const std::vector<NodeId>& after, std::uint32_t stream) {
  workload::GraphNode node;
  node.kind = workload::NodeKind::kCompute;
  node.duration = time;
  node.stream = stream;
  return add(rank, node, after);
}

NodeId JobBuilder::launched(std::uint32_t rank, Duration time, const workload::HostWork& host,
                            const std::vector<NodeId>& after, std::optional<std::uint32_t> processor_bound) {
  workload::GraphNode node;
  node.kind = workload::NodeKind::kCompute;
  node.duration = time;
  node.host = host;
  node.processor_bound = processor_bound;
  return add(rank, node, after);
}

NodeId JobBuilder::host(std::uint32_t rank, Duration time, const std::vector<NodeId>& after, bool synchronises) {
  workload::GraphNode node;
  node.kind = workload::NodeKind::kHostCompute;
  node.duration = time;
  node.host.synchronises = synchronises;
  return add(rank, node, after);
}

NodeId JobBuilder::work(std::uint32_t rank, Flops flops, Bytes bytes, const std::vector<NodeId>& after) {
  workload::GraphNode node;
  node.kind = workload::NodeKind::kCompute;
  node.flops = flops;
  node.bytes = bytes;
  return add(rank, node, after);
}

NodeId JobBuilder::memory(std::uint32_t rank, Bytes bytes, const std::vector<NodeId>& after,
                          std::optional<Duration> measured) {
  workload::GraphNode node;
  node.kind = workload::NodeKind::kMemoryLoad;
  node.duration = measured;
  node.bytes = bytes;
  return add(rank, node, after);
}

NodeId JobBuilder::free(std::uint32_t rank, const std::vector<NodeId>& after) { return add(rank, {}, after); }

NodeId JobBuilder::collective(std::uint32_t rank, CollectiveKind kind, Bytes bytes, GroupId group,
                              const std::vector<NodeId>& after, std::uint32_t priority, bool synchronises) {
  workload::IdList<GroupId>& slots = ranks_[rank].binding.communicators;
  const auto slot = static_cast<std::uint32_t>(std::ranges::find(slots, group) - slots.begin());
  if (slot == slots.size()) slots.push_back(group);
  workload::GraphNode node;
  node.kind = workload::NodeKind::kCollective;
  node.collective = kind;
  node.bytes = bytes;
  node.slot = slot;
  node.priority = priority;
  node.host.synchronises = synchronises;
  return add(rank, node, after);
}

NodeId JobBuilder::transfer(std::uint32_t rank, workload::NodeKind kind, std::uint32_t peer, Bytes bytes,
                            const std::vector<NodeId>& after, std::int64_t tag) {
  workload::RankBinding& binding = ranks_[rank].binding;
  const auto slot = static_cast<std::uint32_t>(std::ranges::find(binding.peers, RankId(peer)) - binding.peers.begin());
  if (slot == binding.peers.size()) binding.peers.push_back(RankId(peer));
  binding.own_details().tags.push_back(tag);
  workload::GraphNode node;
  node.kind = kind;
  node.bytes = bytes;
  node.slot = slot;
  return add(rank, node, after);
}

NodeId JobBuilder::send(std::uint32_t rank, std::uint32_t to, Bytes bytes, const std::vector<NodeId>& after,
                        std::int64_t tag) {
  return transfer(rank, workload::NodeKind::kSend, to, bytes, after, tag);
}

NodeId JobBuilder::receive(std::uint32_t rank, std::uint32_t from, Bytes bytes, const std::vector<NodeId>& after,
                           std::int64_t tag) {
  return transfer(rank, workload::NodeKind::kReceive, from, bytes, after, tag);
}

workload::Job JobBuilder::build() {
  workload::Job job;
  workload::ContentPool<workload::ExecutionGraph>
      graphs;  // ranks with equal graphs share one, as in a job that was read
  for (Rank& rank : ranks_) {
    rank.binding.graph = graphs.intern(std::move(rank.graph).build());
    rank.binding.labels = static_cast<std::uint32_t>(job.labels.size());
    job.labels.emplace_back(rank.labels);
    job.ranks.push_back(std::move(rank.binding));
  }
  job.graphs = graphs.take();
  job.communicators = communicators_;
  return job;
}

system::OperationRecord Outcome::record(std::uint32_t rank, NodeId node) const {
  const auto records = log.of(RankId(rank));
  const auto found = std::ranges::find(records, node, &system::OperationRecord::node);
  ORRERY_ASSERT(found != records.end());
  return *found;
}

Outcome simulate(const workload::Job& job, const network::Fabric& fabric, const system::SimulationOptions& options,
                 system::NetworkModel model) {
  return simulate(job, fabric, options, [&](Engine& engine) { return system::make_network(model, engine, fabric); });
}

Outcome simulate(const workload::Job& job, const network::Fabric& fabric, const system::SimulationOptions& options,
                 const system::Simulation::NetworkFactory& network, std::vector<DeviceId> placement) {
  system::DeviceSpec device;
  device.name = "test device";
  device.peaks.fill(FlopRate(1'000'000'000'000'000));
  device.memory_bandwidth = Bandwidth(1'000'000'000'000);
  device.compute.memory = device.compute.gemm = kFullEfficiency;
  device.streaming_multiprocessors = 100;
  for (auto rank = static_cast<std::uint32_t>(placement.size()); rank < job.ranks.size(); ++rank)
    placement.push_back(DeviceId(rank));
  const workload::Matching matching = workload::match(job);
  Outcome outcome{{}, report::OperationLog(job.ranks.size()), {}, {}};
  system::Simulation simulation({job, matching, fabric, std::span(&device, 1), placement}, options, network,
                                outcome.log);
  outcome.totals = simulation.run();
  outcome.usage = simulation.link_usage();
  outcome.steps.assign(simulation.cast().steps().begin(), simulation.cast().steps().end());
  return outcome;
}

Duration simulate_collective(CollectiveKind kind, Bytes bytes, const network::Fabric& fabric,
                             const system::CollectiveOptions& options, system::NetworkModel model) {
  JobBuilder builder(fabric.device_count());
  for (std::uint32_t rank = 0; rank < fabric.device_count(); ++rank) builder.collective(rank, kind, bytes, kWorld);
  system::SimulationOptions all;
  all.collectives = options;
  return simulate(builder.build(), fabric, all, model).totals.finish.time_since_epoch();
}

network::DimensionSpec dimension(std::string_view topology, std::uint32_t size, Bandwidth bandwidth, Duration latency) {
  return {network::topology_named(topology), size, bandwidth, latency, ""};
}

network::Fabric one_dimension(std::string_view topology, std::uint32_t size, Bandwidth bandwidth, Duration latency) {
  const std::vector<network::DimensionSpec> dimensions = {dimension(topology, size, bandwidth, latency)};
  return network::compose(dimensions);
}

system::CollectiveOptions always(std::string_view algorithm, std::size_t dimensions) {
  system::CollectiveOptions options;
  for (auto& algorithms : options.algorithms) algorithms.assign(dimensions, *collectives::find_algorithm(algorithm));
  return options;
}

}  // namespace orrery::test
