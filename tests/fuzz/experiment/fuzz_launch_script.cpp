// SPDX-License-Identifier: MIT
// Any text as a launch script: arguments or an error, and nothing is executed.
#include <cstdint>
#include <string_view>

#include "core/assert.h"
#include "core/error.h"
#include "experiment/launchers/launch_files.h"
#include "tests/fuzz/fuzzer.h"

ORRERY_FUZZER(fuzz_launch_script, text) {
  using namespace orrery;
  using namespace orrery::experiment;
  Diagnostics diagnostics;
  LaunchFiles launch;
  read_script_text("fuzzed.sh", text, {}, launch, diagnostics);
  std::vector<ReadArgument> arguments;
  if (!diagnostics.has_errors())
    read_arguments(table_of_launcher(Launcher::kMegatron), launch, std::nullopt, arguments, diagnostics);
  for (const Problem& problem : diagnostics.problems()) ORRERY_ASSERT(!to_string(problem).empty());
}
