// SPDX-License-Identifier: MIT
// Several jobs on one fabric: simulated as one job, and each by itself on the devices that it has beside the others.
#pragma once

#include <span>

#include "experiment/experiment.h"
#include "experiment/job.h"
#include "report/operation_log.h"
#include "report/result.h"
#include "system/simulation.h"

namespace orrery::experiment {

// Options of a simulation of `jobs`, all of them of the experiment.
system::SimulationOptions simulation_options(const Experiment& experiment, std::span<const ExperimentJob> jobs);

// Figures of a training job from the time that all of its iterations took. `totals` and `log` may be of several jobs,
// among whose ranks those of `job` are. `log` is null where nobody asks for bubbles and ages of weights.
report::TrainingFigures figures_of(const Experiment& experiment, const WorkloadSource& workload,
                                   const ExperimentJob& job, Duration iterations,
                                   const system::SimulationTotals& totals, const report::OperationLog* log);

// Simulates each of the jobs alone, and adds to the result what they do to one another. `totals` and `log` are of
// `whole`, all of them; without `has_passes` no bubbles and ages of weights are added.
void add_jobs(const Experiment& experiment, std::span<const ExperimentJob> jobs, const workload::Job& whole,
              const system::SimulationTotals& totals, const report::OperationLog& log, bool has_passes,
              report::Result& result, const system::SimulationProgress& progress);

}  // namespace orrery::experiment
