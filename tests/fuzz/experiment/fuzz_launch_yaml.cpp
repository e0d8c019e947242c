// SPDX-License-Identifier: MIT
// YAML of Megatron's tests and of Megatron-Bridge from hostile text, and any text as files of a whole import by every
// launcher: an experiment whose values stand at their arguments, or an error.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/assert.h"
#include "experiment/launchers/launch_files.h"
#include "tests/fuzz/fuzzed_files.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/problems.h"
#include "tests/shipped_files.h"

// The first byte says which launcher and which name the file has.
ORRERY_FUZZER(fuzz_launch_yaml, input) {
  using namespace orrery;
  using namespace orrery::fuzz;
  using experiment::Launcher;
  static const FuzzedFolder folder;
  constexpr std::array kNames = {"launch.yaml", "launch.json", "launch.toml", "launch.sh"};
  const std::uint8_t choice = byte_of(input, 0);
  const std::string_view text = input.substr(std::min<std::size_t>(1, input.size()));
  const std::string file = folder.write(kNames[choice % kNames.size()], text);

  Diagnostics diagnostics;
  check_refusals([&] {
    experiment::LaunchFiles launch;
    experiment::read_launch_yaml(file, launch, diagnostics);
  });
  check_problems(diagnostics.problems(), file, text);

  check_refusals([&] {
    experiment::LaunchOptions options;
    if (choice / 4 % 8 < experiment::kLauncherNames.size()) options.launcher = static_cast<Launcher>(choice / 4 % 8);
    options.strict = choice / 32 % 2 == 1;
    const experiment::ImportedLaunch launch = experiment::import_launch({file}, options, kFiles);
    check_problems(launch.warnings, file, text);
    ORRERY_ASSERT(!experiment::launch_text(launch, true).empty());
    ORRERY_ASSERT(launch.experiment.kind == ConfigValue::Kind::kMap);
  });
}
