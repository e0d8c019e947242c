#include "study/collective_study.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "core/quantity_text.h"
#include "study/collective_question.h"
#include "system/experiment.h"
#include "workload/matching.h"

namespace orrery {
namespace {

class Unobserved final : public SimulationObserver {
 public:
  void finished(const OperationRecord&) override {}
  void split(RankId, RankId) override {}
};

std::string name_with_window(const Algorithm& algorithm) {
  return fmt::format("{}{}", algorithm.name, algorithm.window ? fmt::format("{}", *algorithm.window) : "");
}

// What the ranks run on each dimension that they extend over. InputError where the configuration names another
// algorithm for ranks that are no whole part of the cluster: those form one logical ring, which has its own.
std::string algorithms_in_use(CollectiveKind kind, const Experiment& experiment, std::span<const DeviceId> devices) {
  const auto dimensions = experiment.fabric.dimensions();
  std::vector<std::uint32_t> sizes;
  for (const LogicalDimension& dimension : dimensions) sizes.push_back(dimension.size);
  const CommunicatorLayout layout = lay_out(devices, sizes);
  const CollectiveOptions& options = experiment.simulation.collectives;
  if (!layout.cuboid) {
    const std::string used = name_with_window(choose_algorithm(kind, options, {}, 0, layout.size()));
    for (const Algorithm& named : options.algorithms[static_cast<std::size_t>(kind)])
      if (name_with_window(named) != used)
        throw InputError({"--gpus-per-node"},
                         fmt::format("some devices of each of several nodes run {} as one logical group, with {}; {} "
                                     "cannot be chosen",
                                     name_of(kind), used, name_with_window(named)),
                         "take all devices of a node or one, or leave the algorithm out");
    return used;
  }
  std::string text;
  for (std::size_t i = 0; i < layout.sizes.size(); ++i) {
    const std::uint32_t dimension = layout.dimensions[i];
    const Algorithm algorithm =
        choose_algorithm(kind, options, dimensions[dimension].topology, dimension, layout.sizes[i]);
    text += (text.empty() ? "" : "+") + name_with_window(algorithm);
  }
  return text;
}

// What is the same for all sizes.
struct Benchmark {
  const Experiment& experiment;
  const BenchmarkOperation& operation;
  std::span<const DeviceId> devices;  // by rank

