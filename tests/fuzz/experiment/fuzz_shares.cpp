// SPDX-License-Identifier: MIT
// Shares of an uneven all-to-all from hostile text, as a CSV file or as YAML. What is accepted has a weight for each
// pair of ranks.
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/assert.h"
#include "experiment/experiment.h"
#include "tests/fuzz/fuzzed_files.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/problems.h"

// The first byte says which kind of file, and for how many ranks.
ORRERY_FUZZER(fuzz_shares, input) {
  using namespace orrery;
  using namespace orrery::fuzz;
  static const FuzzedFolder folder;
  const std::uint8_t choice = byte_of(input, 0);
  const std::string_view text = input.substr(std::min<std::size_t>(1, input.size()));
  const std::string file = folder.write(choice % 2 == 0 ? "shares.csv" : "shares.yaml", text);
  const std::uint32_t ranks = choice / 2 % 8 + 1u;
  const std::string experiment = fmt::format(
      "cluster:\n"
      "  device: {{name: x, peak: {{bf16: 300 TFLOP/s}}, memory: {{capacity: 80 GB, bandwidth: 2000 GB/s}}}}\n"
      "  dims: [{{topology: switch, size: {}, bandwidth: 300 GB/s, latency: 700 ns}}]\n"
      "workload: {{collective: all_to_all, size: 1 MB, shares: {}}}\n"
      "collectives: {{library: fixed}}\n",
      ranks, file);
  const ConfigFiles files("shipped-configurations-that-are-not-there");
  Diagnostics diagnostics;
  ConfigValue root = parse_config(experiment, "fuzz.yaml", diagnostics);
  ORRERY_ASSERT(!diagnostics.has_errors());
  try {
    experiment::read_experiment("fuzz.yaml", std::move(root), files, diagnostics);
    ORRERY_ASSERT(!diagnostics.has_errors());
  } catch (const InputError& error) {
    ORRERY_ASSERT(!error.problems().empty());
    check_problems(error.problems(), file, text);
  }
  check_problems(diagnostics.problems(), file, text);
}
