// SPDX-License-Identifier: MIT
// Any text as a profile, alone or standing for all ranks: a job or an error. What a profile says of the order of its
// operations is never a cycle, and they begin when it says.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "core/assert.h"
#include "core/error.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/problems.h"
#include "workload/import/kineto/kineto.h"
#include "workload/import/kineto/timeline.h"

namespace {

using namespace orrery;
using namespace orrery::workload;

void check_timeline(std::string_view text) {
  const KinetoTrace trace = read_kineto("fuzzed.json", text);
  if (trace.operations.empty()) return;
  const KinetoTimeline timeline = make_timeline(trace);
  ORRERY_ASSERT(timeline.steps.size() == trace.operations.size());
  for (std::size_t i = 0; i < timeline.steps.size(); ++i) {
    const KinetoStep& step = timeline.steps[i];
    ORRERY_ASSERT(step.begin <= step.end && step.host >= 0 && (step.host == 0 || step.waits_for_host));
    for (const std::uint32_t before : step.after) ORRERY_ASSERT(before < i && timeline.steps[before].end <= step.begin);
  }
}

}  // namespace

ORRERY_FUZZER(fuzz_kineto, text) {
  fuzz::check_refusals([&] { check_timeline(text); });
  for (const bool symmetric : {false, true}) {
    Diagnostics diagnostics;
    fuzz::check_refusals([&] {
      const Job job = import_kineto_text("fuzzed.json", text, diagnostics, {.symmetric = symmetric});
      ORRERY_ASSERT(!job.ranks.empty() && !diagnostics.has_errors());
    });
  }
}
