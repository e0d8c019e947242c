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
#include "study/validate/measured/kind.h"
#include "study/validate/measured/measured.h"
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

// Reads the experiment of a row of a training table. InputError, with the row as the place of what has none.
TrainingCase read_training_case(const TrainingTable& table, const TrainingRow& row, const ConfigFiles& files,
                                Diagnostics& diagnostics);
TrainingCase read_training_case(const Measured& row, const ConfigFiles& files, Diagnostics& diagnostics);

// Reads the experiments of all rows, to say what is wrong with them: what is wrong in several rows at one place only
// once.
void check_training_rows(const TrainingTable& table, const ConfigFiles& files, Diagnostics& diagnostics);

// Simulates it, whether it fits the memory or not: a published run did. Its facts: "software" and "architecture" that
// it ran with, "mfu", "bound_by" (the largest part of the critical path), "fits_memory" (as Orrery counts it), and
// "measured_memory_bytes" and "predicted_memory_bytes" of the fullest device where memory was published. InputError as
// above.
Prediction predict(const TrainingCase& one, const experiment::RunProgress& progress = {});

// The rows of families together, those of the first collection first; a group is a family.
std::vector<MeasuredGroup> training_families(const MeasuredRows& rows);
const TrainingTable& table_of(const MeasuredGroup& family);
// The names of the software that they ran with, each once.
std::vector<std::string> software_of(const MeasuredGroup& family);

// The fitted constants that one software has on one architecture of devices.
struct FittedSoftware {
  workload::SoftwareSpec software;
  Architecture architecture = Architecture::kOther;
  std::vector<workload::SoftwareConstant> constants;
  std::size_t model_kind = 0;  // that the first of its rows trains, as the index of ModelSpec::sizes
};

struct TrainingValidation {
  MeasuredRows rows;                     // of scored tables, in their order
  MeasuredRows at_rest, at_peak;         // of all tables: bytes in place of seconds, where a framework's were published
  std::vector<FittedSoftware> software;  // that scored rows ran with, by name and architecture
  std::vector<const MeasuredTable*> not_scored;
};

// Simulates every row of every scored table, several at a time. `tables` are sorted and outlive the result. InputError
// with the first row that is wrong.
TrainingValidation validate_training(std::span<const TrainingTable> tables, const ConfigFiles& files,
                                     Points* points = nullptr);

Validated validate_jobs(const ValidationRequest& request);
void check_training_table(const std::string& file, const std::vector<std::string>& settings, const ConfigFiles& files,
                          Diagnostics& diagnostics);

// Text on the memory in use where it was published: the errors, and the rows that do not fit by Orrery's account.
std::string training_memory_text(const TrainingValidation& validation, bool details);
// `details`: every row, too, and what was assumed.
std::string training_validation_text(const TrainingValidation& validation, bool details);
// Member "training" of the document "orrery.validation/1".
nlohmann::ordered_json to_json(const TrainingValidation& validation);

}  // namespace orrery::study
