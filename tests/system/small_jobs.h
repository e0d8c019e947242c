// SPDX-License-Identifier: MIT
// Jobs built in memory for tests of the system layer, and a way to run them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "network/fabric/compose.h"
#include "report/operation_log.h"
#include "system/network_model.h"
#include "system/simulation.h"
#include "workload/graph/builder.h"
#include "workload/graph/job.h"
#include "workload/matching/matching.h"

namespace orrery::test {

// Adds nodes rank by rank; communicator and peer slots follow from use.
class JobBuilder {
 public:
  explicit JobBuilder(std::uint32_t ranks);

  GroupId group(const std::string& name, const std::vector<std::uint32_t>& members);
  NodeId compute(std::uint32_t rank, Duration time, const std::vector<NodeId>& after = {}, std::uint32_t stream = 0);
  // A computation that the rank's host launches. `processor_bound` as in GraphNode.
  NodeId launched(std::uint32_t rank, Duration time, const workload::HostWork& host,
                  const std::vector<NodeId>& after = {}, std::optional<std::uint32_t> processor_bound = {});
  NodeId host(std::uint32_t rank, Duration time, const std::vector<NodeId>& after = {}, bool synchronises = false);
  NodeId work(std::uint32_t rank, Flops flops, Bytes bytes, const std::vector<NodeId>& after = {});
  NodeId memory(std::uint32_t rank, Bytes bytes, const std::vector<NodeId>& after = {},
                std::optional<Duration> measured = {});
  NodeId free(std::uint32_t rank, const std::vector<NodeId>& after = {});
  // `synchronises`: the rank's host waits for the call.
  NodeId collective(std::uint32_t rank, CollectiveKind kind, Bytes bytes, GroupId group,
                    const std::vector<NodeId>& after = {}, std::uint32_t priority = 0, bool synchronises = false);
  NodeId send(std::uint32_t rank, std::uint32_t to, Bytes bytes, const std::vector<NodeId>& after = {},
              std::int64_t tag = 0);
  NodeId receive(std::uint32_t rank, std::uint32_t from, Bytes bytes, const std::vector<NodeId>& after = {},
                 std::int64_t tag = 0);

  workload::Job build();

 private:
  struct Rank {
    workload::GraphBuilder graph;
    std::vector<workload::NodeLabel> labels;
    workload::RankBinding binding;
  };
  NodeId add(std::uint32_t rank, const workload::GraphNode& node, const std::vector<NodeId>& after);
  NodeId transfer(std::uint32_t rank, workload::NodeKind kind, std::uint32_t peer, Bytes bytes,
                  const std::vector<NodeId>& after, std::int64_t tag);

  std::vector<Rank> ranks_;
  std::vector<workload::Communicator> communicators_;
};

inline constexpr GroupId kWorld{0};

struct Outcome {
  system::SimulationTotals totals;
  report::OperationLog log;
  std::vector<network::LinkUsage> usage;   // by LinkId
  std::vector<system::FoldingStep> steps;  // Cast::steps()

  Time end(std::uint32_t rank, NodeId node) const { return record(rank, node).end; }
  Time start(std::uint32_t rank, NodeId node) const { return record(rank, node).start; }
  system::OperationRecord record(std::uint32_t rank, NodeId node) const;
};

// One simulation, rank i on device i. The device computes at 1 PFLOP/s on 100 multiprocessors and 1 TB/s.
Outcome simulate(const workload::Job& job, const network::Fabric& fabric, const system::SimulationOptions& options = {},
                 system::NetworkModel model = system::NetworkModel::kAlphaBeta);

// `placement`: the device of each rank; empty: rank i on device i.
Outcome simulate(const workload::Job& job, const network::Fabric& fabric, const system::SimulationOptions& options,
                 const system::Simulation::NetworkFactory& network, std::vector<DeviceId> placement = {});

// How long it takes when everybody calls `kind` once on the world, from the start.
Duration simulate_collective(CollectiveKind kind, Bytes bytes, const network::Fabric& fabric,
                             const system::CollectiveOptions& options,
                             system::NetworkModel model = system::NetworkModel::kAlphaBeta);

// One dimension of a topology by name.
network::Fabric one_dimension(std::string_view topology, std::uint32_t size, Bandwidth bandwidth, Duration latency);
network::DimensionSpec dimension(std::string_view topology, std::uint32_t size, Bandwidth bandwidth, Duration latency);

// The same algorithm for every kind, on each of `dimensions` dimensions.
system::CollectiveOptions always(std::string_view algorithm, std::size_t dimensions = 1);

inline Time at(Duration duration) { return Time(duration); }

}  // namespace orrery::test
