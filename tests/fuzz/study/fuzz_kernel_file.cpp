// SPDX-License-Identifier: MIT
// Tables and measurements of kernels from hostile text. Either there are timings that the model of operators can take,
// or an error; problems name lines that the text has.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "core/assert.h"
#include "core/error.h"
#include "study/calibrate/kernel_file.h"
#include "study/calibrate/kernels.h"
#include "tests/fuzz/fuzzer.h"

ORRERY_FUZZER(fuzz_kernel_file, text) {
  using namespace orrery;
  using namespace orrery::study;
  const auto lines = 1 + std::ranges::count(text, '\n');
  const PeakOf peak = [](Precision) { return FlopRate(1'000'000'000'000); };
  Diagnostics diagnostics;
  is_kernel_file(text);
  try {
    const KernelFile file = read_kernel_text(text, "fuzz", peak, diagnostics);
    for (const KernelTiming& timing : file.timings) {
      ORRERY_ASSERT(timing.seconds > 0 && timing.where.line <= lines);
      ORRERY_ASSERT(!group_of(timing).empty() && !label_of(timing).empty());
      if (timing.kind == TimedKind::kLaunch) continue;
      ORRERY_ASSERT(workload::flops_of(operator_of(timing)).count() >= 0);
      ORRERY_ASSERT(workload::bytes_of(operator_of(timing)).count() >= 0);
    }
  } catch (const InputError& error) {
    ORRERY_ASSERT(!error.problems().empty());
    for (const Problem& problem : error.problems()) ORRERY_ASSERT(problem.where.line <= lines);
  }
}
