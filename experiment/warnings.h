// SPDX-License-Identifier: MIT
// Warnings of keys and traces that have no effect in a job, or another one than the configuration suggests.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/ids.h"
#include "experiment/experiment.h"
#include "report/result.h"
#include "system/plans/plans.h"
#include "workload/graph/job.h"
#include "workload/matching/matching.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::experiment {

// Values of one key by which a job takes equally long, though the key is not idle, and why.
struct AlikeValues {
  std::string path;                 // "workload.recompute"
  std::vector<std::string> values;  // as configurations have them; all that there are, if empty
  std::string reason;
};
std::vector<AlikeValues> alike_values(const workload::TrainingSpec& training);

// Warns of what is known before the simulation. `placement`: the device of each rank of `job`; `compute`: by graph.
void warn_before_run(const Experiment& experiment, const workload::Job& job, const workload::Matching& matching,
                     std::span<const DeviceId> placement, std::span<const system::ComputeOptions> compute,
                     Diagnostics& diagnostics);

// Warns where `dimension_order: themis` has kept the order of the dimensions in every collective of the run.
void warn_after_run(const Experiment& experiment, const system::CollectivePlans& plans, Diagnostics& diagnostics);

// Warns of perturbed links of classes that no message crossed. `links`: of the result of the run.
void warn_of_unused_links(const Experiment& experiment, std::span<const report::LinkClassUse> links,
                          Diagnostics& diagnostics);

}  // namespace orrery::experiment
