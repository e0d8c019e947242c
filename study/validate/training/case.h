// A row of a table of training jobs, ready to be simulated: the experiment that it stands for, and how long one of its
// iterations was published to take.
#pragma once

#include <optional>
#include <string>

#include "core/config/tree.h"
#include "experiment/experiment.h"
#include "study/validate/training/table.h"

namespace orrery {

struct TrainingCase {
  const TrainingTable* table = nullptr;
  const TrainingRow* row = nullptr;
  Experiment experiment;  // of a model to train
  double measured = 0;    // seconds of an iteration

  SoftwareSpec& software() { return experiment.workload.training->software; }
  const SoftwareSpec& software() const { return experiment.workload.training->software; }
  Architecture architecture() const { return experiment.device.architecture; }
  std::size_t model_kind() const { return experiment.workload.training->model.sizes.index(); }
};

struct TrainingPrediction {
  double seconds = 0;  // of an iteration
  double mfu = 0;
  std::string bound;  // the largest part of the iteration
  bool fits = true;   // the devices' memory, as Orrery counts it
};

// Reads the experiment of a row. InputError, with the row as the place of what has none.
TrainingCase read_training_case(const TrainingTable& table, const TrainingRow& row, const ConfigFiles& files,
                                Diagnostics& diagnostics);

// Reads the experiments of all rows, to say what is wrong with them: what is wrong in several rows at one place only
// once.
void check_training_rows(const TrainingTable& table, const ConfigFiles& files, Diagnostics& diagnostics);

// Simulates it, whether it fits the memory or not: a published run did. InputError as above.
TrainingPrediction predict(const TrainingCase& one);

}  // namespace orrery
