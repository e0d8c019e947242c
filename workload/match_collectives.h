// Matching of collectives: the k-th call of every member of a communicator is one operation.
#pragma once

#include <vector>

#include "workload/disagreement.h"
#include "workload/job.h"
#include "workload/matching.h"

namespace orrery {

// By GroupId, then by call index. One entry of the report for each communicator whose members disagree: its first call
// about which they do.
std::vector<std::vector<CollectiveCall>> match_collectives(const Job& job, DisagreementReport& report);

}  // namespace orrery
