// SPDX-License-Identifier: MIT
// Fate of each key of a config.json that no part of a decoder reads: it changes neither times nor memory, it stands for
// a part that cannot be left out, or it is not known.
#pragma once

#include <string>
#include <vector>

#include "core/config/tree.h"
#include "core/error.h"
#include "workload/training/model_files/key_reader.h"

namespace orrery::workload {

// Keys of a model here that may stand beside those of Hugging Face.
const std::vector<std::string>& own_model_keys();

// An error for the first key that stands for a part that no key of a model here does: lightning attention, experts
// without weights, encoders with a decoder.
void refuse_foreign_parts(const ConfigValue& contents, Diagnostics& diagnostics);

// An error for the first key of linear attention or state-space layers that no layer reads, as none is known to be one.
void refuse_unplaced_mixers(const KeyReader& keys, Diagnostics& diagnostics);

// One error that lists the keys that are neither read nor known to change nothing, with the names that they may be
// slips of.
void refuse_unknown_keys(const KeyReader& keys, Diagnostics& diagnostics);

// One warning that lists such keys in `contents`, which stand beside the language model.
void tell_keys_beside(const KeyReader& keys, const ConfigValue& contents, Diagnostics& diagnostics);

}  // namespace orrery::workload
