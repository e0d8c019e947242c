// SPDX-License-Identifier: MIT
// Any text as a GOAL schedule: a job or an error, and no more ranks than the text has blocks for.
#include <cstdint>
#include <string_view>

#include "core/assert.h"
#include "core/error.h"
#include "tests/fuzz/fuzzer.h"
#include "workload/import/goal/goal.h"

ORRERY_FUZZER(fuzz_goal, text) {
  using namespace orrery;
  using namespace orrery::workload;
  Diagnostics diagnostics;
  try {
    const Job job = import_goal_text("fuzzed.goal", text, diagnostics);
    ORRERY_ASSERT(!job.ranks.empty() && job.ranks.size() <= text.size());
    ORRERY_ASSERT(!diagnostics.has_errors());
  } catch (const InputError& error) {
    ORRERY_ASSERT(!error.problems().empty());
    for (const Problem& problem : error.problems()) ORRERY_ASSERT(!to_string(problem).empty());
  }
}
