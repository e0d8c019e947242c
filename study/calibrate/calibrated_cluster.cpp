#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "core/config/text.h"
#include "study/calibrate/calibrate.h"

namespace orrery {
namespace {

ConfigValue scalar(std::string text) { return {ConfigValue::Kind::kScalar, {}, std::move(text), {}, {}}; }

// `path` in nested maps.
void set(ConfigValue& map, std::string_view path, std::string text) {
  const std::size_t dot = path.find('.');
  const std::string key(path.substr(0, dot));
  ConfigEntry* entry = map.find(key);
  if (entry == nullptr)
    entry = &map.entries.emplace_back(ConfigEntry{key, {}, {ConfigValue::Kind::kMap, {}, {}, {}, {}}});
  if (dot == std::string_view::npos)
    entry->value = scalar(std::move(text));
  else
    set(entry->value, path.substr(dot + 1), std::move(text));
}

// A matrix stays where it is, however far away this file is written.
void make_paths_absolute(ConfigValue& value) {
  for (ConfigEntry& entry : value.entries) {
    make_paths_absolute(entry.value);
    if (entry.key != "topology_matrix" || entry.value.kind != ConfigValue::Kind::kScalar) continue;
    const std::string& file = entry.value.where.file;
    const std::filesystem::path folder =
        file.starts_with("--set ") ? std::filesystem::path() : std::filesystem::path(file).parent_path();
    entry.value.scalar = std::filesystem::absolute(folder / entry.value.scalar).lexically_normal().string();
  }
}

}  // namespace

std::string calibrated_cluster(const Calibration& calibration, const std::string& from) {
  ConfigValue cluster = calibration.data.cluster;
  make_paths_absolute(cluster);
  std::map<std::size_t, double> constants(calibration.data.measured.begin(), calibration.data.measured.end());
  for (const FittedNcclConstant& fitted : calibration.fit.fitted) constants[fitted.number] = fitted.after;
  ConfigValue nccl{ConfigValue::Kind::kMap, {}, {}, {}, {}};
  for (const auto& [number, value] : constants)
    set(nccl, nccl_constant_entries()[number].path, nccl_constant_text(number, value));
  std::erase_if(cluster.entries, [](const ConfigEntry& entry) { return entry.key == "nccl"; });
  cluster.entries.push_back({"nccl", {}, std::move(nccl)});
  return fmt::format("# {}\n", printable(from, 2000)) + yaml_text(cluster);
}

}  // namespace orrery
