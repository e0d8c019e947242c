// Matching of sends and receives: the k-th send from a to b with tag t meets b's k-th receive from a with tag t.
#pragma once

#include "workload/graph/job.h"
#include "workload/matching/disagreement.h"
#include "workload/matching/matching.h"

namespace orrery {

// One entry of the report for each (source, destination, tag) whose ends do not match.
EndLists match_transfers(const Job& job, DisagreementReport& report);

}  // namespace orrery
