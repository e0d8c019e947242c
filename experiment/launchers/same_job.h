// SPDX-License-Identifier: MIT
// Keys of jobs that have several ways to say the same: a list of layers and a layout, a name and its default.
#pragma once

#include <string_view>

#include "workload/training/spec/training_spec.h"

namespace orrery::experiment {

// True if `key`, as "workload.pipeline_layers", means the same in both jobs however it is written. False of keys that
// have one way only: their values are to be compared.
bool means_the_same(const workload::TrainingSpec& one, const workload::TrainingSpec& other, std::string_view key);

}  // namespace orrery::experiment