  std::uint32_t ranks() const { return static_cast<std::uint32_t>(devices.size()); }
};

// Runs the operation once and shows the end to `look`.
void simulate(const Benchmark& benchmark, Bytes size, const SimulationProgress& progress,
              const std::function<void(Time, std::span<const LinkUsage>)>& look) {
  const Experiment& experiment = benchmark.experiment;
  const Job job = benchmark_job(benchmark.operation, size, benchmark.ranks());
  const Matching matching = match(job);
  Unobserved nobody;
  Simulation simulation({job, matching, experiment.fabric, experiment.device, benchmark.devices}, experiment.simulation,
                        network_of(experiment), nobody);
  const Time finish = simulation.run(progress).finish;
  look(finish, simulation.link_usage());
}

// The time of the same messages with about a byte in each.
Duration latency_of(const Benchmark& benchmark, const SimulationProgress& progress) {
  const Bytes size = Bytes(benchmark.experiment.simulation.collectives.chunks) * benchmark.ranks();
  Duration latency{};
  simulate(benchmark, benchmark.operation.kind ? size : Bytes(1), progress,
           [&](Time finish, std::span<const LinkUsage>) { latency = finish.time_since_epoch(); });
  return latency;
}

CollectiveRow measure(const Benchmark& benchmark, Bytes size, Duration latency, const SimulationProgress& progress) {
  CollectiveRow row;
  row.bytes = size;
  row.count = float_count(benchmark.operation, size, benchmark.ranks());
  simulate(benchmark, size, progress, [&](Time finish, std::span<const LinkUsage> usage) {
    row.time = finish.time_since_epoch();
    row.algorithm_bandwidth = static_cast<double>(size.count()) / seconds(finish);
    row.bus_bandwidth = row.algorithm_bandwidth * bus_factor(benchmark.operation, benchmark.ranks());
    row.overload = worst_overload(benchmark.experiment.fabric, usage);
    row.bound = collective_bound(benchmark.experiment.fabric, usage, finish, latency);
  });
  return row;
}

CollectiveTable heading_of(const CollectiveQuestion& question, const Benchmark& benchmark, std::uint32_t nodes) {
  CollectiveTable table;
  const bool is_path = looks_like_path(question.cluster);
  table.cluster = is_path ? std::filesystem::path(question.cluster).stem().string() : question.cluster;
  table.operation = benchmark.operation.name;
  table.ranks = benchmark.ranks();
  table.nodes = nodes;
  table.device = benchmark.experiment.device.name;
  table.network_model = network_model_names()[static_cast<std::size_t>(benchmark.experiment.network)];
  return table;
}

// Says so where messages overlap on a link that the network model does not share: such times are too good.
void warn_of_overload(const CollectiveTable& table, Diagnostics& diagnostics) {
  // A byte takes whole picoseconds, so a few bytes never fill a link; rounding goes the safe way, but for doubles.
  constexpr double kOverload = 1.001;
  const auto worst =
      std::ranges::max_element(table.rows, {}, [](const CollectiveRow& row) { return row.overload.factor; });
  if (worst == table.rows.end() || worst->overload.factor <= kOverload) return;
  diagnostics.warning(
      {table.cluster},
      fmt::format("{} of {}: {} carries {:.1f} times its bandwidth, since the {} network does not share "
                  "links; the times are too good",
                  table.operation, rounded(worst->bytes), worst->overload.name, worst->overload.factor,
                  table.network_model),
      "share them: --set network.model=flow");
}

CollectiveTable study(const CollectiveQuestion& question, const BenchmarkOperation& operation,
                      std::span<const Bytes> sizes, const ConfigFiles& files, const RunProgress& progress) {
  // 1. The machine, and who of it takes part.
  Diagnostics diagnostics;
  const Experiment experiment = read_question(question, operation, files, diagnostics);
  const std::uint32_t per_node = experiment.fabric.dimensions().front().size;
  const std::uint32_t nodes = experiment.fabric.device_count() / per_node;
  const std::vector<DeviceId> devices = benchmark_devices(question, experiment);
  if (devices.size() < 2)
    throw InputError({"--cluster"}, fmt::format("{} has only one rank here", operation.name),
                     "more nodes (--nodes 2) or more devices of each (--gpus-per-node 2)");
  const std::string algorithm =
      operation.kind ? algorithms_in_use(*operation.kind, experiment, devices) : std::string("point-to-point");
  // 2. A simulation for each size.
  const Benchmark benchmark{experiment, operation, devices};
  CollectiveTable table = heading_of(question, benchmark, nodes);
  const auto show = [&](std::string what) {
    return [&progress, what = std::move(what)](std::uint64_t done, std::uint64_t total) {
      if (progress) progress(what, done, total);
    };
  };
  const Duration latency = latency_of(benchmark, show("latency"));
  for (const Bytes size : sizes) {
    table.rows.push_back(
        measure(benchmark, size, latency, show(fmt::format("{} of {}", operation.name, rounded(size)))));
    table.rows.back().algorithm = algorithm;
  }
  warn_of_overload(table, diagnostics);
  table.warnings.assign(diagnostics.problems().begin(), diagnostics.problems().end());
  return table;
}

}  // namespace

CollectiveTable study_collective(const CollectiveQuestion& question, const BenchmarkOperation& operation,
                                 std::span<const Bytes> sizes, const ConfigFiles& files, const RunProgress& progress) {
  try {
    return study(question, operation, sizes, files, progress);
  } catch (const InputError& error) {
    throw located(error, question.cluster);
  }
}

}  // namespace orrery
