#include "study/benchmark/question.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "collectives/algorithms.h"
#include "collectives/nccl/options.h"
#include "core/config/quantity_text.h"

namespace orrery {
namespace {

ConfigValue option_value(std::string_view option, std::string text) {
  return {ConfigValue::Kind::kScalar, {std::string(option)}, std::move(text), {}, {}};
}

// The cluster that the option writes out; nothing where it is a name or a path.
std::optional<ConfigValue> written_out(const std::string& cluster) {
  Diagnostics ignored;
  ConfigValue value = parse_option(cluster, "--cluster", ignored);
  if (value.kind != ConfigValue::Kind::kMap) return std::nullopt;
  return value;
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
  if (question.library.empty() && question.launch.empty() && question.protocol.empty()) return;
  ConfigValue& collectives = map_at(root, "collectives", "--library", files, diagnostics);
  if (!question.library.empty()) set(collectives, "library", option_value("--library", question.library));
  if (!question.launch.empty()) set(collectives, "launch", option_value("--launch", question.launch));
  if (!question.protocol.empty()) set(collectives, "proto", list_of("--proto", question.protocol));
}

// The configuration that the question comes to, but for --algo.
ConfigValue machine_of(const CollectiveQuestion& question, const ConfigFiles& files, Diagnostics& diagnostics) {
  ConfigValue root = map_of("--cluster");
  entry(root, "cluster", parse_option(question.cluster, "--cluster", diagnostics));
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
void set_algorithm(ConfigValue& collectives, ConfigValue list, CollectiveKind kind, std::size_t dimensions,
                   const ConfigFiles& files, Diagnostics& diagnostics) {
  if (list.items.size() == 1) list.items.resize(dimensions, list.items.front());
  set(map_at(collectives, "algorithms", "--algo", files, diagnostics), name_of(kind), list);
}

std::uint32_t devices_per_node(const CollectiveQuestion& question, std::uint32_t most) {
  if (question.devices_per_node.empty()) return most;
  const auto number = parse_whole_number(question.devices_per_node);
  if (number && *number >= 1 && *number <= most) return static_cast<std::uint32_t>(*number);
  throw InputError({"--gpus-per-node"},
                   fmt::format("'{}' of the {} devices of a node", printable(question.devices_per_node, 40), most),
                   fmt::format("write a number from 1 to {}", most));
}

// Of a cluster whose default is NCCL: names that NCCL has not got, but the fixed library has, mean that one.
bool means_fixed(const ConfigValue& collectives, const ConfigValue& names) {
  const auto is_nccl = [](const ConfigValue& name) { return nccl_algorithm_named(name.scalar).has_value(); };
  const auto is_fixed = [](const ConfigValue& name) { return find_algorithm(name.scalar).has_value(); };
  return collectives.find("library") == nullptr && !std::ranges::all_of(names.items, is_nccl) &&
         std::ranges::all_of(names.items, is_fixed);
}

}  // namespace

std::string cluster_origin(const std::string& cluster) { return written_out(cluster) ? "--cluster" : cluster; }

std::string cluster_title(const std::string& cluster) {
  const std::optional<ConfigValue> value = written_out(cluster);
  if (!value) return looks_like_path(cluster) ? std::filesystem::path(cluster).stem().string() : cluster;
  const ConfigEntry* name = value->find("name");
  return name != nullptr && name->value.kind == ConfigValue::Kind::kScalar ? name->value.scalar : "inline";
}

Experiment read_question(const CollectiveQuestion& question, const BenchmarkOperation& operation,
                         const ConfigFiles& files, Diagnostics& diagnostics) {
  refuse_choice("--algo", "algorithm", question.algorithm, operation);
  refuse_choice("--proto", "protocol", question.protocol, operation);
  ConfigValue root = machine_of(question, files, diagnostics);
  if (question.algorithm.empty())
    return read_machine(cluster_origin(question.cluster), std::move(root), files, diagnostics);
  // Which library there is and how many dimensions are known when all has been read; warnings come with the second
  // reading.
  Diagnostics first_reading;
  const Experiment first = read_machine(cluster_origin(question.cluster), root, files, first_reading);
  ConfigValue& collectives = map_at(root, "collectives", "--algo", files, diagnostics);
  const ConfigValue names = list_of("--algo", question.algorithm);
  if (first.simulation.collectives.nccl && !means_fixed(collectives, names))
    set(collectives, "algo", names);
  else
    set_algorithm(collectives, names, *operation.kind, first.fabric.dimensions().size(), files, diagnostics);
  return read_machine(cluster_origin(question.cluster), std::move(root), files, diagnostics);
}

std::vector<DeviceId> benchmark_devices(const CollectiveQuestion& question, const Fabric& fabric) {
  const std::uint32_t per_node = fabric.dimensions().front().size;
  const std::uint32_t used = devices_per_node(question, per_node);
  std::vector<DeviceId> devices;
  for (std::uint32_t first = 0; first < fabric.device_count(); first += per_node)
    for (std::uint32_t i = 0; i < used; ++i) devices.push_back(DeviceId(first + i));
  return devices;
}

}  // namespace orrery
