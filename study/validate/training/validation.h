// SPDX-License-Identifier: MIT
// Training jobs as Orrery generates and simulates them, held against published iteration times: how far off, family by
// family, and which constants of the software were fitted for it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/config/tree.h"
#include "core/in_parallel.h"
#include "experiment/experiment.h"
#include "study/errors.h"
#include "study/validate/training/table.h"

namespace orrery::study {

struct TrainingCase {
  const TrainingTable* table = nullptr;
  const TrainingRow* row = nullptr;
  experiment::Experiment experiment;  // of a model to train
  double measured = 0;                // seconds of an iteration

  workload::TrainingSpec& training() { return *experiment.jobs.front().workload.training; }
  const workload::TrainingSpec& training() const { return *experiment.jobs.front().workload.training; }
  workload::SoftwareSpec& software() { return training().software; }
  const workload::SoftwareSpec& software() const { return training().software; }
  Architecture architecture() const { return system::oldest_architecture(experiment.devices); }
  std::size_t model_kind() const { return training().model.sizes.index(); }
};

struct TrainingPrediction {
  double seconds = 0;  // of an iteration
  double mfu = 0;
  std::string bound;  // the largest part of the iteration
  bool fits = true;   // the devices' memory, as Orrery counts it
  Bytes memory;       // in use on the fullest device
};

// Reads the experiment of a row. InputError, with the row as the place of what has none.
TrainingCase read_training_case(const TrainingTable& table, const TrainingRow& row, const ConfigFiles& files,
                                Diagnostics& diagnostics);

// Reads the experiments of all rows, to say what is wrong with them: what is wrong in several rows at one place only
// once.
void check_training_rows(const TrainingTable& table, const ConfigFiles& files, Diagnostics& diagnostics);

// Simulates it, whether it fits the memory or not: a published run did. InputError as above.
TrainingPrediction predict(const TrainingCase& one);

struct ValidatedTrainingRow {
  const TrainingTable* table = nullptr;
  const TrainingRow* row = nullptr;
  std::string software;  // its name
  double measured = 0;   // seconds of an iteration
  TrainingPrediction predicted;

  double error() const { return predicted.seconds / measured - 1; }  // signed
};

// Of relative errors of iteration times.
struct TrainingErrors {
  ErrorSummary absolute;
  double mean = 0;  // of absolute ones
  double signed_mean = 0;
};

TrainingErrors training_errors(std::span<const ValidatedTrainingRow> rows);

struct ValidatedTrainingFamily {
  std::string name;
  std::string title;
  std::vector<ValidatedTrainingRow> rows;  // at least one

  TrainingErrors errors() const { return training_errors(rows); }
  TrainingCollection collection() const { return rows.front().table->collection; }
  const ValidatedTrainingRow& worst() const { return worst_of(rows); }
  std::vector<std::string> software() const;  // names, each once
};

// The fitted constants that one software has on one architecture of devices.
struct FittedSoftware {
  workload::SoftwareSpec software;
  Architecture architecture = Architecture::kOther;
  std::vector<workload::SoftwareConstant> constants;
  std::size_t model_kind = 0;  // that the first of its rows trains, as the index of ModelSpec::sizes
};

struct TrainingValidation {
  std::vector<ValidatedTrainingFamily> families;
  std::vector<FittedSoftware> software;  // that scored rows ran with, by name and architecture
  std::vector<const TrainingTable*> not_scored;

  std::size_t row_count() const;
};

// Simulates every row of every scored table, several at a time. `tables` are sorted and outlive the result. InputError
// with the first row that is wrong.
TrainingValidation validate_training(std::span<const TrainingTable> tables, const ConfigFiles& files,
                                     const WorkProgress& progress = {});

// How far off the memory in use is where it was published, and which rows do not fit by Orrery's account.
std::string training_memory_text(const TrainingValidation& validation);
// `details`: every row, too, and what was assumed.
std::string training_validation_text(const TrainingValidation& validation, bool details);
// What stands under "training" in the document "orrery.validation/1".
nlohmann::ordered_json to_json(const TrainingValidation& validation);

}  // namespace orrery::study
