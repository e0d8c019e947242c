#include <memory>

#include <fmt/format.h>

#include "bench/bench.h"
#include "network/alpha_beta.h"
#include "network/compose.h"
#include "report/operation_log.h"
#include "system/simulation.h"
#include "workload/graph_builder.h"

namespace orrery::bench {
// Every message of the ring is an event.
Job all_reduce_job(std::uint32_t ranks, Bytes bytes) {
  GraphBuilder builder;
  GraphNode node;
  node.kind = NodeKind::kCollective;
  node.bytes = bytes;
  builder.add(node);
  Job job;
  job.graphs.push_back(std::move(builder).build());
  const NodeLabel label{0, "all-reduce"};
  job.labels.emplace_back(std::span(&label, 1));
  Communicator world{"world", {}};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    world.members.push_back(RankId(rank));
    RankBinding binding;
    binding.communicators = {GroupId(0)};
    job.ranks.push_back(binding);
  }
  job.communicators.push_back(world);
  return job;
}

void measure_rings(double heap_rate) {
  for (const std::uint32_t ranks : {64u, 512u, 1024u}) {
    const Job job = all_reduce_job(ranks, Bytes(1 << 26));
    const Matching matching = match(job);
    const std::vector<DimensionSpec> dimensions = {
        {topology_named("ring"), ranks, Bandwidth(25'000'000'000), Duration(1'000'000), ""}};
    const Fabric fabric = compose(dimensions);
    DeviceSpec device;
    std::vector<DeviceId> placement;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) placement.push_back(DeviceId(rank));
    SimulationTotals totals;
    const double seconds = best_seconds(3, [&] {
      OperationLog log(ranks);
      const auto network = [&](Engine& engine, MessageListener& listener) {
        return std::make_unique<AlphaBetaNetwork>(engine, fabric, listener);
      };
      Simulation simulation({job, matching, fabric, device, placement}, {}, network, log);
      totals = simulation.run();
    });
    const double rate = static_cast<double>(totals.messages) / seconds;
    fmt::print(
        "ring all-reduce, {} ranks, unfolded, alpha-beta: {} messages, {:.2f} M messages/s, {:.2f} of the bare heap's "
        "rate\n",
        ranks, totals.messages, rate * 1e-6, rate / heap_rate);
  }
}

}  // namespace orrery::bench
