// SPDX-License-Identifier: MIT
// The time of a critical path by the figures that it rests on. Each step is divided into terms that add up:
//
//   a kernel         its launch, its arithmetic and its memory traffic, by how much its time changes with each;
//                    the kernels of a rank's program stand for those that it computes on the path
//   a measured one   as far as measurements of the device's kernels decide it
//   a collective     its bytes on the slowest link, and its latency: each of NCCL's constants by how much of the time
//                    is due to it, links by the rest; waits for others on its links, as bytes there
//   a launch         the host's time for a kernel, and how many kernels there are
//
// The bubbles and waits of ranks are the steps of those that they wait for.
#pragma once

#include <span>

#include "experiment/experiment.h"
#include "experiment/job.h"
#include "report/critical_path.h"
#include "report/evidence/evidence.h"
#include "report/path_links.h"
#include "workload/training/program/generate_job.h"

namespace orrery::experiment {

// Programs of one of the jobs.
struct JobPrograms {
  std::size_t first_graph = 0;                     // among those of all jobs
  const workload::TrainingFacts* facts = nullptr;  // null of what is not generated
  bool is_measured = false;                        // computations take their measured durations
};

// `whole`: all jobs together; `programs`: of each, ascending.
report::Evidence find_evidence(const Experiment& experiment, const ExperimentJob& whole,
                               std::span<const JobPrograms> programs, const report::CriticalPath& path,
                               report::PathLinks& links);

}  // namespace orrery::experiment
