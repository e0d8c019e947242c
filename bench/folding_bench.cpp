// What folded jobs cost: rings, hierarchical collectives, and a training step of growing size.
#include <sys/resource.h>

#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/bench.h"
#include "bench/stage_job.h"
#include "core/config_tree.h"
#include "core/error.h"
#include "system/experiment.h"
#include "system/simulation.h"
#include "workload/collective_job.h"

namespace orrery::bench {
namespace {

class Unobserved final : public SimulationObserver {
 public:
  void finished(const OperationRecord&) override {}
  void split(RankId, RankId) override {}
};

Experiment machine(const std::string& text) {
  const ConfigFiles files(ORRERY_SOURCE_DIR "/configs");
  Diagnostics diagnostics;
  ConfigValue root = parse_config(text, "bench.yaml", diagnostics);
  diagnostics.throw_if_errors();
  return read_machine("bench.yaml", std::move(root), files, diagnostics);
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void measure(const std::string& name, const Experiment& experiment, const Job& job) {
  const Matching matching = match(job);
  const auto ranks = static_cast<std::uint32_t>(job.ranks.size());
  const std::vector<DeviceId> placement = place_ranks(experiment.placement, ranks, experiment.fabric);
  SimulationTotals totals;
  double set_up = 0;
  const double seconds = best_seconds(1, [&] {
    Unobserved nobody;
    std::optional<Simulation> simulation;
    set_up = best_seconds(1, [&] {
      simulation.emplace(SimulationInput{job, matching, experiment.fabric, experiment.device, placement},
                         experiment.simulation, network_of(experiment), nobody);
    });
    totals = simulation->run();
  });
  fmt::print(
      "{}: {} ranks, {} classes; {:.3f} s of which {:.3f} s to fold; {} events for {} messages; peak {:.0f} MB\n", name,
      ranks, totals.rank_classes, seconds, set_up, totals.events, totals.messages, peak_megabytes());
}

void measure_stages(std::uint32_t data, std::optional<std::uint32_t> slow_rank) {
  StageJob shape;
  shape.data = data;
  shape.slow_rank = slow_rank;
  const Experiment experiment =
      machine(fmt::format("cluster: dgx-a100\nnodes: {}\ncollectives: {{algorithms: {{all_reduce: [ring, ring]}}}}\n",
                          shape.pipeline * data));
  measure(slow_rank ? "TP8 PP16, 192 micro-batches, one rank 10 % slower" : "TP8 PP16, 192 micro-batches", experiment,
          stage_job(shape));
}

}  // namespace

void measure_folding() {
  measure("ring all-reduce, 64 chunks",
          machine("cluster: {device: a40, dims: [{topology: ring, size: 1024, bandwidth: 25 GB/s, latency: 1 us}]}\n"
                  "collectives: {chunks: 64}\n"),
          collective_job(CollectiveKind::kAllReduce, Bytes(1 << 30), 1024));
  for (const std::uint32_t nodes : {2u, 16u, 128u, 512u, 2048u})
    measure("hierarchical all-reduce, DGX A100", machine(fmt::format("cluster: dgx-a100\nnodes: {}\n", nodes)),
            collective_job(CollectiveKind::kAllReduce, Bytes(1 << 30), 8 * nodes));
  for (const std::uint32_t data : {1u, 8u, 32u, 128u}) measure_stages(data, std::nullopt);
  for (const std::uint32_t data : {8u, 32u, 128u}) measure_stages(data, 3);
}

}  // namespace orrery::bench
