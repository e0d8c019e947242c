// Which send each receive from "any" rank takes: decided before anything runs, so that results do not depend on timing.
#pragma once

#include <string>

#include "core/error.h"
#include "workload/import/goal/text.h"

namespace orrery {

// Gives every such receive the rank and tag of a send that no receive by name takes. A receive that finds none is an
// error. Blocks are in the order of their ranks, one for each. Returns how many there were.
std::size_t settle_wildcards(const std::string& file, GoalSchedule& schedule, Diagnostics& diagnostics);

}  // namespace orrery
