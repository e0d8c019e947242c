// Checks a configuration file of any kind without running anything.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/config/tree.h"
#include "core/error.h"

namespace orrery {

// What a file holds, told by its keys.
enum class ConfigKind { kExperiment, kCluster, kNode, kDevice, kLibrary, kModel, kSoftware, kNetwork, kLink };

std::string_view name_of(ConfigKind kind);  // "experiment", "cluster", ...

// Whether `file` is a configuration rather than a trace: by its ending, or, for .json, by its keys.
bool is_configuration(const std::string& file);

// Reads `file`, with `settings` (a.b=v) applied, as what it is; of an experiment also the traces, and whether its ranks
// agree. Problems go to `diagnostics` or are thrown as InputError; ranks that disagree throw StuckError.
ConfigKind check_config(const std::string& file, const std::vector<std::string>& settings, const ConfigFiles& files,
                        Diagnostics& diagnostics);

}  // namespace orrery
