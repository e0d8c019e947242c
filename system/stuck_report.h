// SPDX-License-Identifier: MIT
// Says why a simulated job cannot go on: which collective calls and receives wait for whom, and the circle of ranks
// that wait for one another, if there is one. It rests on what can go on and what cannot, not on when: so it is the
// same however long things take.
#pragma once

#include "core/error.h"
#include "system/execution/agents.h"
#include "system/plans/plans.h"
#include "workload/graph/job.h"

namespace orrery::system {

// Error that lists which rank waits for which, from the first waiting rank and its operation on; and since when, if the
// job is timed.
StuckError stuck_error(const workload::Job& job, const CollectivePlans& plans, const Agents& agents, bool is_timed);

}  // namespace orrery::system
