// SPDX-License-Identifier: MIT
// Tables of published measurements from hostile text: in YAML as each kind of validation takes it, and in CSV, errors,
// layers and kernels. They are read or refused, each problem at a line that the text has.
#include <cmath>
#include <string>
#include <string_view>

#include "core/assert.h"
#include "study/interval/interval.h"
#include "study/interval/kinds.h"
#include "study/validate/compute/layers.h"
#include "study/validate/kinds.h"
#include "system/devices/kernel_table.h"
#include "tests/fuzz/fuzzed_files.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/problems.h"
#include "tests/shipped_files.h"

namespace orrery::fuzz {
namespace {

constexpr const char* kCsv = "fuzzed.csv";

void read_errors(std::string_view text, const study::RunSchema& schema, Diagnostics& diagnostics) {
  for (const study::MeasuredError& error : study::read_errors_csv(text, kCsv, schema, diagnostics)) {
    ORRERY_ASSERT(error.error > -1 && std::isfinite(error.error) && error.kind.words.size() == schema.words.size());
    ORRERY_ASSERT(!error.run || error.run->measured > 0);
  }
}

void read_csv(std::uint8_t choice, std::string_view text) {
  Diagnostics diagnostics;
  check_refusals([&] {
    if (choice == 0) read_errors(text, study::training_runs(), diagnostics);
    if (choice == 1) read_errors(text, study::collective_runs(), diagnostics);
    if (choice == 2) {
      for (const study::LayerSample& sample : study::read_layer_csv(text, kCsv, diagnostics))
        for (const auto& time : sample.times) ORRERY_ASSERT(!time || *time > Duration::zero());
    }
    if (choice == 3) {
      system::is_kernel_csv(text);
      for (const system::KernelSample& sample : system::read_kernel_csv(text, kCsv, diagnostics))
        ORRERY_ASSERT(sample.measured > Duration::zero() && !sample.kind.empty());
    }
  });
  check_problems(diagnostics.problems(), kCsv, text);
}

}  // namespace
}  // namespace orrery::fuzz

// The first byte says which table: four of CSV, then the kinds of validation.
ORRERY_FUZZER(fuzz_tables, input) {
  using namespace orrery;
  using namespace orrery::fuzz;
  static const FuzzedFolder folder;
  const auto kinds = study::validation_kinds();
  const std::size_t choice = byte_of(input, 0) % (4 + kinds.size());
  const std::string_view text = input.substr(std::min<std::size_t>(1, input.size()));
  if (choice < 4) return read_csv(static_cast<std::uint8_t>(choice), text);
  const std::string file = folder.write("table.yaml", text);
  Diagnostics diagnostics;
  check_refusals([&] { kinds[choice - 4].check(file, {}, kFiles, diagnostics); });
  check_problems(diagnostics.problems(), file, text);
}
