// SPDX-License-Identifier: MIT
#include "study/benchmark/study.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "experiment/job.h"
#include "network/fabric/fabric.h"
#include "study/benchmark/bound.h"
#include "study/interval/kinds.h"
#include "system/plans/group_library.h"
#include "system/plans/plans.h"

namespace orrery::study {
namespace {

// A call on the cluster of a question, which is read once for all sizes.
struct Benchmark {
  Benchmark(const CollectiveQuestion& question, const workload::CallOperation& operation, Bytes size,
            const ConfigFiles& files, Diagnostics& diagnostics)
      : experiment(read_question(question, operation, files, diagnostics, size)),
        devices(experiment::devices_of_call(experiment)) {
    experiment.resolved = {};  // which every result would copy
  }

  experiment::CallSource& call() { return *experiment.jobs.front().workload.call; }
  const experiment::CallSource& call() const { return *experiment.jobs.front().workload.call; }

  // Simulates the call of one size. `what`: its name in reports of progress.
  report::Result run(Bytes size, const std::string& what, const experiment::RunProgress& progress) {
    call().size = size;
    Diagnostics ignored;  // a table has warnings of its own
    const auto show = [&](std::string_view, std::uint64_t done, std::uint64_t total) {
      if (progress) progress(what, done, total);
    };
    return experiment::run_experiment(experiment, true, ignored, show, experiment::RunFigures::none()).result;
  }

  experiment::Experiment experiment;
  std::vector<DeviceId> devices;  // by rank
};

// Algorithm for ranks that are no whole part of the cluster.
std::string logical_group_algorithm(CollectiveKind kind, const system::CollectiveOptions& options,
                                    const collectives::Algorithm& algorithm) {
  std::string used = algorithm.full_name();
  for (const collectives::Algorithm& named : options.algorithms[static_cast<std::size_t>(kind)])
    if (named.full_name() != used)
      throw InputError({"--gpus-per-node"},
                       fmt::format("some devices of each of several nodes run {} as one logical group, with {}; {} "
                                   "cannot be chosen",
                                   name_of(kind), used, named.full_name()),
                       "take all devices of a node or one, or leave the algorithm out");
  return used;
}

// Algorithm from a file, which has to be for as many ranks.
std::string file_algorithm(CollectiveKind kind, const system::CollectiveOptions& options, std::uint32_t ranks) {
  if (const collectives::MessageTable* table = options.table(kind, ranks)) return table->name();
  const collectives::MessageTable& first = *options.tables[static_cast<std::size_t>(kind)].front();
  throw InputError(
      {"--algorithm"},
      fmt::format("'{}' is an algorithm of {} ranks, and {} take part here", first.name(), first.ranks(), ranks),
      "choose --nodes and --gpus-per-node so that as many do, or write the algorithm for them");
}

// Algorithms of the fixed library, for all sizes: "ring", "halving-doubling+ring", one per dimension in use. `devices`
// by rank. InputError where the configuration names another algorithm for ranks that are no whole part of the cluster:
// those form one logical ring, which has its own.
std::string fixed_algorithms(CollectiveKind kind, const experiment::Experiment& experiment,
                             std::span<const DeviceId> devices) {
  if (!experiment.simulation.collectives.tables[static_cast<std::size_t>(kind)].empty())
    return file_algorithm(kind, experiment.simulation.collectives, static_cast<std::uint32_t>(devices.size()));
  const system::CollectiveOptions& options = experiment.simulation.collectives;
  const std::vector<network::LogicalDimension> dimensions =
      system::collective_dimensions(experiment.fabric, options.logical_dimensions);
  const system::CommunicatorLayout layout = system::lay_out(devices, dimensions);
  const std::vector<system::DimensionAlgorithm> algorithms =
      system::choose_algorithms(kind, options, layout, dimensions);
  if (!layout.cuboid) return logical_group_algorithm(kind, options, algorithms.front().algorithm);
  return system::name_of(algorithms);
}

// Choices of the library by size, and the time of a call without its bytes.
class Choices {
 public:
  // InputError where the fixed library cannot choose for these ranks.
  explicit Choices(const Benchmark& benchmark)
      : operation_(benchmark.call().operation), library_(benchmark.experiment.nccl.get()) {
    if (library_ != nullptr)
      look_at_nodes(benchmark);
    else
      algorithm_ = operation_.kind ? fixed_algorithms(*operation_.kind, benchmark.experiment, benchmark.devices)
                                   : std::string("point-to-point");
  }

