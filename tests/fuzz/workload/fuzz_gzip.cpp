// SPDX-License-Identifier: MIT
// Any bytes as gzip data, within limits small enough to reach.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "core/error.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/problems.h"
#include "workload/chakra/file.h"

ORRERY_FUZZER(fuzz_gzip, bytes) {
  if (!orrery::workload::is_gzip(bytes)) return;
  const orrery::workload::InflateLimits limits{.bytes = 4 << 20, .free_bytes = 1 << 16, .ratio = 50};
  orrery::fuzz::check_refusals([&] {
    const std::string content = orrery::workload::inflate_gzip("fuzzed.gz", bytes, limits);
    if (content.size() > limits.bytes) std::abort();
  });
}
