#include <memory>
#include <string_view>

#include <fmt/format.h>

#include "bench/bench.h"
#include "core/config_tree.h"
#include "core/error.h"
#include "report/operation_log.h"
#include "system/experiment.h"
#include "system/simulation.h"
#include "workload/graph_builder.h"

namespace orrery::bench {
namespace {

// One all-reduce of all ranks, of which every message is simulated.
struct Case {
  std::string name;
  std::uint32_t ranks;
  std::string cluster;      // of the configuration, and what goes with it
  std::string collectives;  // of the configuration
};

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const std::uint32_t ranks : {64u, 512u, 1024u})
    result.push_back({fmt::format("ring all-reduce, {} ranks", ranks), ranks,
                      fmt::format("{{device: a100-sxm-80gb, "
                                  "dims: [{{topology: ring, size: {}, bandwidth: 25 GB/s, latency: 1 us}}]}}",
                                  ranks),
                      "{}"});
  result.push_back({"hierarchical all-reduce, 128 DGX A100, 1024 ranks, 16 chunks", 1024,
                    "dgx-a100\nnodes: 128", "{chunks: 16}"});
  return result;
}

Experiment experiment_of(const Case& what) {
  const ConfigFiles files(ORRERY_SOURCE_DIR "/configs");
  Diagnostics diagnostics;
  const std::string text = fmt::format("cluster: {}\ncollectives: {}\nworkload: {{chakra: {{prefix: none}}}}\n",
                                       what.cluster, what.collectives);
  ConfigValue root = parse_config(text, what.name, diagnostics);
  diagnostics.throw_if_errors();
  return read_experiment(what.name, std::move(root), files, diagnostics);
}

// All ranks call one all-reduce.
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

// Simulates `job` from the set-up on; messages per second.
double message_rate(const Experiment& experiment, const Job& job, NetworkModel model) {
  const Matching matching = match(job);
  const auto ranks = static_cast<std::uint32_t>(job.ranks.size());
  const std::vector<DeviceId> placement = place_ranks(experiment.placement, ranks, experiment.fabric);
  const SimulationInput input{job, matching, experiment.fabric, experiment.device, placement};
  const auto network = [&](Engine& engine, MessageListener& listener) {
    return make_network(model, engine, experiment.fabric, listener);
  };
  SimulationTotals totals;
  const double seconds = best_seconds(3, [&] {
    OperationLog log(ranks);
    Simulation simulation(input, experiment.simulation, network, log);
    totals = simulation.run();
  });
  return static_cast<double>(totals.messages) / seconds;
}

}  // namespace

void measure_collectives(double heap_rate) {
  for (const Case& what : cases()) {
    const Experiment experiment = experiment_of(what);
    const Job job = all_reduce_job(what.ranks, Bytes(1 << 26));
    print_rates(what.name, message_rate(experiment, job, NetworkModel::kAlphaBeta),
                message_rate(experiment, job, NetworkModel::kFlow), heap_rate);
  }
}

}  // namespace orrery::bench
