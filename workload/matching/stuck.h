// SPDX-License-Identifier: MIT
// Report of a job whose ranks wait for one another: which calls and messages wait for whom, the circle, and what would
// break it. It rests on what can go on and what cannot, not on when: so it is the same however long things take.
#pragma once

#include <optional>
#include <span>

#include "core/error.h"
#include "core/units.h"
#include "workload/graph/job.h"
#include "workload/matching/matching.h"
#include "workload/matching/order.h"

namespace orrery::workload {

// Error of a job in which `unfinished` ranks, ascending, can never finish; since when, if it is timed. It names the
// first that waits. One screen whatever the number of ranks.
StuckError stuck_error(const Job& job, const Matching& matching, const SendWaits& send_waits,
                       std::span<const RankId> unfinished, std::optional<Time> since);

}  // namespace orrery::workload
