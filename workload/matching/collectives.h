// Matching of collectives: the k-th call of every member of a communicator is one operation.
#pragma once

#include "workload/graph/job.h"
#include "workload/matching/disagreement.h"
#include "workload/matching/matching.h"

namespace orrery {

// One entry of the report for each communicator whose members disagree: its first call about which they do.
CallLists match_collectives(const Job& job, DisagreementReport& report);

}  // namespace orrery
