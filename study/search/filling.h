// SPDX-License-Identifier: MIT
// Plans that make use of a whole cluster: of all its devices, or of as many of each node as keep groups inside nodes.
#pragma once

#include <vector>

#include "experiment/experiment.h"
#include "study/search/plan.h"

namespace orrery::study {

// True if the job has a rank for each device, or for each that packing its nodes leaves (experiment::Packing).
bool fills(const experiment::Experiment& experiment, const workload::Parallelism& parallel);

// All plans of the only job of `experiment`, which trains a model, that fill its cluster: those of all devices first.
// Packed ones are of its own number of ranks, or of nodes filled by groups of experts of which no more than a quarter
// of the devices stays idle.
std::vector<Plan> filling_plans(const experiment::Experiment& experiment, const PlanRanges& ranges);

}  // namespace orrery::study
