// SPDX-License-Identifier: MIT
// Text workloads of SimAI from hostile text, with and without a pipeline.
#include <cstdint>
#include <string_view>

#include "tests/fuzz/imported_job.h"
#include "workload/import/layers/layers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  using namespace orrery::workload;
  if (size < 2) return 0;
  LayersOptions options;
  if (data[1] & 1) options.ranks = data[0] % 32u + 1;
  options.pipeline = (data[1] & 2) == 0;
  options.iterations = data[1] / 4 % 3u + 1;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  Diagnostics diagnostics;
  try {
    fuzz::check_imported(import_layers("fuzz.txt", text, TextDialect::kSimai, options, diagnostics));
  } catch (const InputError& error) {
    fuzz::check_refused(error, text);
  }
  return 0;
}
