// SPDX-License-Identifier: MIT
#include "study/interval/shipped_values.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/config.h"
#include "core/config/key_path.h"
#include "core/config/quantity_text.h"
#include "experiment/evidence/figures.h"

namespace orrery::study {
namespace {

constexpr std::string_view kCluster = "cluster", kConstants = "collectives.constants", kSoftware = "workload.software";
constexpr std::array<std::string_view, 3> kParts = {kCluster, kConstants, kSoftware};

// Name of the file that a value is, or that its key `name` says that it was.
std::string name_in(const ConfigValue* value) {
  if (value == nullptr) return {};
  const ConfigEntry* name = value->find("name");
  return name == nullptr ? value->scalar : name->value.scalar;
}

// Name of the device of a cluster without types of nodes; empty where there is none.
std::string device_in(const ConfigValue& cluster) {
  const ConfigValue* device = value_at_path(cluster, "node.device");
  return name_in(device == nullptr ? value_at_path(cluster, "device") : device);
}

// The device of a shipped cluster.
std::string device_of_shipped(const std::string& cluster, const ConfigFiles& files) {
  Diagnostics unread;
  ConfigValue value{ConfigValue::Kind::kScalar, {}, cluster, {}, {}};
  files.expand(value, folder_of_key(kCluster), unread);
  if (ConfigEntry* node = value.find("node"); node != nullptr && node->value.kind == ConfigValue::Kind::kScalar)
    files.expand(node->value, folder_of_key("node"), unread);
  return device_in(value);
}

// Puts the name of a shipped file where `path` leads, if `part`, what is there, says that it is of that name.
void name_again(ConfigValue& root, std::string_view path, const ConfigFiles& files) {
  const ConfigValue* part = value_at_path(root, path);
  const std::string name = name_in(part);
  const std::string_view folder = folder_of_key(split_key_path(path).back());
  if (part == nullptr || std::ranges::count(files.names(folder), name) == 0) return;
  Diagnostics problems;
  set_value(root, path, {ConfigValue::Kind::kScalar, {}, name, {}, {}}, files, problems);
}

bool have_one_value(const ConfigValue& one, const ConfigValue& other) {
  const bool are_scalars = one.kind == ConfigValue::Kind::kScalar && other.kind == ConfigValue::Kind::kScalar;
  return are_scalars ? stand_for_one_value(one.scalar, other.scalar) : to_json(one) == to_json(other);
}

// Sorts the leaves of a tree by whether another has them as they are.
void compare(const ConfigValue& value, const ConfigValue* other, const std::string& path, std::set<std::string>& same,
             std::size_t& different) {
  for (const ConfigEntry& entry : value.entries) {
    const ConfigEntry* there = other == nullptr ? nullptr : other->find(entry.key);
    const std::string key = path.empty() ? entry.key : fmt::format("{}.{}", path, entry.key);
    if (entry.value.kind == ConfigValue::Kind::kMap)
      compare(entry.value, there == nullptr ? nullptr : &there->value, key, same, different);
    else if (there != nullptr && have_one_value(entry.value, there->value))
      same.insert(key);
    else
      ++different;
  }
}

// Paths of cluster, collectives and software that are the same in both, and how many are not.
std::pair<std::set<std::string>, std::size_t> compared(const ConfigValue& resolved, const ConfigValue& shipped) {
  std::set<std::string> same;
  std::size_t different = 0;
  for (const std::string_view path : kParts)
    if (const ConfigValue* part = value_at_path(resolved, path))
      compare(*part, value_at_path(shipped, path), std::string(path), same, different);
  return {std::move(same), different};
}

}  // namespace

std::set<std::string> keys_as_shipped(const ConfigValue& resolved, const ConfigFiles& files) {
  ConfigValue named = resolved;
  named.is_resolved = true;  // no key is anybody's own
  for (const std::string_view path : {kConstants, kSoftware}) name_again(named, path, files);
  const ConfigValue* cluster = value_at_path(resolved, kCluster);
  const std::string device = cluster == nullptr ? std::string() : device_in(*cluster);
  std::set<std::string> best;
  std::size_t least = SIZE_MAX;
  const auto take = [&](ConfigValue root) {
    Diagnostics problems;
    try {
      auto [same, different] =
          compared(resolved, experiment::read_experiment(root.where.file, std::move(root), files, problems).resolved);
      if (different < least) least = different, best = std::move(same);
    } catch (const InputError&) {  // another shape of cluster, which the job does not fit
    }
  };
  for (const std::string& name : files.names(folder_of_key(kCluster))) {
    if (device.empty() || device_of_shipped(name, files) != device) continue;
    ConfigValue root = named;
    if (const ConfigEntry* nodes = cluster->find("nodes"); nodes != nullptr && root.find("nodes") == nullptr)
      root.entries.push_back({"nodes", {}, nodes->value});
    root.find(kCluster)->value = {ConfigValue::Kind::kScalar, {}, name, {}, {}};
    take(std::move(root));
  }
  if (best.empty()) {
    take(named);  // its cluster is like no shipped one
    std::erase_if(best, [](const std::string& key) { return key.starts_with("cluster."); });
  }
  return best;
}

bool may_be_shipped(std::string_view key) {
  return std::ranges::any_of(kParts, [&](std::string_view part) { return key.starts_with(fmt::format("{}.", part)); });
}

std::set<std::string> calibrated_keys(const experiment::Experiment& experiment, const ConfigFiles& files) {
  std::set<std::string> keys;
  for (const experiment::Figure& figure :
       experiment::find_figures(experiment.resolved, experiment.idle_keys, experiment.file, files)) {
    const report::EvidenceKind kind = figure.shown.kind;
    if (kind == report::EvidenceKind::kFitted || kind == report::EvidenceKind::kMeasured) keys.insert(figure.shown.key);
  }
  return keys;
}

}  // namespace orrery::study
