// SPDX-License-Identifier: MIT
// Whether a job can finish at all: a simulation of it in which nothing takes time. Who waits for whom does not depend
// on times (system/stuck_report.h), so that it ends as every simulation of the job does.
#pragma once

#include "system/simulation.h"
#include "workload/graph/job.h"
#include "workload/matching/matching.h"

namespace orrery::experiment {

// Throws StuckError, with who waits for whom, when ranks are left that can never finish.
void check_order(const workload::Job& job, const workload::Matching& matching,
                 const system::SimulationProgress& progress = {});

}  // namespace orrery::experiment
