// SPDX-License-Identifier: MIT
// Random training jobs of a few ranks, over all that a training section can say.
#pragma once

#include <random>

#include "workload/training/spec/training_spec.h"

namespace orrery::test {

// Small sizes; may or may not pass check_training().
workload::TrainingSpec random_training(std::mt19937_64& random);

}  // namespace orrery::test
