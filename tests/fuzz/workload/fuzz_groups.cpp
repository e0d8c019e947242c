// SPDX-License-Identifier: MIT
// Communicator groups from hostile text: as a groups file, and as PyTorch's metadata. Nothing but an InputError may
// come out, and what is accepted keeps its promises.
#include <cstdint>
#include <set>
#include <string_view>

#include "core/assert.h"
#include "core/error.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/problems.h"
#include "workload/traces/groups.h"

ORRERY_FUZZER(fuzz_groups, text) {
  using namespace orrery;
  using namespace orrery::workload;
  using namespace orrery::fuzz;

  constexpr std::uint32_t kRanks = 16;
  Diagnostics diagnostics;
  check_refusals([&] {  // text that is nested too deep
    for (const CommunicatorGroup& group : read_groups("fuzz.json", text, {"fuzz", kRanks}, diagnostics)) {
      ORRERY_ASSERT(!group.members.empty());
      std::set<RankId> members(group.members.begin(), group.members.end());
      ORRERY_ASSERT(members.size() == group.members.size());
      for (const RankId rank : members) ORRERY_ASSERT(index_of(rank) < kRanks);
    }
  });
  check_problems(diagnostics.problems(), "fuzz.json", text);
  for (const Problem& problem : diagnostics.problems())
    ORRERY_ASSERT(problem.where.line > 0 && problem.where.column > 0);

  check_refusals([&] {
    for (const ProcessGroup& group : read_process_groups({"fuzz.et", 0, 0}, "node 1", text))
      ORRERY_ASSERT(group.is_world == group.ranks.empty());
  });
}
