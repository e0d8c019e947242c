// SPDX-License-Identifier: MIT
// Models from hostile text: in the keys of Hugging Face, or in those of a model here. What is accepted has parts that
// add up to its parameters.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/assert.h"
#include "core/config/config.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/problems.h"
#include "workload/training/spec/model.h"

ORRERY_FUZZER(fuzz_model_file, text) {
  using namespace orrery;
  using namespace orrery::workload;
  const ConfigFiles files("shipped-configurations-that-are-not-there");
  Diagnostics diagnostics;
  ConfigValue root = parse_config(text, "config.json", diagnostics);
  if (diagnostics.has_errors() || root.kind != ConfigValue::Kind::kMap) return;
  ModelSpec model;
  try {
    ConfigContext context(files, diagnostics);
    read_config(root, context, [&](Section& section) { model = read_model(section); });
  } catch (const InputError& error) {
    ORRERY_ASSERT(!error.problems().empty());
    fuzz::check_problems(error.problems(), "config.json", text);
    return;
  }
  fuzz::check_problems(diagnostics.problems(), "config.json", text);
  if (diagnostics.has_errors()) return;
  for (const ParameterPart& part : parameter_parts(model)) ORRERY_ASSERT(part.count > 0);
  ORRERY_ASSERT(active_parameters(model) >= 0 && parameter_count(model) >= 0);
}
