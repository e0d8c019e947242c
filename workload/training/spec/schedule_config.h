// SPDX-License-Identifier: MIT
// Keys of a pipeline: its schedule, and the layers of its stages.
#pragma once

#include "core/config/config.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::workload {

// Reads `schedule`, the order in which stages take their passes.
void read_schedule(Section& section, TrainingSpec& training);

// Reads `pipeline_layers`: a list, a layout as Megatron-Core writes it, or a rule.
void read_pipeline_layers(Section& section, TrainingSpec& training);

}  // namespace orrery::workload
