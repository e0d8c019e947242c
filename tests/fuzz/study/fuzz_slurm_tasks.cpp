// SPDX-License-Identifier: MIT
// Any text as what squeue prints: the tasks in it.
#include <string_view>

#include "core/assert.h"
#include "study/launch/slurm.h"
#include "tests/fuzz/fuzzer.h"

ORRERY_FUZZER(fuzz_slurm_tasks, text) {
  using namespace orrery;
  for (const study::SlurmTask& task : study::tasks_in(text))
    ORRERY_ASSERT(task.job.find_first_of("|\n") == std::string::npos && task.reason.find('\n') == std::string::npos);
}
