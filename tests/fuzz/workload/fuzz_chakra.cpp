// SPDX-License-Identifier: MIT
// Any bytes as a binary trace: read or refused, and what is read can be dumped.
#include <cstddef>
#include <cstdint>
#include <sstream>

#include "tests/fuzz/chakra_sink.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/problems.h"
#include "workload/tools/dump.h"

ORRERY_FUZZER(fuzz_chakra, bytes) {
  orrery::fuzz::check_refusals([&] {
    orrery::test::ChakraSink sink;
    orrery::workload::read_chakra("fuzzed.et", bytes, sink);
    std::ostringstream dump;
    orrery::workload::dump_chakra("fuzzed.et", bytes, dump);
  });
}
