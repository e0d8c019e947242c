// SPDX-License-Identifier: MIT
// `orrery_bench granularity`: what a phase taken as one (network.granularity: phase) gets wrong against every message
// on its own (step), in the flow model with the default algorithms. Deterministic, so docs/granularity.md quotes it.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/bench.h"
#include "core/config/quantity_text.h"
#include "core/config/tree.h"
#include "core/error.h"
#include "experiment/experiment.h"
#include "report/operation_log.h"
#include "report/table.h"
#include "system/simulation.h"
#include "workload/graph/collective_job.h"

namespace orrery::bench {
namespace {

constexpr std::array<std::uint32_t, 3> kRanks = {4, 8, 16};
constexpr std::array kSizes = {Bytes(8), Bytes(64 << 10), Bytes(1 << 20), Bytes(256 << 20)};

struct Shape {
  std::string name;
  std::string keys;  // of `dims`, apart from bandwidth and latency
};

std::vector<Shape> shapes(std::uint32_t ranks) {
  const std::uint32_t rows = ranks == 16 ? 4 : 2;
  return {
      {"switch", fmt::format("topology: switch, size: {}", ranks)},
      {"ring", fmt::format("topology: ring, size: {}", ranks)},
      {"fully-connected", fmt::format("topology: fully-connected, size: {}", ranks)},
      {"torus", fmt::format("topology: torus, sizes: [{}, {}]", rows, ranks / rows)},
      {"fat-tree 2:1", fmt::format("topology: fat-tree, size: {}, leaf_ports: {}, oversubscription: 2, "
                                   "trunk_latency: 500 ns",
                                   ranks, ranks / 2)},
      {"dragonfly", fmt::format("topology: dragonfly, size: {}, router_ports: 2, group_routers: 2, local_bandwidth: "
                                "25 GB/s, global_bandwidth: 25 GB/s, local_latency: 500 ns, global_latency: 1 us",
                                ranks)}};
}

experiment::Experiment machine(const Shape& shape, std::string_view granularity) {
  const ConfigFiles files(ORRERY_SOURCE_DIR "/configs");
  Diagnostics diagnostics;
  const std::string text = fmt::format(
      "cluster: {{device: a100-sxm-80gb, dims: [{{{}, bandwidth: 25 GB/s, latency: 1 us}}]}}\n"
      "collectives: {{library: fixed}}\n"
      "network: {{model: flow, granularity: {}}}\n",
      shape.keys, granularity);
  ConfigValue root = parse_config(text, shape.name, diagnostics);
  diagnostics.throw_if_errors();
  return experiment::read_machine(shape.name, std::move(root), files, diagnostics);
}

Duration time_of(const experiment::Experiment& experiment, CollectiveKind kind, Bytes bytes) {
  const std::uint32_t ranks = experiment.fabric.device_count();
  const workload::Job job = workload::collective_job(kind, bytes, ranks);
  const workload::Matching matching = workload::match(job);
  const std::vector<DeviceId> placement = experiment::place_ranks(experiment.placement, ranks, experiment.fabric);
  report::OperationLog log(ranks);
  system::Simulation simulation({job, matching, experiment.fabric, experiment.devices, placement},
                                experiment.simulation, experiment::network_of(experiment), log);
  return simulation.run().finish.time_since_epoch();
}

// phase - step over step, in percent.
double excess(Duration phase, Duration step) {
  return 100 * static_cast<double>((phase - step).count()) / static_cast<double>(step.count());
}

std::string percent(double value) {
  if (value > -0.005 && value < 0.005) return "=";
  return fmt::format("{:+.{}f} %", value, value < 10 && value > -10 ? 2 : 1);
}

std::string difference(Duration phase, Duration step) {
  const Duration size = phase > step ? phase - step : step - phase;
  const std::string relative = percent(excess(phase, step));
  if (relative == "=") return relative;
  return fmt::format("{}{} ({})", phase > step ? "+" : "-", rounded(size), relative);
}

struct Extremes {
  double least = 1e300;
  double most = -1e300;

  void add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  std::string text() const {
    const std::string low = percent(least);
    const std::string high = percent(most);
    return low == high ? low : fmt::format("{} .. {}", low, high);
  }
};

// A row of the first table: one collective of all sizes on one shape.
std::vector<std::string> compare(CollectiveKind kind, const Shape& shape, std::uint32_t ranks, Extremes& extremes) {
  const experiment::Experiment step = machine(shape, "step");
  const experiment::Experiment phase = machine(shape, "phase");
  std::vector<std::string> cells = {std::string(name_of(kind)), shape.name, fmt::format("{}", ranks)};
  for (const Bytes size : kSizes) {
    const Duration of_step = time_of(step, kind, size);
    const Duration of_phase = time_of(phase, kind, size);
    extremes.add(excess(of_phase, of_step));
    cells.push_back(difference(of_phase, of_step));
  }
  return cells;
}

}  // namespace

void print_granularity() {
  report::Table all;
  for (const char* heading : {"collective", "topology"}) all.column(heading, report::Table::Align::kLeft);
  all.column("ranks");
  for (const Bytes size : kSizes) all.column(to_text(size));
  report::Table summary;
  summary.column("collective", report::Table::Align::kLeft);
  for (const Shape& shape : shapes(kRanks.front())) summary.column(shape.name);
  for (const CollectiveKind kind : kAllCollectiveKinds) {
    std::vector<Extremes> extremes(shapes(kRanks.front()).size());
    for (std::size_t i = 0; i < extremes.size(); ++i)
      for (const std::uint32_t ranks : kRanks) all.row(compare(kind, shapes(ranks)[i], ranks, extremes[i]));
    std::vector<std::string> cells = {std::string(name_of(kind))};
    for (const Extremes& of_shape : extremes) cells.push_back(of_shape.text());
    summary.row(cells);
  }
  fmt::print("phase - step, by the size of a rank's own input; = is less than 0.005 %\n{}\n", all.text());
  fmt::print("phase - step over step: the least and the most over 4, 8 and 16 ranks and all sizes\n{}", summary.text());
}

}  // namespace orrery::bench
