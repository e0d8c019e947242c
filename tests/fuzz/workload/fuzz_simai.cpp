// SPDX-License-Identifier: MIT
// Text workloads of SimAI from hostile text, with and without a pipeline.
#include <cstdint>
#include <string_view>

#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/imported_job.h"
#include "workload/import/layers/layers.h"

ORRERY_FUZZER(fuzz_simai, input) {
  using namespace orrery;
  using namespace orrery::workload;
  if (input.size() < 2) return;
  const std::uint8_t choice = fuzz::byte_of(input, 1);
  LayersOptions options;
  if (choice & 1) options.ranks = fuzz::byte_of(input, 0) % 32u + 1;
  options.pipeline = (choice & 2) == 0;
  options.iterations = choice / 4 % 3u + 1;
  const std::string_view text = input.substr(2);
  Diagnostics diagnostics;
  try {
    fuzz::check_imported(import_layers("fuzz.txt", text, TextDialect::kSimai, options, diagnostics));
  } catch (const InputError& error) {
    fuzz::check_refused(error, text);
  }
}
