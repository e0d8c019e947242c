// SPDX-License-Identifier: MIT
// Any text as a file of torchtitan, DeepSpeed or FSDP: keys of an experiment, each at an argument, or errors.
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/assert.h"
#include "core/error.h"
#include "experiment/launchers/argument_files.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/shipped_files.h"

ORRERY_FUZZER(fuzz_launch_files, text) {
  using namespace orrery;
  using namespace orrery::experiment;
  for (const Launcher launcher : {Launcher::kTorchtitan, Launcher::kDeepSpeed, Launcher::kFsdp}) {
    Diagnostics diagnostics;
    LaunchFiles files;
    files.where = {"fuzzed", 1, 1};
    files.devices = 64;
    files.node_devices = 8;
    files.configs = &kFiles;
    const ConfigValue tree = launcher == Launcher::kTorchtitan ? parse_toml(text, "fuzzed", diagnostics)
                                                               : parse_config(text, "fuzzed", diagnostics);
    if (!diagnostics.has_errors() && tree.kind == ConfigValue::Kind::kMap) {
      files.arguments = arguments_of(tree);
      std::vector<ReadArgument> arguments;
      const LaunchKeys keys =
          read_arguments(table_of_launcher(launcher), files, Architecture::kHopper, arguments, diagnostics);
      ORRERY_ASSERT(arguments.size() == files.arguments.size());
      for (const auto& [key, set] : keys.settings) ORRERY_ASSERT(key.starts_with("workload.") && !set.value.empty());
    }
    for (const Problem& problem : diagnostics.problems()) ORRERY_ASSERT(!to_string(problem).empty());
  }
}
