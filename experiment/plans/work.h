// SPDX-License-Identifier: MIT
// Estimates how long the simulation of an experiment takes: enough to tell points of a study that take milliseconds
// from those that take minutes.
#pragma once

#include "experiment/experiment.h"

namespace orrery::experiment {

// Seconds of a usual core, within a factor of a few.
double simulation_work(const Experiment& experiment);

}  // namespace orrery::experiment
