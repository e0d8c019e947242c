// Matching of sends and receives: the k-th send from a to b with tag t meets b's k-th receive from a with tag t.
#pragma once

#include <vector>

#include "workload/disagreement.h"
#include "workload/job.h"
#include "workload/matching.h"

namespace orrery {

// By RankId, then by transfer index. One entry of the report for each (source, destination, tag) whose ends do not
// match.
std::vector<std::vector<TransferEnd>> match_transfers(const Job& job, DisagreementReport& report);

}  // namespace orrery
