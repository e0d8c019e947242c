// Training jobs as Orrery generates and simulates them, held against published iteration times: how far off, family by
// family, and which constants of the software were fitted for it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "study/validate/collectives/validate.h"
#include "study/validate/training/case.h"

namespace orrery {

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

struct ValidatedTrainingFamily {
  std::string name;
  std::string title;
  std::vector<ValidatedTrainingRow> rows;  // at least one

  TrainingErrors errors() const;
  const ValidatedTrainingRow& worst() const;
  std::vector<std::string> software() const;  // names, each once
};

// The fitted constants that one software has on one architecture of devices.
struct FittedSoftware {
  SoftwareSpec software;
  Architecture architecture = Architecture::kOther;
  std::vector<SoftwareConstant> constants;
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
                                     const ValidationProgress& progress = {});

TrainingErrors training_errors(std::span<const ValidatedTrainingRow> rows);

// `details`: every row, too, and what was assumed.
std::string training_validation_text(const TrainingValidation& validation, bool details);
// What stands under "training" in the document "orrery.validation/1".
nlohmann::ordered_json to_json(const TrainingValidation& validation);

}  // namespace orrery
