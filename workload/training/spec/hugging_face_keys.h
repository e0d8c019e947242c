// SPDX-License-Identifier: MIT
// Fate of each key of a config.json: it is read, it changes neither times nor memory, it stands for a part that cannot
// be left out, or it is not known.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/tree.h"
#include "core/error.h"

namespace orrery::workload {

// Keys of a model here that may stand beside those of Hugging Face.
const std::vector<std::string>& own_model_keys();

// The value of `key`; null where there is none, or a null.
const ConfigEntry* value_of(const ConfigValue& contents, std::string_view key);

// A value as messages show it.
std::string text_of(const ConfigValue& value);

// An error for the first key that says that layers are not those of a transformer that read_transformer() knows: linear
// attention, state spaces, encoders with a decoder.
void refuse_other_layers(const ConfigValue& contents, Diagnostics& diagnostics);

// One warning that lists the keys that are neither `read` nor known to change nothing, with the names that they may be
// slips of.
void tell_unknown_keys(const ConfigValue& contents, std::span<const std::string_view> read, Diagnostics& diagnostics);

}  // namespace orrery::workload
