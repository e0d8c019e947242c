// How much there is to count in a training job, before anything is generated: numbers that 64 bits cannot hold and
// programs that memory cannot are refused.
#pragma once

#include "core/error.h"
#include "workload/training/spec/training_spec.h"

namespace orrery {

// About how many operations the programs of all graphs have, and how many numbers ranks fill into them; an upper bound.
double operations_of(const TrainingSpec& training);

// The degrees have passed their checks, so that they make no more ranks than there are devices.
void check_training_size(const TrainingSpec& training, Diagnostics& diagnostics);

}  // namespace orrery
