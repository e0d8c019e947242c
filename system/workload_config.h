// The `workload` section of an experiment: traces to replay, or a model to train.
#pragma once

#include <optional>

#include "core/config.h"
#include "core/machine_kind.h"
#include "system/compute_times.h"
#include "workload/load_job.h"
#include "workload/training/training_spec.h"

namespace orrery {

// One of the two.
struct WorkloadSource {
  ChakraSource trace;
  std::optional<TrainingSpec> training;
};

// `architecture`: of the cluster's devices.
WorkloadSource read_workload(Section& section, Architecture architecture, ComputeOptions& compute);

}  // namespace orrery