  // Finds the latency of the fixed library: the time of the same messages with about a byte in each.
  void simulate_latency(Benchmark& benchmark, const experiment::RunProgress& progress) {
    if (library_ != nullptr) return;
    const Bytes size = Bytes(benchmark.experiment.simulation.collectives.chunks) * benchmark.call().ranks;
    latency_ = report::iteration_time(benchmark.run(operation_.kind ? size : Bytes(1), "latency", progress));
  }

  // Time of a call beside that of its bytes on the links.
  struct Apart {
    Duration latency{};
    Duration least{};  // Aggregate::least
  };

  // Fills in the names. InputError if the options leave NCCL nothing.
  Apart choose(CollectiveRow& row) const {
    row.algorithm = algorithm_;
    if (library_ == nullptr) return {latency_, {}};
    if (!operation_.kind) return {choose_sends(row), {}};
    const Bytes input = workload::input_of_rank(operation_, row.bytes, layout_.shape.ranks);
    const collectives::NcclTiming way = library_->choice(*operation_.kind, input, layout_.shape);
    if (way.algorithm) row.algorithm = collectives::name_of(*way.algorithm);
    row.protocol = collectives::name_of(way.protocol);
    return {way.transfer.latency, way.transfer.least};
  }

 private:
  void look_at_nodes(const Benchmark& benchmark) {
    const network::Fabric& fabric = benchmark.experiment.fabric;
    const std::span<const DeviceId> devices = benchmark.devices;
    layout_ = system::lay_out_group(devices, fabric);
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const DeviceId here = devices[i], there = devices[(i + 1) % devices.size()];
      std::optional<Duration>& longest =
          routes_[network::node_of(fabric, here) == network::node_of(fabric, there) ? 1 : 0];
      longest = std::max(longest, std::optional(network::route_latency(fabric, here, there)));
    }
  }

  // Every rank sends to the next one.
  Duration choose_sends(CollectiveRow& row) const {
    Duration latency{};
    for (const bool is_same_node : {false, true}) {
      const std::optional<Duration> route = routes_[is_same_node ? 1 : 0];
      if (!route) continue;
      const collectives::NcclSend send = library_->send(row.bytes, is_same_node);
      row.protocol = collectives::name_of(send.protocol);
      latency = std::max(latency, send.latency + *route);
    }
    return latency;
  }

