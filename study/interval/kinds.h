// SPDX-License-Identifier: MIT
// Kinds of training jobs that are predicted about equally well.
#pragma once

#include <optional>

#include "experiment/experiment.h"
#include "study/interval/interval.h"

namespace orrery::study {

// By model ("transformer", "experts", "lora", "dlrm", ...), architecture of the devices, software.
const RunSchema& training_runs();
// Kind of a job that trains a model; empty for traces and for several jobs.
std::optional<RunKind> job_kind(const experiment::Experiment& experiment);

}  // namespace orrery::study
