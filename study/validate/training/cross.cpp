#include "study/validate/training/cross.h"

#include <algorithm>
#include <cmath>

#include "core/assert.h"
#include "study/in_parallel.h"
#include "workload/training/spec/software.h"

namespace orrery {
namespace {

// How far a constant is moved to see what it does; a byte at least.
constexpr double kStep = 1.05;

std::vector<TrainingConstant> constants_of(const TrainingValidation& validation) {
  std::vector<TrainingConstant> constants;
  for (const FittedSoftware& one : validation.software)
    for (const SoftwareConstant constant : one.constants) {
      const double shipped = value_of(one.software, one.architecture, constant);
      if (shipped > 0)
        constants.push_back({one.software.name, one.architecture, constant, shipped,
                             nominal_value(one.software, constant), one.model_kind});
    }
  return constants;
}

// Those of the software and the architecture of a job, by number.
std::vector<std::size_t> constants_of(const TrainingCase& one, std::span<const TrainingConstant> constants) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < constants.size(); ++i)
    if (constants[i].software == one.software().name && constants[i].architecture == one.architecture())
      numbers.push_back(i);
  return numbers;
}

TrainingCase case_of(const ValidatedTrainingRow& row, const ConfigFiles& files) {
  Diagnostics diagnostics;
  return read_training_case(*row.table, *row.row, files, diagnostics);
}

// d log(time) / d log(constant), by a simulation with the constant moved.
double slope_of(const ValidatedTrainingRow& row, TrainingCase& one, SoftwareConstant constant) {
  const SoftwareSpec shipped = one.software();
  const double before = value_of(shipped, one.architecture(), constant);
  const bool bytes = constant == SoftwareConstant::kAccumulation || constant == SoftwareConstant::kOptimizer;
  set_value(one.software(), one.architecture(), constant,
            bytes ? std::max(before * kStep, before + 1) : before * kStep);
  const double after = value_of(one.software(), one.architecture(), constant);
  const double moved = predict(one).seconds;
  one.software() = shipped;
  return std::log(moved / row.predicted.seconds) / std::log(after / before);
}

struct NumberedRow {
  std::size_t family = 0;
  const ValidatedTrainingRow* row = nullptr;
};

std::vector<NumberedRow> all_rows(const TrainingValidation& validation) {
  std::vector<NumberedRow> rows;
  for (std::size_t family = 0; family < validation.families.size(); ++family)
    for (const ValidatedTrainingRow& row : validation.families[family].rows) rows.push_back({family, &row});
  return rows;
}

TrainingFitRow fit_row(const NumberedRow& numbered, std::span<const TrainingConstant> constants,
                       const ConfigFiles& files) {
  const ValidatedTrainingRow& row = *numbered.row;
  TrainingCase one = case_of(row, files);
  TrainingFitRow result{numbered.family, std::log(row.predicted.seconds / row.measured), {}};
  result.fits = row.table->fit;
  for (const std::size_t number : constants_of(one, constants))
    result.slopes.emplace_back(number, slope_of(row, one, constants[number].constant));
  return result;
}

ValidatedTrainingRow predict_with(const ValidatedTrainingRow& row, std::span<const TrainingConstant> constants,
                                  std::span<const double> values, const ConfigFiles& files) {
  TrainingCase one = case_of(row, files);
  for (const std::size_t number : constants_of(one, constants))
    set_value(one.software(), one.architecture(), constants[number].constant, values[number]);
  ValidatedTrainingRow predicted = row;
  predicted.predicted = predict(one);
  return predicted;
}

}  // namespace

TrainingCross cross_validate(const TrainingValidation& validation, const ConfigFiles& files,
                             const ValidationProgress& progress) {
  TrainingCross cross;
  cross.constants = constants_of(validation);
  const std::vector<NumberedRow> numbered = all_rows(validation);
  // 1. What each constant does to each row.
  std::vector<TrainingFitRow> rows(numbered.size());
  in_parallel(
      numbered.size(), hardware_threads(),
      [&](std::size_t i) { rows[i] = fit_row(numbered[i], cross.constants, files); }, progress);
  // 2. Fits.
  cross.fitted = fit_training(cross.constants, rows);
  cross.left_out = validation.families;
  for (std::size_t family = 0; family < validation.families.size(); ++family)
    cross.without.push_back(fit_training(cross.constants, rows, family));
  // 3. What they say about the families left out.
  std::vector<ValidatedTrainingRow> predicted(numbered.size());
  in_parallel(
      numbered.size(), hardware_threads(),
      [&](std::size_t i) {
        predicted[i] = predict_with(*numbered[i].row, cross.constants, cross.without[numbered[i].family], files);
      },
      progress);
  auto next = predicted.begin();
  for (ValidatedTrainingFamily& family : cross.left_out)
    for (ValidatedTrainingRow& row : family.rows) row = std::move(*next++);
  return cross;
}

}  // namespace orrery
