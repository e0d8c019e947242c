// SPDX-License-Identifier: MIT
// Words on software that nobody chose: the one that a job takes by the architecture of its devices.
#pragma once

#include <string>

#include "experiment/experiment.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::experiment {

// "software megatron-2022 (default on ampere): plain attention, no sequence parallelism": what of it takes memory that
// other software does not. Empty where the experiment names its software, or where it takes none.
std::string default_software_text(const Experiment& experiment, const workload::TrainingSpec& training);

}  // namespace orrery::experiment
