// SPDX-License-Identifier: MIT
#include <algorithm>

#include <fmt/format.h>

#include "core/files/read_file.h"
#include "experiment/launchers/launch_files.h"

namespace orrery::experiment {
namespace {

// Values of an argument; nothing of one that is null.
std::vector<std::string> values_of(const ConfigValue& value) {
  std::vector<std::string> values;
  if (value.kind == ConfigValue::Kind::kScalar) values.push_back(value.scalar);
  for (const ConfigValue& item : value.items) values.push_back(item.scalar);
  return values;
}

void add_argument(const ConfigEntry& entry, const std::string& name, LaunchFiles& launch) {
  if (entry.value.kind == ConfigValue::Kind::kNull) return;
  LauncherArgument argument{name, values_of(entry.value), entry.where, {}};
  if (entry.value.kind == ConfigValue::Kind::kScalar && entry.value.scalar.find("${") != std::string::npos)
    argument.unresolved = entry.value.scalar;
  launch.arguments.push_back(std::move(argument));
}

// The keys of all sections: "model.num_layers".
void add_fields(const ConfigValue& map, const std::string& path, LaunchFiles& launch) {
  for (const ConfigEntry& entry : map.entries) {
    const std::string name = path.empty() ? entry.key : path + "." + entry.key;
    if (entry.value.kind == ConfigValue::Kind::kMap)
      add_fields(entry.value, name, launch);
    else
      add_argument(entry, name, launch);
  }
}

}  // namespace

bool is_launch_yaml(const std::string& file) {
  return file.ends_with(".yaml") || file.ends_with(".yml") || file.ends_with(".json");
}

void read_launch_yaml(const std::string& file, LaunchFiles& launch, Diagnostics& diagnostics) {
  const ConfigValue root = parse_config(read_text(file), file, diagnostics);
  if (diagnostics.has_errors()) return;
  if (root.kind != ConfigValue::Kind::kMap) {
    diagnostics.error({file}, fmt::format("is {}; a map of arguments is expected", kind_name(root.kind)),
                      "MODEL_ARGS: {--num-layers: 32, ...} or model: {num_layers: 32, ...}");
    return;
  }
  launch.where = root.where.file.empty() ? Location{file} : root.where;
  const ConfigEntry* arguments = root.find("MODEL_ARGS");
  if (arguments == nullptr) {
    launch.is_configuration = true;
    add_fields(root, "", launch);
    return;
  }
  const std::size_t first = launch.arguments.size();
  for (const ConfigEntry& entry : arguments->value.entries) {
    const bool is_off = entry.value.kind == ConfigValue::Kind::kScalar && entry.value.scalar == "false";
    if (!is_off) add_argument(entry, entry.key, launch);
  }
  for (std::size_t i = first; i < launch.arguments.size(); ++i)  // they go through a shell
    for (std::string& value : launch.arguments[i].values) std::erase(value, '\\');
  if (const ConfigEntry* variables = root.find("ENV_VARS"); variables != nullptr)
    for (const ConfigEntry& entry : variables->value.entries) add_argument(entry, entry.key, launch);
}

}  // namespace orrery::experiment
