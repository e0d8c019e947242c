// SPDX-License-Identifier: MIT
// Text workloads of ASTRA-sim 1.0 from hostile text, for some number of ranks, group size and iterations.
#include <cstdint>
#include <string_view>

#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/imported_job.h"
#include "workload/import/layers/layers.h"

ORRERY_FUZZER(fuzz_astra_text, input) {
  using namespace orrery;
  using namespace orrery::workload;
  if (input.size() < 3) return;
  LayersOptions options;
  options.ranks = fuzz::byte_of(input, 0) % 32u + 1;
  if (fuzz::byte_of(input, 1) > 0) options.model_parallel = fuzz::byte_of(input, 1) % 32u + 1;
  options.iterations = fuzz::byte_of(input, 2) % 4u;
  const std::string_view text = input.substr(3);
  Diagnostics diagnostics;
  try {
    fuzz::check_imported(import_layers("fuzz.txt", text, TextDialect::kAstra, options, diagnostics));
  } catch (const InputError& error) {
    fuzz::check_refused(error, text);
  }
}
