#include "study/benchmark/study.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "experiment/experiment.h"
#include "study/benchmark/choice.h"
#include "study/benchmark/question.h"
#include "workload/matching/matching.h"

namespace orrery {
namespace {

class Unobserved final : public SimulationObserver {
 public:
  void finished(const OperationRecord&) override {}
  void split(RankId, RankId) override {}
};

// What is the same for all sizes.
struct Benchmark {
  const Experiment& experiment;
  const BenchmarkOperation& operation;
  std::span<const DeviceId> devices;  // by rank

  std::uint32_t ranks() const { return static_cast<std::uint32_t>(devices.size()); }
};

using Look = std::function<void(const Matching&, Time finish, std::span<const LinkUsage>)>;

// Runs the operation once and shows the end to `look`.
void simulate(const Benchmark& benchmark, Bytes size, const SimulationProgress& progress, const Look& look) {
  const Experiment& experiment = benchmark.experiment;
  const Job job = benchmark_job(benchmark.operation, size, benchmark.ranks());
  const Matching matching = match(job);
  Unobserved nobody;
  Simulation simulation({job, matching, experiment.fabric, experiment.device, benchmark.devices}, experiment.simulation,
                        network_of(experiment), nobody);
  const Time finish = simulation.run(progress).finish;
  look(matching, finish, simulation.link_usage());
}

// The time of the same messages with about a byte in each.
Duration latency_of(const Benchmark& benchmark, const SimulationProgress& progress) {
  const Bytes size = Bytes(benchmark.experiment.simulation.collectives.chunks) * benchmark.ranks();
  Duration latency{};
  simulate(benchmark, benchmark.operation.kind ? size : Bytes(1), progress,
           [&](const Matching&, Time finish, std::span<const LinkUsage>) { latency = finish.time_since_epoch(); });
  return latency;
}

// What runs, and how long without its bytes, by size.
class Choices {
 public:
  Choices(const Benchmark& benchmark, const SimulationProgress& progress) : operation_(benchmark.operation) {
    if (benchmark.experiment.nccl) {
      nccl_.emplace(benchmark.experiment, benchmark.devices);
      return;
    }
    algorithm_ = operation_.kind ? fixed_algorithms(*operation_.kind, benchmark.experiment, benchmark.devices)
                                 : std::string("point-to-point");
    latency_ = latency_of(benchmark, progress);
  }

  // Fills in the names; returns the latency.
  Duration choose(const Matching& matching, CollectiveRow& row) const {
    if (!nccl_) {
      row.algorithm = algorithm_;
      return latency_;
    }
    const NcclChoice choice =
        operation_.kind ? nccl_->of_collective(matching.calls(GroupId(0))[0]) : nccl_->of_sends(row.bytes);
    row.algorithm = choice.algorithm;
    row.protocol = choice.protocol;
    return choice.latency;
  }

 private:
  BenchmarkOperation operation_;
  std::optional<NcclChoices> nccl_;
  std::string algorithm_;
  Duration latency_{};
};

CollectiveRow measure(const Benchmark& benchmark, Bytes size, const Choices& choices,
                      const SimulationProgress& progress) {
  CollectiveRow row;
  row.bytes = size;
  row.count = float_count(benchmark.operation, size, benchmark.ranks());
  simulate(benchmark, size, progress, [&](const Matching& matching, Time finish, std::span<const LinkUsage> usage) {
    row.time = finish.time_since_epoch();
    row.algorithm_bandwidth = size == Bytes(0) ? 0 : static_cast<double>(size.count()) / seconds(finish);
    row.bus_bandwidth = row.algorithm_bandwidth * bus_factor(benchmark.operation, benchmark.ranks());
    row.overload = worst_overload(benchmark.experiment.fabric, usage);
    row.bound = collective_bound(benchmark.experiment.fabric, usage, finish, choices.choose(matching, row));
  });
  return row;
}

CollectiveTable heading_of(const CollectiveQuestion& question, const Benchmark& benchmark, std::uint32_t nodes) {
  CollectiveTable table;
  table.cluster = cluster_title(question.cluster);
  table.operation = benchmark.operation.name;
  table.ranks = benchmark.ranks();
  table.nodes = nodes;
  table.device = benchmark.experiment.device.name;
  table.network_model = network_model_names()[static_cast<std::size_t>(benchmark.experiment.network)];
  if (benchmark.experiment.nccl) table.library = benchmark.experiment.nccl->name();
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
  const std::vector<DeviceId> devices = benchmark_devices(question, experiment.fabric);
  if (devices.size() < 2)
    throw InputError({"--cluster"}, fmt::format("{} has only one rank here", operation.name),
                     "more nodes (--nodes 2) or more devices of each (--gpus-per-node 2)");
  // 2. A simulation for each size.
  const Benchmark benchmark{experiment, operation, devices};
  CollectiveTable table = heading_of(question, benchmark, nodes);
  const auto show = [&](std::string what) {
    return [&progress, what = std::move(what)](std::uint64_t done, std::uint64_t total) {
      if (progress) progress(what, done, total);
    };
  };
  const Choices choices(benchmark, show("latency"));
  for (const Bytes size : sizes)
    table.rows.push_back(
        measure(benchmark, size, choices, show(fmt::format("{} of {}", operation.name, rounded(size)))));
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
    throw located(error, cluster_origin(question.cluster));
  }
}

}  // namespace orrery
