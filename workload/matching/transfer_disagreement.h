// What is said of two ranks whose sends and receives do not meet.
#pragma once

#include <span>

#include "core/ids.h"
#include "workload/graph/job.h"
#include "workload/matching/disagreement.h"
#include "workload/matching/transfer_sides.h"

namespace orrery {

// One entry of the report for each tag, ascending, whose ends do not match. `sends`: all from source to destination;
// `receives`: all of destination from source.
void report_disagreement(const Job& job, RankId source, std::span<const MessageEnd> sends, RankId destination,
                         std::span<const MessageEnd> receives, DisagreementReport& report);

}  // namespace orrery
