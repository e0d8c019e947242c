// SPDX-License-Identifier: MIT
// From an experiment to the job that it simulates: traces that are read, or a training job that is generated.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "workload/graph/job.h"
#include "workload/traces/load_job.h"
#include "workload/training/program/generate_job.h"

namespace orrery::report {
struct RooflineFigures;  // report/result.h
}

namespace orrery::experiment {

// "gpt3-13b of 12.9 B parameters".
std::string model_text(const workload::ModelSpec& model);

struct ExperimentJob {
  workload::Job job;                                // its ranks counted from 0
  std::optional<workload::TrainingFacts> training;  // of a generated job; its ranks counted over all jobs
  std::vector<DeviceId> placement;                  // by rank
  std::uint32_t first_rank = 0;                     // counted over all jobs
};

// The job of a call, traces or profiles, on no device yet. Throws InputError for those that are wrong.
// `experiment`: on whose cluster its ranks must find room; what says so by itself is refused before it is made.
workload::Job load_replay(const Experiment& experiment, const WorkloadSource& source, Diagnostics& diagnostics,
                          const workload::LoadProgress& progress = {});

// The device of each rank of an experiment whose only job is a call. InputError as place_ranks().
std::vector<DeviceId> devices_of_call(const Experiment& experiment);

// The jobs of an experiment, each as if it were alone, on the devices that it has beside the others.
// Throws InputError for traces that are wrong, for a device that does not compute in the precision, and for more ranks
// than devices.
std::vector<ExperimentJob> load_experiment_jobs(const Experiment& experiment, Diagnostics& diagnostics,
                                                const workload::LoadProgress& progress = {},
                                                workload::Loops loops = workload::Loops::kWrittenOut);

// All of them as one job; an only one is moved from. Of several, `training` is there if all are generated, and says how
// much memory their ranks need, but nothing that is of each job by itself.
ExperimentJob together(const Experiment& experiment, std::vector<ExperimentJob>& jobs);

// Both.
ExperimentJob load_experiment_job(const Experiment& experiment, Diagnostics& diagnostics);

// Shares of the peaks that traces are computed at by the roofline, by type of device. `compute`: by graph.
std::vector<report::RooflineFigures> roofline_figures(const Experiment& experiment, const ExperimentJob& whole,
                                                      std::span<const system::ComputeOptions> compute);

// Throws InputError (out_of_memory), with what needs how much and what would fit, if a rank of a job does not fit its
// device's memory. With `allowed` only warns, and is false. Warns of what fits, but may run out with what libraries and
// the allocator take.
bool check_memory(const Experiment& experiment, bool allowed, Diagnostics& diagnostics);

}  // namespace orrery::experiment
