// SPDX-License-Identifier: MIT
// A training job of an experiment read again with some of its keys changed, on the same cluster: as `--set` changes
// them, with the defaults that follow from the others.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "core/config/tree.h"
#include "experiment/calls/call.h"
#include "experiment/experiment.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::experiment {

class JobEditor {
 public:
  // For job `number`, which trains a model. The experiment outlives this.
  JobEditor(const Experiment& experiment, std::size_t number);

  // The job with settings below `workload`; nothing where they are wrong or cannot be together.
  std::optional<workload::TrainingSpec> with(std::span<const std::string> settings) const;

 private:
  const Experiment& experiment_;
  ConfigValue jobs_;        // `workload` or `jobs` of the experiment as they were given, in a map
  std::string path_;        // of the job's workload in it
  std::size_t number_ = 0;  // of the job
  JobMachine machine_;
};

}  // namespace orrery::experiment
