// SPDX-License-Identifier: MIT
#include "astra/input/inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "astra/input/json_file.h"
#include "core/files/input_files.h"
#include "core/files/json.h"
#include "core/files/read_file.h"
#include "core/suggest.h"

namespace orrery::astra {
namespace {

constexpr std::array<std::string_view, 4> kCollectives = {"all-reduce", "all-gather", "reduce-scatter", "all-to-all"};
constexpr std::array<std::string_view, 4> kAlgorithms = {"ring", "direct", "halvingDoubling", "doubleBinaryTree"};
const std::vector<std::string> kAlgorithmNames = {"ring",    "direct",    "halvingDoubling",   "doubleBinaryTree",
                                                  "oneRing", "oneDirect", "oneHalvingDoubling"};
constexpr std::array<std::string_view, 3> kTopologies = {"Ring", "Switch", "FullyConnected"};
constexpr std::uint64_t kMostNpus = 1u << 20;
constexpr std::int64_t kMostSplits = 1'000'000;

// "direct4" and "oneDirect4" have a window; the other names stand alone.
Algorithm read_algorithm(const JsonFile& file, const std::string& key, const nlohmann::json& value) {
  const std::string name = file.text(key, value);
  Algorithm algorithm{.name = name};
  std::string_view rest = name;
  if (rest.starts_with("one") && rest.size() > 3) {
    algorithm.flat = true;
    rest.remove_prefix(3);
  }
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  for (std::size_t i = 0; i < kAlgorithms.size(); ++i) {
    const std::string_view known = kAlgorithms[i];
    const bool first_is_capital = algorithm.flat;
    if (rest.size() < known.size() || rest.substr(1, known.size() - 1) != known.substr(1)) continue;
    if (first_is_capital ? lower(rest[0]) != lower(known[0]) || rest[0] == known[0] : rest[0] != known[0]) continue;
    algorithm.kind = static_cast<AlgorithmKind>(i);
    const std::string_view window = rest.substr(known.size());
    if (window.empty() && !(algorithm.flat && algorithm.kind == AlgorithmKind::kDoubleBinaryTree)) return algorithm;
    const bool is_number = std::ranges::all_of(window, [](char c) { return c >= '0' && c <= '9'; });
    if (algorithm.kind != AlgorithmKind::kDirect || !is_number || window.size() > 6) break;
    algorithm.window = static_cast<std::uint32_t>(std::stoul(std::string(window)));
    if (algorithm.window > 0) return algorithm;
  }
  file.fail(key, fmt::format("unknown algorithm '{}'", printable(name)), suggestion(name, kAlgorithmNames));
}

void read_implementation(const JsonFile& file, std::string_view collective, Implementation& implementation) {
  const std::string key = fmt::format("{}-implementation", collective);
  if (const nlohmann::json* value = file.find(key)) {
    implementation.line = file.line(key);
    if (!value->is_array()) file.fail(key, "is no list", "write [\"ring\"], one name for each network dimension");
    for (const nlohmann::json& name : *value) implementation.dimensions.push_back(read_algorithm(file, key, name));
    const auto flat = std::ranges::find_if(implementation.dimensions, &Algorithm::flat);
    if (flat != implementation.dimensions.end() && implementation.dimensions.size() > 1)
      file.fail(key,
                fmt::format("'{}' stands for all dimensions, but the list has {} names", flat->name,
                            implementation.dimensions.size()),
                "leave the others out");
  }
  const std::string custom = key + "-custom";
  if (const nlohmann::json* value = file.find(custom)) {
    implementation.line = file.line(custom);
    if (!value->is_array() || value->size() != 1)
      file.fail(custom, "is not a list of one prefix", "write [\"PREFIX\"]; its files are PREFIX.<rank>.et");
    implementation.custom = file.text(custom, value->front());
  }
}

std::map<std::uint64_t, std::string> read_custom_of_node(const std::string& path) {
  Diagnostics diagnostics;
  const ConfigValue root = parse_config(read_text(path), path, diagnostics);
  diagnostics.throw_if_errors();
  if (root.kind != ConfigValue::Kind::kMap)
    throw InputError({path}, fmt::format("is {}, expected a map from nodes to prefixes", kind_name(root.kind)),
                     "write `12: PREFIX`: the id of a node and the prefix of its files");
  std::map<std::uint64_t, std::string> prefixes;
  for (const ConfigEntry& entry : root.entries) {
    const bool is_number = !entry.key.empty() && entry.key.size() < 19 &&
                           std::ranges::all_of(entry.key, [](char c) { return c >= '0' && c <= '9'; });
    if (!is_number || entry.value.kind != ConfigValue::Kind::kScalar)
      throw InputError(entry.where, fmt::format("'{}' is no node with a prefix", printable(entry.key)),
                       "write `12: PREFIX`: the id of a node and the prefix of its files");
    prefixes[std::stoull(entry.key)] = entry.value.scalar;
  }
  return prefixes;
}

void read_bus(const JsonFile& file, SharedBus& bus) {
  bus.on = file.whole("model-shared-bus", 0, 0, 1) != 0;
  const auto ticks = [&](const char* key, Ticks fallback) {
    return static_cast<Ticks>(file.whole(key, static_cast<std::int64_t>(fallback), 0, INT32_MAX));
  };
  bus.latency = ticks("L", 0);
  bus.overhead = ticks("o", 0);
  bus.gap = ticks("g", 0);
  bus.byte_gap = file.number("G", 0);
  bus.reduction = ticks("local-reduction-delay", 1);
  bus.where_byte_gap = file.where("G");
}

// A key that ASTRA-sim reads, or knows from earlier versions and ignores.
const std::vector<std::string>& system_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> all = {"scheduling-policy",
                                    "collective-optimization",
                                    "preferred-dataset-splits",
                                    "active-chunks-per-dimension",
                                    "endpoint-delay",
                                    "local-mem-bw",
                                    "roofline-enabled",
                                    "peak-perf",
                                    "replay-only",
                                    "trace-enabled",
                                    "track-local-mem",
                                    "local-mem-trace-filename",
                                    "model-shared-bus",
                                    "L",
                                    "o",
                                    "g",
                                    "G",
                                    "local-reduction-delay",
                                    "boost-mode",
                                    "inter-dimension-scheduling",
                                    "intra-dimension-scheduling",
                                    "per-node-custom-implementation"};
    for (const std::string_view collective : kCollectives) {
      all.push_back(fmt::format("{}-implementation", collective));
      all.push_back(fmt::format("{}-implementation-custom", collective));
    }
    return all;
  }();
  return keys;
}

