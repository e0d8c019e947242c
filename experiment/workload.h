// SPDX-License-Identifier: MIT
// The `workload` section of an experiment: traces to replay, or a model to train.
#pragma once

#include <optional>

#include "core/config/config.h"
#include "core/machine_kind.h"
#include "system/devices/device.h"
#include "workload/traces/load_job.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::experiment {

// One of the two.
struct WorkloadSource {
  workload::ChakraSource trace;
  std::optional<workload::TrainingSpec> training;
};

// `architecture`: of the cluster's `devices`.
WorkloadSource read_workload(Section& section, Architecture architecture, std::int64_t devices,
                             system::ComputeOptions& compute);

}  // namespace orrery::experiment
