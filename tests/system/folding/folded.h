// Runs a job folded and with every rank by itself.
#pragma once

#include "tests/system/small_jobs.h"

namespace orrery::test {

// Checks that the two agree in every operation, message count and link; returns what the folded one gave.
Outcome fold_and_compare(const Job& job, const Fabric& fabric, SimulationOptions options,
                         const Simulation::NetworkFactory& network);
Outcome fold_and_compare(const Job& job, const Fabric& fabric, const SimulationOptions& options, NetworkModel model);

}  // namespace orrery::test
