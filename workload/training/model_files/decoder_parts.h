// SPDX-License-Identifier: MIT
// A decoder's parts out of the keys that describe each of them: its shape, attention, feed-forward, experts, layers.
#pragma once

#include <string>
#include <vector>

#include "core/config/tree.h"
#include "workload/training/model_files/key_reader.h"
#include "workload/training/model_files/left_out.h"

namespace orrery::workload {

struct TranslatedModel {
  ConfigValue contents;  // in the keys of read_model(), each where the key stands that it follows from
  std::vector<LeftOut> left_out;
};

// Name of a model's type, whether what it implies is known, and whether its layers have experts in any case.
struct TypeName {
  std::string text;
  bool is_known = false;
  bool needs_experts = false;
};

// The parts in the keys of read_model(). After an error, some may be missing.
TranslatedModel read_decoder(KeyReader& keys, const TypeName& type);

}  // namespace orrery::workload