void warn_of_unknown_keys(const JsonFile& file, const std::vector<std::string>& known, std::vector<Problem>& warnings) {
  for (const auto& [key, value] : file.root().items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    const std::string likely = nearest_name(key, known);
    warnings.push_back({Severity::kWarning, file.where(key),
                        fmt::format("unknown key '{}', which ASTRA-sim ignores", printable(key)),
                        likely.empty() ? "" : fmt::format("did you mean '{}'?", likely)});
  }
}

System read_system(const Flags& flags, std::vector<Problem>& warnings) {
  const JsonFile file(flags.system, "--system-configuration", warnings);
  warn_of_unknown_keys(file, system_keys(), warnings);
  System system{.file = flags.system};
  for (const auto& [key, value] : file.root().items()) system.lines.emplace(key, file.line(key));
  for (std::size_t i = 0; i < kCollectives.size(); ++i)
    read_implementation(file, kCollectives[i], system.implementations[i]);
  const std::vector<std::string> policies = {"LIFO", "FIFO", "EXPLICIT"};
  if (file.find("scheduling-policy")) file.choice("scheduling-policy", policies);
  if (file.find("collective-optimization")) {
    system.has_optimization = true;
    system.baseline = file.choice("collective-optimization", {"baseline", "localBWAware"}) == 0;
  }
  if (file.find("preferred-dataset-splits"))
    system.splits = static_cast<std::uint64_t>(file.whole("preferred-dataset-splits", 1, 1, kMostSplits));
  system.active_chunks = static_cast<std::uint32_t>(file.whole("active-chunks-per-dimension", 1, 1, INT32_MAX));
  if (file.find("endpoint-delay")) {
    const auto delay = static_cast<double>(file.whole("endpoint-delay", 10, 0, INT32_MAX));
    system.endpoint_delay = static_cast<Ticks>(delay * flags.injection_scale);
  }
  system.memory_bandwidth = file.number("local-mem-bw", 0);
  system.roofline = file.whole("roofline-enabled", 0, 0, 1) != 0;
  system.peak = file.number("peak-perf", 0) * 1e12;
  system.replay_only = file.whole("replay-only", 0, 0, 1) != 0;
  system.track_memory = file.whole("track-local-mem", 0, 0, 1) != 0;
  read_bus(file, system.bus);
  if (const nlohmann::json* path = file.find("per-node-custom-implementation"))
    system.custom_of_node = read_custom_of_node(file.text("per-node-custom-implementation", *path));
  return system;
}

void refuse_long_lists(const System& system, std::size_t dimensions) {
  for (std::size_t i = 0; i < kCollectives.size(); ++i) {
    const Implementation& implementation = system.implementations[i];
    if (implementation.dimensions.size() <= dimensions) continue;
    throw InputError(
        {system.file, implementation.line},
        fmt::format("'{}-implementation' has {} names, but the network has {} dimension{}", kCollectives[i],
                    implementation.dimensions.size(), dimensions, dimensions == 1 ? "" : "s"),
        "name an algorithm for each dimension of the network");
  }
}

