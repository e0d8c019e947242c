// SPDX-License-Identifier: MIT
// What tells training jobs apart as far as how well they are predicted goes.
#pragma once

#include <optional>

#include "experiment/experiment.h"
#include "study/interval/interval.h"

namespace orrery::study {

// By model ("transformer", "experts", "lora", "dlrm", ...), architecture of the devices, software.
const RunSchema& training_runs();
// Of a job that trains a model; nothing of traces and of several jobs.
std::optional<RunKind> job_kind(const experiment::Experiment& experiment);

}  // namespace orrery::study