  workload::CallOperation operation_;
  const system::NcclLibrary* library_;  // null: the fixed one
  std::string algorithm_{
      system::kSendsAndReceives};  // of the fixed library; of NCCL what is made of sends and receives
  Duration latency_{};             // of the fixed library
  system::GroupLayout layout_;
  // The longest routes from a rank to the next, by whether they stay in a node.
  std::array<std::optional<Duration>, 2> routes_;
};

// Class of the link with the largest figure; the first of equals.
LinkOverload most_of(const report::Result& result, double report::LinkClassUse::*figure) {
  const auto most = std::ranges::max_element(result.links, {}, figure);
  return {network::without_direction(most->name), (*most).*figure};
}

// Bound of a run. Latency, if that is at least half of the time; else the most utilised of all links, or the protocol
// where it takes longer than they do. Where phases on different links follow one another, a link may be utilised for
// less than half of the time.
CollectiveBound bound_of(const report::Result& result, const Choices::Apart& apart) {
  if (result.finish == Time{}) return {"latency", 1};  // of a barrier over links without latency
  const double time = seconds(result.finish);
  if (2 * seconds(apart.latency) >= time) return {"latency", std::min(1.0, seconds(apart.latency) / time)};
  const LinkOverload most = most_of(result, &report::LinkClassUse::most);
  const double protocol = seconds(apart.least) / time;
  return most.factor >= protocol ? CollectiveBound{most.name, most.factor} : CollectiveBound{"protocol", protocol};
}

CollectiveRow measure(Benchmark& benchmark, Bytes size, const Choices& choices,
                      const experiment::RunProgress& progress) {
  const experiment::CallSource& call = benchmark.call();
  const report::Result result = benchmark.run(size, fmt::format("{} of {}", call.name, rounded(size)), progress);
  CollectiveRow row;
  row.bytes = size;
  row.count = workload::float_count(call.operation, size, call.ranks);
  row.time = report::iteration_time(result);
  row.algorithm_bandwidth = result.call->algorithm_bandwidth;
  row.bus_bandwidth = result.call->bus_bandwidth;
  row.bound = bound_of(result, choices.choose(row));
  row.overload = most_of(result, &report::LinkClassUse::overload);
  row.balanced_in_vain = result.balanced_in_vain;
  return row;
}

CollectiveTable heading_of(const CollectiveQuestion& question, const Benchmark& benchmark) {
  CollectiveTable table;
  table.cluster = cluster_title(question.cluster);
  table.operation = benchmark.call().name;
  table.ranks = benchmark.call().ranks;
  const network::Fabric& fabric = benchmark.experiment.fabric;
  table.nodes = fabric.device_count() / fabric.dimensions().front().size;
  table.device = benchmark.experiment.devices_text();
  table.generation = measured_as(benchmark.experiment.machine_kind().architecture);
  table.network = benchmark.experiment.machine_kind().network;
  table.by_hand = setting_by_hand(benchmark.experiment, *benchmark.experiment.files);
  table.has_mixed_devices = benchmark.experiment.devices.size() > 1;
  table.network_model = system::network_model_names()[static_cast<std::size_t>(benchmark.experiment.network)];
  if (benchmark.experiment.nccl) table.library = benchmark.experiment.nccl->name();
  table.algorithm = question.algorithm;
  if (benchmark.call().shares) table.shares = benchmark.call().shares->extremes;
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

// Says so where no size gains by orders of its own that its chunks could take through the dimensions.
void warn_of_idle_themis(const CollectiveTable& table, Diagnostics& diagnostics) {
  if (table.rows.empty() || !std::ranges::all_of(table.rows, &CollectiveRow::balanced_in_vain)) return;
  diagnostics.warning(
      {table.cluster},
      fmt::format("'dimension_order: themis' changes nothing: {} ends no sooner if its chunks go through "
                  "the dimensions in orders of their own",
                  table.operation),
      "leave it out; more chunks, or dimensions of other bandwidths, may change that");
}

CollectiveTable study(const CollectiveQuestion& question, const workload::CallOperation& operation,
                      std::span<const Bytes> sizes, const ConfigFiles& files, const experiment::RunProgress& progress) {
  Diagnostics diagnostics;
  Benchmark benchmark(question, operation, sizes.front(), files, diagnostics);
  CollectiveTable table = heading_of(question, benchmark);
  Choices choices(benchmark);
  choices.simulate_latency(benchmark, progress);
  for (const Bytes size : sizes) {
    table.rows.push_back(measure(benchmark, size, choices, progress));
    if (question.wants_bound && !table.shares)
      table.rows.back().least = least_time(operation, size, benchmark.experiment.fabric, benchmark.devices);
  }
  warn_of_overload(table, diagnostics);
  warn_of_idle_themis(table, diagnostics);
  table.warnings.assign(diagnostics.problems().begin(), diagnostics.problems().end());
  return table;
}

}  // namespace

CollectiveTable study_collective(const CollectiveQuestion& question, const workload::CallOperation& operation,
                                 std::span<const Bytes> sizes, const ConfigFiles& files,
                                 const experiment::RunProgress& progress) {
  try {
    return study(question, operation, sizes, files, progress);
  } catch (const InputError& error) {
    throw located(error, cluster_origin(question.cluster));
  }
}

void check_collective(const CollectiveQuestion& question, const workload::CallOperation& operation,
                      std::span<const Bytes> sizes, const ConfigFiles& files) {
  try {
    Diagnostics warnings;
    const Benchmark benchmark(question, operation, sizes.front(), files, warnings);
    const Choices choices(benchmark);
    CollectiveRow row;
    for (const Bytes size : sizes) {
      row.bytes = size;
      choices.choose(row);
    }
  } catch (const InputError& error) {
    throw located(error, cluster_origin(question.cluster));
  }
}

}  // namespace orrery::study
