// SPDX-License-Identifier: MIT
// Models as Hugging Face has them: the config.json of the transformers library, in the words of a model here.
#pragma once

#include <string>
#include <vector>

#include "core/config/tree.h"
#include "core/error.h"
#include "workload/training/spec/left_out.h"

namespace orrery::workload {

// True if these are the keys of a config.json: a type, a language model in it, or all sizes by these names.
bool is_hugging_face(const ConfigValue& contents);

struct TranslatedModel {
  ConfigValue contents;  // in the keys of read_model(), each where the key stands that it follows from
  std::vector<LeftOut> left_out;
};

// The same model in the keys of read_model(); keys of read_model() that stand beside those of Hugging Face win. A type
// that is not known is read by its keys, with a warning. Parts that no key here stands for, values of wrong types and a
// missing key without which it is another model are errors; keys that nobody here knows are a warning. `path` leads to
// the model in a configuration; empty: it is all of a file.
TranslatedModel from_hugging_face(const ConfigValue& contents, const std::string& path, Diagnostics& diagnostics);

}  // namespace orrery::workload
