// SPDX-License-Identifier: MIT
// Runs a job folded and with every rank by itself.
#pragma once

#include "tests/system/small_jobs.h"

namespace orrery::test {

// Checks that the two agree in every operation, message count and link; returns what the folded one gave. Where one is
// stuck both are, with the same report, which is thrown.
Outcome fold_and_compare(const workload::Job& job, const network::Fabric& fabric, system::SimulationOptions options,
                         const system::Simulation::NetworkFactory& network);
Outcome fold_and_compare(const workload::Job& job, const network::Fabric& fabric,
                         const system::SimulationOptions& options, system::NetworkModel model);

}  // namespace orrery::test
