// SPDX-License-Identifier: MIT
// A JSON Schema (draft 2020-12) of configuration files, made from the readers' own declarations, so that editors
// complete and check keys.
#pragma once

#include <span>

#include <nlohmann/json_fwd.hpp>

#include "core/config/config.h"

namespace orrery::experiment {

// The schema of a file that is an experiment or, with the keys `vary` or `experiment`, a sweep. `experiment` and
// `sweep` are the keys of each, as describe_configuration() and study::describe_sweep() list them. What a key holds is
// checked as far as its type goes: names of shipped files, and keys that exclude or need each other, are the program's
// to check.
nlohmann::ordered_json configuration_schema(std::span<const KeyDescription> experiment,
                                            std::span<const KeyDescription> sweep);

}  // namespace orrery::experiment
