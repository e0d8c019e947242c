// SPDX-License-Identifier: MIT
// Files of roles from hostile text, beside a sound trace or a hostile one: a job whose ranks have graphs, or an error.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/assert.h"
#include "tests/fuzz/fuzzed_files.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/imported_job.h"
#include "tests/fuzz/problems.h"
#include "workload/tools/lint.h"
#include "workload/traces/load_job.h"
#include "workload/traces/roles.h"

// The roles and, behind a line, the trace of rank 0.
ORRERY_FUZZER(fuzz_roles, input) {
  using namespace orrery;
  using namespace orrery::fuzz;
  using namespace orrery::workload;
  static const FuzzedFolder folder;
  const std::vector<std::string_view> parts = parts_of(input, 2);
  const std::string file = folder.write("rank.roles.json", parts[0]);
  folder.write("rank.0.et", parts[1]);
  const std::string prefix = folder.path_of("rank");
  check_refusals([&] {
    const JobTraces traces = find_job_traces(prefix);
    ORRERY_ASSERT(traces.file_of_rank.size() == traces.roles.size() && traces.files.size() == 1);
    for (const std::uint32_t number : traces.file_of_rank) ORRERY_ASSERT(number < traces.files.size());
    if (traces.roles.size() > 64) return;
    Diagnostics diagnostics;
    const Job job = load_chakra_job({.prefix = prefix}, diagnostics);
    check_problems(diagnostics.problems(), file, parts[0]);
    ORRERY_ASSERT(job.ranks.size() == traces.roles.size());
    check_imported(job);
  });
  check_problems(lint_job({.prefix = prefix}).problems);
}
