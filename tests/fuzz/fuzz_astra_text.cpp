// SPDX-License-Identifier: MIT
// Text workloads of ASTRA-sim 1.0 from hostile text, for some number of ranks, group size and iterations.
#include <cstdint>
#include <string_view>

#include "tests/fuzz/imported_job.h"
#include "workload/import/layers/layers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  using namespace orrery::workload;
  if (size < 3) return 0;
  LayersOptions options;
  options.ranks = data[0] % 32u + 1;
  if (data[1] > 0) options.model_parallel = data[1] % 32u + 1;
  options.iterations = data[2] % 4u;
  const std::string_view text(reinterpret_cast<const char*>(data) + 3, size - 3);
  Diagnostics diagnostics;
  try {
    fuzz::check_imported(import_layers("fuzz.txt", text, TextDialect::kAstra, options, diagnostics));
  } catch (const InputError& error) {
    fuzz::check_refused(error, text);
  }
  return 0;
}
