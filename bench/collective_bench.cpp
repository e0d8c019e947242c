// SPDX-License-Identifier: MIT
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/bench.h"
#include "core/config/tree.h"
#include "core/error.h"
#include "experiment/experiment.h"
#include "report/operation_log.h"
#include "system/simulation.h"
#include "workload/graph/builder.h"

namespace orrery::bench {
namespace {

// When ranks call: at once, so that many events share an instant, or each at a time of its own.
enum class Start : std::uint8_t { kTogether, kApart };

// One all-reduce of all ranks, of which every message is simulated.
struct Case {
  std::string name;
  std::uint32_t ranks;
  Start start;
  std::string cluster;      // of the configuration, and what goes with it
  std::string collectives;  // of the configuration
};

Case ring_case(std::uint32_t ranks, Start start) {
  return {fmt::format("ring all-reduce, {} ranks{}", ranks, start == Start::kApart ? " that start apart" : ""), ranks,
          start,
          fmt::format("{{device: a100-sxm-80gb, "
                      "dims: [{{topology: ring, size: {}, bandwidth: 25 GB/s, latency: 1 us}}]}}",
                      ranks),
          "{algorithms: {all_reduce: [ring]}}"};
}

Case hierarchical_case(Start start) {
  return {fmt::format("hierarchical all-reduce, 128 DGX A100, 1024 ranks{}, 16 chunks",
                      start == Start::kApart ? " that start apart" : ""),
          1024, start, "dgx-a100\nnodes: 128", "{chunks: 16}"};
}

std::vector<Case> cases() {
  return {ring_case(64, Start::kTogether), ring_case(512, Start::kTogether),    ring_case(1024, Start::kTogether),
          ring_case(1024, Start::kApart),  hierarchical_case(Start::kTogether), hierarchical_case(Start::kApart)};
}

experiment::Experiment experiment_of(const Case& what) {
  const ConfigFiles files(ORRERY_SOURCE_DIR "/configs");
  Diagnostics diagnostics;
  const std::string text = fmt::format("cluster: {}\ncollectives: {}\nworkload: {{chakra: {{prefix: none}}}}\n",
                                       what.cluster, what.collectives);
  ConfigValue root = parse_config(text, what.name, diagnostics);
  diagnostics.throw_if_errors();
  return experiment::read_experiment(what.name, std::move(root), files, diagnostics);
}

// A little computing, then the all-reduce.
workload::ExecutionGraph all_reduce_graph(Duration computing, Bytes bytes) {
  workload::GraphBuilder builder;
  workload::GraphNode compute;
  compute.kind = workload::NodeKind::kCompute;
  compute.duration = computing;
  workload::GraphNode all_reduce;
  all_reduce.kind = workload::NodeKind::kCollective;
  all_reduce.bytes = bytes;
  const NodeId before = builder.add(compute);
  builder.depend(builder.add(all_reduce), before);
  return std::move(builder).build();
}

// All ranks call one all-reduce; those that start apart within a millisecond.
workload::Job all_reduce_job(std::uint32_t ranks, Start start, Bytes bytes) {
  std::minstd_rand random(1);
  workload::Job job;
  const std::array<workload::NodeLabel, 2> labels = {workload::NodeLabel{0, "compute"},
                                                     workload::NodeLabel{1, "all-reduce"}};
  job.labels.emplace_back(labels);
  workload::Communicator world{"world", {}};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (rank == 0 || start == Start::kApart)
      job.graphs.push_back(all_reduce_graph(Duration(1 + static_cast<std::int64_t>(random() % 1'000'000'000)), bytes));
    world.members.push_back(RankId(rank));
    workload::RankBinding binding;
    binding.graph = static_cast<std::uint32_t>(job.graphs.size() - 1);
    binding.communicators = {GroupId(0)};
    job.ranks.push_back(binding);
  }
  job.communicators.push_back(world);
  return job;
}

// Simulates `job` from the set-up on; messages per second.
double message_rate(const experiment::Experiment& experiment, const workload::Job& job, system::NetworkModel model) {
  const workload::Matching matching = workload::match(job);
  const auto ranks = static_cast<std::uint32_t>(job.ranks.size());
  const std::vector<DeviceId> placement = experiment::place_ranks(experiment.placement, ranks, experiment.fabric);
  const system::SimulationInput input{job, matching, experiment.fabric, experiment.devices, placement};
  const auto network = [&](Engine& engine) { return system::make_network(model, engine, experiment.fabric); };
  system::SimulationOptions options = experiment.simulation;
  options.fold = system::FoldMode::kOff;  // every message is an event
  system::SimulationTotals totals;
  const double seconds = best_seconds(3, [&] {
    report::OperationLog log(ranks);
    system::Simulation simulation(input, options, network, log);
    totals = simulation.run();
  });
  return static_cast<double>(totals.messages) / seconds;
}

}  // namespace

void measure_collectives(double heap_rate) {
  for (const Case& what : cases()) {
    const experiment::Experiment experiment = experiment_of(what);
    const workload::Job job = all_reduce_job(what.ranks, what.start, Bytes(1 << 26));
    print_rates(what.name, message_rate(experiment, job, system::NetworkModel::kAlphaBeta),
                message_rate(experiment, job, system::NetworkModel::kFlow), heap_rate);
  }
}

}  // namespace orrery::bench