RemoteMemory read_memory(const Flags& flags, std::vector<Problem>& warnings) {
  const JsonFile file(flags.remote_memory, "--remote-memory-configuration", warnings);
  const std::vector<std::string> kinds = {"NO_MEMORY_EXPANSION", "PER_NPU_MEMORY_EXPANSION",
                                          "PER_NODE_MEMORY_EXPANSION", "MEMORY_POOL"};
  warn_of_unknown_keys(file, {"memory-type", "remote-mem-latency", "remote-mem-bw", "num-nodes", "num-npus-per-node"},
                       warnings);
  RemoteMemory memory{.file = flags.remote_memory};
  if (file.find("memory-type")) memory.kind = static_cast<MemoryKind>(1 + file.choice("memory-type", kinds));
  memory.latency = static_cast<Ticks>(file.whole("remote-mem-latency", 0, 0, INT32_MAX));
  memory.bandwidth = file.number("remote-mem-bw", 0);
  memory.where_bandwidth = file.where("remote-mem-bw");
  const bool serves = memory.kind != MemoryKind::kUnset && memory.kind != MemoryKind::kNone;
  if (serves && memory.bandwidth <= 0)
    file.fail("remote-mem-bw", "is missing or zero", "give the remote memory's bandwidth in GB/s");
  return memory;
}

Groups read_groups(const Flags& flags, std::uint32_t npus, std::vector<Problem>& warnings) {
  const JsonFile file(flags.groups, "--comm-group-configuration", warnings);
  Groups groups;
  for (const auto& [key, value] : file.root().items()) {
    const bool is_number =
        !key.empty() && key.size() <= 9 && std::ranges::all_of(key, [](char c) { return c >= '0' && c <= '9'; });
    const std::uint64_t id = is_number ? std::stoull(key) : 0;
    if (id == 0)
      file.fail(key, "is no group id; ids are whole numbers above 0",
                "a node without pg_name, or with \"0\", calls all ranks");
    if (!value.is_array() || value.empty()) file.fail(key, "is no list of ranks", "write \"1\": [0, 1, 2, 3]");
    if (groups.contains(id))
      file.fail(key, fmt::format("is group {}, which the file has already", id), "leave out the zeros before the id");
    std::vector<std::uint32_t>& ranks = groups[id];
    for (const nlohmann::json& rank : value) {
      const bool fits = rank.is_number_integer() && rank.get<std::int64_t>() >= 0 && rank.get<std::int64_t>() < npus;
      if (!fits)
        file.fail(key, fmt::format("names rank {}, but the network has ranks 0 to {}", dump_json(rank), npus - 1));
      ranks.push_back(rank.get<std::uint32_t>());
    }
    std::vector<std::uint32_t> sorted = ranks;
    std::ranges::sort(sorted);
    if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
      file.fail(key, fmt::format("names rank {} twice", *twice));
  }
  return groups;
}

// One list of the network's file.
const ConfigValue& network_list(const ConfigValue& root, std::string_view key, const std::string& file) {
  const ConfigEntry* entry = root.find(key);
  const std::string hint = "write a list with one value for each dimension, as `npus_count: [ 8 ]`";
  if (entry == nullptr) throw InputError({file}, fmt::format("the key '{}' is missing", key), hint);
  if (entry->value.kind != ConfigValue::Kind::kList)
    throw InputError(entry->value.where, fmt::format("'{}' is {}, expected a list", key, kind_name(entry->value.kind)),
                     hint);
  if (entry->value.items.empty()) throw InputError(entry->value.where, fmt::format("'{}' is an empty list", key), hint);
  return entry->value;
}

double network_number(const ConfigValue& value, std::string_view key, double least, std::string_view expected) {
  std::size_t end = 0;
  double number = std::numeric_limits<double>::quiet_NaN();
  try {
    if (value.kind == ConfigValue::Kind::kScalar) number = std::stod(value.scalar, &end);
  } catch (const std::exception&) {  // no number, or one beyond a double
  }
  if (end != value.scalar.size() || !std::isfinite(number) || number < least)
    throw InputError(value.where, fmt::format("'{}' holds '{}', expected {}", key, printable(value.scalar), expected));
  return number;
}

TopologyKind network_topology(const ConfigValue& value) {
  const auto known = std::ranges::find(kTopologies, value.scalar);
  if (known == kTopologies.end())
    throw InputError(value.where, fmt::format("unknown topology '{}'", printable(value.scalar)),
                     "known: Ring, Switch, FullyConnected; `orrery run` knows more (orrery list topologies)");
  return static_cast<TopologyKind>(known - kTopologies.begin());
}

}  // namespace

