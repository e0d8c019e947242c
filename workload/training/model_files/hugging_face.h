// SPDX-License-Identifier: MIT
// Models as Hugging Face has them: the config.json of the transformers library, in the words of a model here.
#pragma once

#include <string>

#include "core/config/tree.h"
#include "core/error.h"
#include "workload/training/model_files/decoder_parts.h"

namespace orrery::workload {

// True if these are the keys of a config.json: a type, a language model in it, or all sizes by these names.
bool is_hugging_face(const ConfigValue& contents);

// The same model in the keys of read_model(); keys of read_model() that stand beside those of Hugging Face win. Each
// part of a decoder reads the keys that describe it, whatever the name of the model; a name that is not known is a
// warning. Parts that no key here stands for, keys that are not understood, values of wrong types and a missing key
// without which it is another model are errors. `path` leads to the model in a configuration; empty: it is all of a
// file.
TranslatedModel from_hugging_face(const ConfigValue& contents, const std::string& path, Diagnostics& diagnostics);

}  // namespace orrery::workload
