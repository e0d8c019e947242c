// SPDX-License-Identifier: MIT
// Results of runs from hostile text, as `run`, `compare` and `explain` take them: an experiment and where it came from,
// its evidence and what it is compared with, or an error.
#include <string>
#include <string_view>

#include "core/assert.h"
#include "experiment/evidence/recorded.h"
#include "experiment/recorded_run.h"
#include "tests/fuzz/fuzzed_files.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/problems.h"

// The schema stands in front of it, unless the text begins as a whole document.
ORRERY_FUZZER(fuzz_result, input) {
  using namespace orrery;
  using namespace orrery::fuzz;
  static const FuzzedFolder folder;
  const std::string text =
      (input.starts_with("{") ? "" : "{\n  \"schema\": \"orrery.result/1\",\n") + std::string(input);
  const std::string file = folder.write("result.json", text);
  const ConfigFiles files("shipped-configurations-that-are-not-there");
  check_refusals([&] {
    const auto recorded = experiment::load_recorded_run(file, files);
    if (!recorded) return;
    ORRERY_ASSERT(recorded->experiment.kind == ConfigValue::Kind::kMap);
    Diagnostics diagnostics;
    experiment::source_of(*recorded, {}, diagnostics);
    check_problems(diagnostics.problems());
    files.peek(file);  // so that its text is at hand
    for (const auto& [key, figure] : experiment::recorded_figures(file, files)) ORRERY_ASSERT(key == figure.key);
  });
  Diagnostics diagnostics;
  check_refusals([&] { experiment::load_configuration(file, files, diagnostics); });
  check_problems(diagnostics.problems(), file, text);
}
