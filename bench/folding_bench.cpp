// SPDX-License-Identifier: MIT
// Benchmarks of folded jobs: rings, hierarchical collectives, and a training step of growing size.
#include <sys/resource.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bench/bench.h"
#include "bench/stage_job.h"
#include "core/config/tree.h"
#include "core/error.h"
#include "experiment/experiment.h"
#include "system/simulation.h"
#include "workload/graph/collective_job.h"

namespace orrery::bench {
namespace {

class Unobserved final : public system::SimulationObserver {
 public:
  void finished(RankId, const system::OperationRecord&) override {}
  void repeated(RankId, const system::RepetitionRecord&) override {}
  void split(RankId, RankId) override {}
  void begin_anew() override {}
};

experiment::Experiment machine(const std::string& text) {
  const ConfigFiles files(ORRERY_SOURCE_DIR "/configs");
  Diagnostics diagnostics;
  ConfigValue root = parse_config(text, "bench.yaml", diagnostics);
  diagnostics.throw_if_errors();
  return experiment::read_machine("bench.yaml", std::move(root), files, diagnostics);
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

struct Measured {
  system::SimulationTotals totals;
  std::vector<system::FoldingStep> steps;
  double seconds = 0;
  double set_up = 0;  // of these
};

Measured measure(const experiment::Experiment& experiment, const workload::Job& job) {
  const workload::Matching matching = workload::match(job);
  const std::vector<DeviceId> placement =
      experiment::place_ranks(experiment.placement, static_cast<std::uint32_t>(job.ranks.size()), experiment.fabric);
  Measured measured;
  measured.seconds = best_seconds(1, [&] {
    Unobserved nobody;
    std::optional<system::Simulation> simulation;
    measured.set_up = best_seconds(1, [&] {
      simulation.emplace(system::SimulationInput{job, matching, experiment.fabric, experiment.devices, placement},
                         experiment.simulation, experiment::network_of(experiment), nobody);
    });
    measured.totals = simulation->run();
    measured.steps.assign(simulation->cast().steps().begin(), simulation->cast().steps().end());
  });
  return measured;
}

void report(const std::string& name, const experiment::Experiment& experiment, const workload::Job& job) {
  const Measured measured = measure(experiment, job);
  fmt::print(
      "{}: {} ranks, {} classes; {:.3f} s of which {:.3f} s to set up; {} events for {} messages; peak {:.0f} MB\n",
      name, job.ranks.size(), measured.totals.rank_classes, measured.seconds, measured.set_up, measured.totals.events,
      measured.totals.messages, peak_megabytes());
}

// Perturbation that makes one rank unlike the others.
enum class Odd : std::uint8_t { kNobody, kRank, kNic };

experiment::Experiment stage_machine(const StageJob& shape, Odd odd, bool fast_forward) {
  experiment::Experiment experiment =
      machine(fmt::format("cluster: dgx-a100\nnodes: {}\ncollectives: {{algorithms: {{all_reduce: [ring, ring]}}}}\n",
                          (shape.tensor * shape.pipeline * shape.data + 7) / 8));
  experiment.simulation.fast_forward = fast_forward;
  if (odd != Odd::kNic) return experiment;
  // The NIC that its first rank sends through.
  std::vector<LinkId> route;
  experiment.fabric.route(DeviceId{0}, DeviceId{8}, route);
  for (const LinkId link : route) {
    const network::Link kind = experiment.fabric.link(link);
    if (experiment.fabric.link_classes()[kind.link_class] != "nic.up") continue;
    experiment.fabric.set_bandwidth(link, Bandwidth(kind.bandwidth.count() / 2));
  }
  return experiment;
}

void report_stages(std::uint32_t pipeline, std::uint32_t data, Odd odd, bool fast_forward) {
  StageJob shape;
  shape.pipeline = pipeline;
  shape.data = data;
  if (odd == Odd::kRank) shape.slow_rank = 3;
  const Measured measured = measure(stage_machine(shape, odd, fast_forward), stage_job(shape));
  constexpr std::array<std::string_view, 3> kNames = {"all alike", "one rank 10 % slower", "one NIC at half its rate"};
  fmt::print("TP8 PP{} DP{}, {}{}: {:.3f} s, {} events, peak {:.0f} MB; {} classes", pipeline, data,
             kNames[static_cast<std::size_t>(odd)], fast_forward ? "" : ", every message an event", measured.seconds,
             measured.totals.events, peak_megabytes(), measured.totals.rank_classes);
  // A row of small steps is told by its last one only.
  const auto& steps = measured.steps;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (i + 1 == steps.size() || i == 0 || steps[i + 1].rank_classes >= 2 * steps[i].rank_classes)
      fmt::print("{} {} from {:.1f} ms", i == 0 ? ":" : ",", steps[i].rank_classes,
                 static_cast<double>(steps[i].time.time_since_epoch().count()) * 1e-9);
  fmt::print("; the step takes {:.1f} ms\n",
             static_cast<double>(measured.totals.finish.time_since_epoch().count()) * 1e-9);
}

}  // namespace

void measure_folding() {
  report("ring all-reduce, 64 chunks",
         machine("cluster: {device: a40, dims: [{topology: ring, size: 1024, bandwidth: 25 GB/s, latency: 1 us}]}\n"
                 "collectives: {chunks: 64, algorithms: {all_reduce: [ring]}}\n"),
         workload::collective_job(CollectiveKind::kAllReduce, Bytes(1 << 30), 1024));
  for (const std::uint32_t nodes : {2u, 16u, 128u, 512u, 2048u})
    report("hierarchical all-reduce, DGX A100", machine(fmt::format("cluster: dgx-a100\nnodes: {}\n", nodes)),
           workload::collective_job(CollectiveKind::kAllReduce, Bytes(1 << 30), 8 * nodes));
  for (const bool fast_forward : {true, false})
    for (const Odd odd : {Odd::kNobody, Odd::kRank, Odd::kNic}) {
      report_stages(4, 2, odd, fast_forward);
      for (const std::uint32_t data : {8u, 32u, 128u}) report_stages(16, data, odd, fast_forward);
    }
}

}  // namespace orrery::bench
