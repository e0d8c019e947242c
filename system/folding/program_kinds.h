// Which messages of one rank's program in a schedule do the same for it, so that nothing but their other ends can tell
// them apart: sends that start together, receives that are only ever waited for together.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/schedule.h"

namespace orrery {

struct ProgramKinds {
  std::vector<std::uint32_t> sends;     // by index: the first send of the kind
  std::vector<std::uint32_t> receives;  // by slot: the first receive of the kind
  std::uint64_t hash = 0;               // of what waits for what: equal for ranks whose programs are alike
};

// In a uniform ring (Schedule::is_uniform_ring) every send and every receive is of kind 0: what holds for one step
// holds for all.
ProgramKinds program_kinds(const Schedule& schedule, std::uint32_t rank);

}  // namespace orrery
