// Checks a configuration file of any kind without running anything.
#pragma once

#include <string>
#include <vector>

#include "core/config_tree.h"
#include "core/error.h"

namespace orrery {

// What kind of configuration a file holds, told by its keys.
enum class ConfigKind { kExperiment, kCluster, kNode, kDevice };

std::string_view name_of(ConfigKind kind);  // "experiment", "cluster", ...

// Reads `file` as what it is; an experiment with its cluster and its traces. Returns the kind. Problems go to
// `diagnostics`; ranks that disagree throw StuckError.
ConfigKind check_config(const std::string& file, const std::vector<std::string>& settings, const ConfigFiles& files, Diagnostics& diagnostics);

}  // namespace orrery
