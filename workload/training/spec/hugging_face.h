// SPDX-License-Identifier: MIT
// Models as Hugging Face has them: the config.json of the transformers library, in the words of a model here.
#pragma once

#include "core/config/tree.h"
#include "core/error.h"

namespace orrery::workload {

// Whether these are the keys of a config.json.
bool is_hugging_face(const ConfigValue& contents);

// The same model in the keys of read_model(), each where the key stands that it follows from; keys of read_model() that
// stand beside those of Hugging Face win. An architecture that is not known, or that has parts that no key here stands
// for, is an error, and so are values of wrong types and a missing key without which it is another model. `path` leads
// to the model in a configuration; empty: it is all of a file.
ConfigValue from_hugging_face(const ConfigValue& contents, const std::string& path, Diagnostics& diagnostics);

}  // namespace orrery::workload
