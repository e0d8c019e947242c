// SPDX-License-Identifier: MIT
// From an experiment to the job that it simulates: traces that are read, or a training job that is generated.
#pragma once

#include <optional>
#include <vector>

#include "experiment/experiment.h"
#include "workload/graph/job.h"
#include "workload/traces/load_job.h"
#include "workload/training/program/generate_job.h"

namespace orrery::experiment {

// "gpt3-13b of 12.9 B parameters".
std::string model_text(const workload::ModelSpec& model);

struct ExperimentJob {
  workload::Job job;
  std::optional<workload::TrainingFacts> training;  // of a generated job
  std::vector<DeviceId> placement;                  // by rank
};

// Throws InputError for traces that are wrong, for a device that does not compute in the precision, and for more ranks
// than devices.
ExperimentJob load_experiment_job(const Experiment& experiment, Diagnostics& diagnostics,
                                  const workload::LoadProgress& progress = {},
                                  workload::Loops loops = workload::Loops::kWrittenOut);

// Throws InputError (out_of_memory), with what needs how much and what would fit, if a rank does not fit its device's
// memory. With `allowed` only warns.
void check_memory(const Experiment& experiment, bool allowed, Diagnostics& diagnostics);

}  // namespace orrery::experiment
