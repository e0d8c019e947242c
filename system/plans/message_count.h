// How many messages a job sends, before it is simulated: to refuse what would never end.
#pragma once

#include <cstdint>

#include "system/plans/plans.h"
#include "workload/graph/job.h"
#include "workload/matching/matching.h"

namespace orrery {

// In one phase of one chunk, in one chunk of one call. What a library runs as one whole is one message.
double messages_of(const PlannedPhase& phase, const CommunicatorLayout& layout);
double messages_of(const CollectivePlan& plan);
// Of all ranks, collectives and transfers, each step of each chunk.
double messages_of(const Job& job, const Matching& matching, CollectivePlans& plans);

}  // namespace orrery
