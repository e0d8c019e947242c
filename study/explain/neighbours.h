// SPDX-License-Identifier: MIT
// Plans beside that of a generated job: a table of kinds of changes, each nothing but settings (a.b=v) of its
// experiment.
#pragma once

#include <string>
#include <vector>

#include "core/config/tree.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::study {

// A plan near that of the job.
struct Neighbour {
  std::string kind;  // "schedule": of what it changes, in the list of what was tried
  std::string name;  // "tensor 4, data 8"
  std::vector<std::string> settings;
  std::string refusal = {};  // why there is none, if so
  bool has_bound = false;    // experiment::PlanBounds of the job hold for it
};

// Neighbours of a generated job's plan, if it is the only job, each once.
std::vector<Neighbour> neighbours_of(const ConfigValue& resolved, const workload::TrainingSpec* training);

}  // namespace orrery::study
