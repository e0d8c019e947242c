// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/config/text.h"
#include "core/files/read_file.h"
#include "experiment/experiment.h"
#include "experiment/launchers/argument_files.h"
#include "experiment/launchers/argument_table.h"

namespace orrery::experiment {
namespace {

// Sections of a job in the order in which a reader wants them.
constexpr std::array<std::string_view, 12> kSections = {"software",  "precision", "recipe",   "deterministic",
                                                        "gradients", "model",     "parallel", "batch",
                                                        "schedule",  "overlap",   "experts",  "optimizer"};

void relocate(ConfigValue& value, const Location& where) {
  value.where = where;
  for (ConfigValue& item : value.items) relocate(item, where);
  for (ConfigEntry& entry : value.entries) {
    entry.where = where;
    relocate(entry.value, where);
  }
}

// Marks the values of the command line that name files which are there, as seen from the working directory.
void mark_files(ConfigValue& value) {
  for (ConfigValue& item : value.items) mark_files(item);
  for (ConfigEntry& entry : value.entries) mark_files(entry.value);
  const bool may_be_path = looks_like_path(value.scalar) || value.scalar.find('.') != std::string::npos;
  value.is_path = may_be_path && value.where.file.starts_with("--") && !is_missing(value.scalar);
}

ConfigValue scalar(std::string text, const Location& where) {
  return {ConfigValue::Kind::kScalar, where, std::move(text), {}, {}};
}

ConfigValue& member(ConfigValue& map, std::string_view key, const Location& where) {
  if (ConfigEntry* entry = map.find(key)) return entry->value;
  map.entries.push_back({std::string(key), where, {ConfigValue::Kind::kMap, where, {}, {}, {}}});
  return map.entries.back().value;
}

void put(ConfigValue& root, std::string_view path, const LaunchReading::Set& set, Diagnostics& diagnostics) {
  ConfigValue* place = &root;
  for (const std::string& part : split_key_path(path)) place = &member(*place, part, set.where);
  ConfigValue value = parse_config(set.value, set.where.file, diagnostics);
  relocate(value, set.where);
  *place = std::move(value);
}

void add_cluster(ConfigValue& root, const LaunchOptions& options, const LaunchFiles& files) {
  std::list<ConfigEntry> first;
  if (!options.cluster.empty()) first.push_back({"cluster", {"--cluster"}, scalar(options.cluster, {"--cluster"})});
  const std::int64_t nodes = options.nodes > 0 ? options.nodes : files.nodes;
  const Location where = options.nodes > 0 ? Location{"--nodes"} : files.where;
  if (nodes > 0) first.push_back({"nodes", where, scalar(std::to_string(nodes), where)});
  root.entries.splice(root.entries.begin(), first);
}

// Number of ranks that a launch asks for; 0: as many as the cluster has room for.
std::int64_t asked_ranks(const LaunchOptions& options, const LaunchFiles& files) {
  if (options.ranks > 0 || options.nodes > 0) return options.ranks;
  return files.nodes * files.devices_per_node;
}

// The cluster's generation. How many devices and nodes the job has goes to `files`: nodes that have more devices than
// the launch has processes on each are filled all the same.
std::optional<Architecture> read_cluster(const LaunchOptions& options, LaunchFiles& files, const ConfigFiles& configs,
                                         Diagnostics& diagnostics) {
  const std::int64_t ranks = asked_ranks(options, files);
  if (options.cluster.empty()) {
    files.ranks = options.ranks;
    return std::nullopt;
  }
  ConfigValue root{ConfigValue::Kind::kMap, {}, {}, {}, {}};
  add_cluster(root, options, files);
  const Experiment machine = read_machine(options.cluster, std::move(root), configs, diagnostics);
  files.devices = machine.fabric.device_count();
  const std::int64_t of_node = machine.fabric.dimensions().front().size;
  files.node_devices = of_node;
  if (ranks > 0 && options.nodes == 0 && of_node > 0) {
    const std::int64_t nodes = (ranks + of_node - 1) / of_node;
    if (files.nodes > nodes)
      diagnostics.warning(files.where,
                          fmt::format("{} processes on each of {} nodes fill {} of {} devices here",
                                      files.devices_per_node, files.nodes, nodes, of_node),
                          fmt::format("--nodes {} has as many nodes, and ranks on all their devices", files.nodes));
    files.nodes = nodes;
    files.devices = nodes * of_node;
  }
  files.node_devices = of_node;
  if (ranks > 0 && ranks != files.devices) files.ranks = ranks;
  return system::oldest_architecture(machine.devices);
}

Launcher launcher_of_files(const std::vector<std::string>& files, const LaunchOptions& options,
                           const ConfigFiles& configs) {
  if (options.launcher) return *options.launcher;
  const std::optional<Launcher> launcher = launcher_of(files.front(), configs.beginning(files.front()));
  if (!launcher)
    throw InputError({files.front()}, "not a launch script or a configuration of a known launcher",
                     fmt::format("give --format, one of {}", fmt::join(kLauncherNames, ", ")));
  return *launcher;
}

// Unknown arguments, each by name; and those that change a step, but not here.
void tell_unused(const ImportedLaunch& launch, const LauncherTable& table, bool strict, Diagnostics& diagnostics) {
  for (const ReadArgument& read : launch.arguments) {
    const std::string name = printable(read.argument.name, 60);
    if (read.fate == ArgumentFate::kNotSimulated)
      diagnostics.warning(read.argument.where, fmt::format("'{}' is not simulated: {}", name, read.reason));
    if (read.fate != ArgumentFate::kUnknown) continue;
    const std::string message = fmt::format("'{}' is no argument of {} that is known here", name, table.title);
    if (strict)
      diagnostics.error(read.argument.where, message, read.reason);
    else
      diagnostics.warning(read.argument.where, message, read.reason);
  }
}

// True if the tree has a value at `path`, or a file in its place.
bool has_key(const ConfigValue& root, std::string_view path) {
  const ConfigValue* place = &root;
  for (const std::string& part : split_key_path(path)) {
    if (place->kind == ConfigValue::Kind::kScalar || place->find("like") != nullptr) return true;
    const ConfigEntry* entry = place->find(part);
    if (entry == nullptr) return false;
    place = &entry->value;
  }
  return true;
}

}  // namespace

std::size_t ImportedLaunch::count(ArgumentFate fate) const {
  return static_cast<std::size_t>(std::ranges::count(arguments, fate, &ReadArgument::fate));
}

ConfigValue experiment_of(const LaunchKeys& keys, const LaunchBase& software, const LaunchBase& model,
                          const Location& where, Diagnostics& diagnostics) {
  ConfigValue root{ConfigValue::Kind::kMap, where, {}, {}, {}};
  ConfigValue& workload = member(root, "workload", where);
  for (const std::string_view section : kSections) member(workload, section, where);
  const auto base = [&](std::string_view section, const LaunchBase& file) {
    if (file.name.empty()) return;
    member(workload, section, where).entries.push_back({"like", file.where, scalar(file.name, file.where)});
  };
  base("software", software);
  base("model", model);
  for (const auto& [key, set] : keys.settings)
    if (model.name.empty() || !set.is_default || !key.starts_with("workload.model.")) put(root, key, set, diagnostics);
  std::erase_if(workload.entries, [](const ConfigEntry& entry) {
    return entry.value.kind == ConfigValue::Kind::kMap && entry.value.entries.empty();
  });
  return root;
}

ImportedLaunch import_launch(const std::vector<std::string>& files, const LaunchOptions& options,
                             const ConfigFiles& configs) {
  Diagnostics diagnostics;
  ImportedLaunch launch;
  launch.launcher = launcher_of_files(files, options, configs);
  const LauncherTable& table = table_of_launcher(launch.launcher);
  LaunchFiles read = table.parse(files, options, diagnostics);
  diagnostics.throw_if_errors();
  read.configs = &configs;
  const std::optional<Architecture> architecture = read_cluster(options, read, configs, diagnostics);
  const LaunchKeys keys = read_arguments(table, read, architecture, launch.arguments, diagnostics);
  tell_unused(launch, table, options.strict, diagnostics);
  for (const auto& [key, set] : keys.settings)
    if (set.is_default) launch.defaults.emplace_back(key, set.value);
  const std::string chosen = keys.software.empty() ? std::string(table.software) : keys.software;
  const LaunchBase software =
      options.software.empty() ? LaunchBase{chosen, read.where} : LaunchBase{options.software, {"--software"}};
  // An argument by the name of the option has set its keys already.
  const std::string model = ArgumentIndex(table).row(kModelOption) == nullptr ? options.model : std::string();
  launch.experiment = experiment_of(keys, software, {model, {"--model"}}, read.where, diagnostics);
  add_cluster(launch.experiment, options, read);
  diagnostics.throw_if_errors();
  for (const std::string& setting : options.settings) apply_setting(launch.experiment, setting, configs, diagnostics);
  for (const LaunchReading::Missing& missing : keys.missing)
    if (!has_key(launch.experiment, missing.key)) diagnostics.add(missing.problem);
  diagnostics.throw_if_errors();
  if (launch.experiment.find("cluster") != nullptr)
    read_experiment(files.front(), launch.experiment, configs, diagnostics);
  diagnostics.throw_if_errors();
  mark_files(launch.experiment);
  launch.warnings.assign(diagnostics.problems().begin(), diagnostics.problems().end());
  return launch;
}

}  // namespace orrery::experiment