std::string_view name_of(CommKind kind) {
  return kind == CommKind::kBroadcast ? "broadcast" : kCollectives[static_cast<std::size_t>(kind)];
}

std::string_view name_of(TopologyKind kind) { return kTopologies[static_cast<std::size_t>(kind)]; }

Location System::where(std::string_view key) const {
  const auto found = lines.find(key);
  return {file, found == lines.end() ? 0 : found->second};
}

NetworkFile read_network(const std::string& path, std::vector<Problem>& warnings) {
  note_input(path, InputKind::kConfiguration);
  Diagnostics diagnostics;
  const ConfigValue root = parse_config(read_text(path), path, diagnostics);
  diagnostics.throw_if_errors();
  if (root.kind != ConfigValue::Kind::kMap)
    throw InputError({path}, "is not a network of ASTRA-sim's analytical backends",
                     "expected the keys topology, npus_count, bandwidth and latency, each with a list");
  const std::vector<std::string> keys = {"topology", "npus_count", "bandwidth", "latency"};
  for (const ConfigEntry& entry : root.entries)
    if (std::ranges::find(keys, entry.key) == keys.end())
      warnings.push_back({Severity::kWarning, entry.where,
                          fmt::format("unknown key '{}', which ASTRA-sim ignores", printable(entry.key)), ""});
  NetworkFile network{.file = path};
  std::array<const ConfigValue*, 4> lists{};
  for (std::size_t i = 0; i < keys.size(); ++i) lists[i] = &network_list(root, keys[i], path);
  const std::size_t dimensions = lists[0]->items.size();
  for (std::size_t i = 1; i < keys.size(); ++i)
    if (lists[i]->items.size() != dimensions)
      throw InputError(
          lists[i]->where,
          fmt::format("'{}' has {} values, but 'topology' has {}", keys[i], lists[i]->items.size(), dimensions),
          "each list has one value for each dimension");
  std::array<std::list<ConfigValue>::const_iterator, 4> at{};
  for (std::size_t i = 0; i < keys.size(); ++i) at[i] = lists[i]->items.begin();
  std::uint64_t npus = 1;
  for (std::size_t d = 0; d < dimensions; ++d) {
    Dimension dimension{.topology = network_topology(*at[0])};
    const double size = network_number(*at[1], keys[1], 2, "a whole number of at least 2");
    npus *= static_cast<std::uint64_t>(std::min(size, static_cast<double>(kMostNpus) + 1));
    if (size != std::floor(size) || npus > kMostNpus)
      throw InputError(at[1]->where, fmt::format("'npus_count' holds '{}', expected whole numbers whose product is at "
                                                 "most {}",
                                                 printable(at[1]->scalar), kMostNpus));
    dimension.size = static_cast<std::uint32_t>(size);
    dimension.gigabytes = network_number(*at[2], keys[2], 1e-9, "a bandwidth above 0 in GB/s");
    dimension.bandwidth = dimension.gigabytes * (1 << 30) / 1'000'000'000;
    dimension.latency = network_number(*at[3], keys[3], 0, "a latency in nanoseconds");
    dimension.where_bandwidth = at[2]->where;
    dimension.where_latency = at[3]->where;
    network.dimensions.push_back(dimension);
    for (auto& item : at) ++item;
  }
  network.npus = static_cast<std::uint32_t>(npus);
  return network;
}

void refuse_too_long(const Location& where, std::string_view key, std::string_view what, double duration) {
  throw InputError(
      where, fmt::format("'{}': {} takes {:.3g} ns and ends after 2^63 ns (292 years)", key, what, duration),
      "times are in nanoseconds, bandwidths in GB/s, peak-perf in TFLOPS, duration_micros in microseconds");
}

Inputs read_inputs(const Flags& flags) {
  Inputs inputs{.flags = flags};
  inputs.network = read_network(flags.network, inputs.warnings);
  inputs.system = read_system(flags, inputs.warnings);
  refuse_long_lists(inputs.system, inputs.network.dimensions.size());
  inputs.memory = read_memory(flags, inputs.warnings);
  if (flags.groups.find("empty") == std::string::npos) {
    inputs.groups = read_groups(flags, inputs.network.npus, inputs.warnings);
    inputs.groups_file = flags.groups;
  } else if (flags.groups != "empty") {
    inputs.warnings.push_back({Severity::kWarning,
                               {flags.groups},
                               "is not read: ASTRA-sim takes any path with \"empty\" in it for no groups",
                               "rename the file"});
  }
  return inputs;
}

}  // namespace orrery::astra
