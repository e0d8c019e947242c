#include "study/collective_study.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "core/quantity_text.h"
#include "system/experiment.h"
#include "workload/matching.h"

namespace orrery {
namespace {

class Unobserved final : public SimulationObserver {
 public:
  void finished(const OperationRecord&) override {}
  void split(RankId, RankId) override {}
};

ConfigValue option_value(std::string_view option, std::string text) {
  return {ConfigValue::Kind::kScalar, {std::string(option)}, std::move(text), {}, {}};
}

ConfigValue map_of(std::string_view option) { return {ConfigValue::Kind::kMap, {std::string(option)}, {}, {}, {}}; }

ConfigValue& entry(ConfigValue& map, std::string_view key, ConfigValue value) {
  if (ConfigEntry* found = map.find(key)) return found->value;
  const Location where = value.where;
  return map.entries.emplace_back(ConfigEntry{std::string(key), where, std::move(value)}).value;
}

// --cluster names the cluster, in the answer, too; parts of it may be set.
void refuse_other_cluster(const std::string& setting) {
  const std::string_view key = std::string_view(setting).substr(0, setting.find('='));
  if (key == "cluster" && key.size() < setting.size())
    throw InputError({"--set " + printable(setting)}, "the cluster is the one that --cluster names",
                     fmt::format("write --cluster {}", printable(setting.substr(key.size() + 1))));
}

// The map at `key`, made if it is not there; an option changes what is in it.
ConfigValue& map_at(ConfigValue& map, std::string_view key, std::string_view option, const ConfigFiles& files,
                    Diagnostics& diagnostics) {
  ConfigValue& value = entry(map, key, map_of(option));
  if (value.kind == ConfigValue::Kind::kScalar && looks_like_path(value.scalar)) files.expand(value, "", diagnostics);
  return value;
}

void set(ConfigValue& map, std::string_view key, const ConfigValue& value) { entry(map, key, value) = value; }

// "LL,Simple" as the configuration has it: a list of words in lower case.
ConfigValue list_of(std::string_view option, const std::string& text) {
  ConfigValue list{ConfigValue::Kind::kList, {std::string(option)}, {}, {}, {}};
  std::string name;
  for (const char c : text + ",") {
    if (c != ',') {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    list.items.push_back(option_value(option, std::exchange(name, {})));
  }
  return list;
}

// What the options other than --algo say of `collectives`.
void set_library(ConfigValue& root, const CollectiveQuestion& question, const ConfigFiles& files,
                 Diagnostics& diagnostics) {
  const auto collectives = [&](std::string_view option) -> ConfigValue& {
    return map_at(root, "collectives", option, files, diagnostics);
  };
  if (!question.library.empty()) set(collectives("--library"), "library", option_value("--library", question.library));
  if (!question.launch.empty()) set(collectives("--launch"), "launch", option_value("--launch", question.launch));
  if (!question.protocol.empty()) set(collectives("--proto"), "proto", list_of("--proto", question.protocol));
}

// The configuration that the question comes to, but for --algo.
ConfigValue machine_of(const CollectiveQuestion& question, const ConfigFiles& files, Diagnostics& diagnostics) {
  ConfigValue root = map_of("--cluster");
  entry(root, "cluster", option_value("--cluster", question.cluster));
  if (!question.nodes.empty()) entry(root, "nodes", option_value("--nodes", question.nodes));
  for (const std::string& setting : question.settings) {
    refuse_other_cluster(setting);
    apply_setting(root, setting, files, diagnostics);
  }
  set_library(root, question, files, diagnostics);
  diagnostics.throw_if_errors();
  return root;
}

// A choice that there is none of where ranks send single messages.
void refuse_choice(std::string_view option, std::string_view what, const std::string& text,
                   const BenchmarkOperation& operation) {
  if (!text.empty() && !operation.kind)
    throw InputError({std::string(option)},
                     fmt::format("{} has no {}: each rank sends one message", operation.name, what),
                     fmt::format("leave {} out", option));
}

// The fixed library takes an algorithm for each dimension, a lone one for all.
void set_algorithm(ConfigValue& collectives, const std::string& text, CollectiveKind kind, std::size_t dimensions,
                   const ConfigFiles& files, Diagnostics& diagnostics) {
  ConfigValue list = list_of("--algo", text);
  if (list.items.size() == 1) list.items.resize(dimensions, list.items.front());
  set(map_at(collectives, "algorithms", "--algo", files, diagnostics), name_of(kind), list);
}

Experiment read_question(const CollectiveQuestion& question, const BenchmarkOperation& operation,
                         const ConfigFiles& files, Diagnostics& diagnostics) {
  refuse_choice("--algo", "algorithm", question.algorithm, operation);
  refuse_choice("--proto", "protocol", question.protocol, operation);
  ConfigValue root = machine_of(question, files, diagnostics);
  if (question.algorithm.empty()) return read_machine(question.cluster, std::move(root), files, diagnostics);
  // Which library there is and how many dimensions are known when all has been read; warnings come with the second
  // reading.
  Diagnostics first_reading;
  const Experiment first = read_machine(question.cluster, root, files, first_reading);
  ConfigValue& collectives = map_at(root, "collectives", "--algo", files, diagnostics);
  if (first.simulation.collectives.nccl)
    set(collectives, "algo", list_of("--algo", question.algorithm));
  else
    set_algorithm(collectives, question.algorithm, *operation.kind, first.fabric.dimensions().size(), files,
                  diagnostics);
  return read_machine(question.cluster, std::move(root), files, diagnostics);
}

std::uint32_t devices_per_node(const CollectiveQuestion& question, std::uint32_t most) {
  if (question.devices_per_node.empty()) return most;
  const auto number = parse_whole_number(question.devices_per_node);
  if (number && *number >= 1 && *number <= most) return static_cast<std::uint32_t>(*number);
  throw InputError({"--gpus-per-node"},
                   fmt::format("'{}' of the {} devices of a node", printable(question.devices_per_node, 40), most),
                   fmt::format("write a number from 1 to {}", most));
}

// The first `used` devices of each node, node by node.
std::vector<DeviceId> place(std::uint32_t nodes, std::uint32_t per_node, std::uint32_t used) {
  std::vector<DeviceId> devices;
  for (std::uint32_t node = 0; node < nodes; ++node)
    for (std::uint32_t i = 0; i < used; ++i) devices.push_back(DeviceId(node * per_node + i));
  return devices;
}

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
  const std::vector<DeviceId> devices = place(nodes, per_node, devices_per_node(question, per_node));
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
