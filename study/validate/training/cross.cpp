// SPDX-License-Identifier: MIT
#include "study/validate/training/cross.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/assert.h"
#include "core/in_parallel.h"
#include "study/fit/least_squares.h"
#include "study/interval/kinds.h"
#include "workload/training/spec/software.h"

namespace orrery::study {
namespace {

// How far families lie off that are predicted by constants fitted to others: mean error of those of both collections.
// A fit that trusts a family more takes over what is that family's own.
constexpr double kFamilyError = 0.05;
// From here on a row counts by the size of its error, not by its square.
constexpr double kFarOff = 0.05;
// How far generations of software on one architecture lie apart, as standard deviations of logarithms: products are the
// vendor's libraries' and the clock's (0.06 among the shipped on Ampere, 0.08 on Hopper), kernels of attention and
// fusion are each generation's own.
constexpr double kProductSpread = 0.07;
constexpr double kKernelSpread = 0.4;
// The same of products on architectures around one another (0.15 among the shipped); of other kernels, and of all
// around the nominal value, next to nothing is known.
constexpr double kArchitectureSpread = 0.15;
constexpr double kNominalSpread = 1;
// Shipped constants are near the fitted ones, and times are power laws only near them.
constexpr double kFarthest = 4;

constexpr bool is_of_products(workload::SoftwareConstant constant) {
  return constant == workload::SoftwareConstant::kGemm || constant == workload::SoftwareConstant::kFp8;
}

constexpr double spread(workload::SoftwareConstant constant) {
  return is_of_products(constant) ? kProductSpread : kKernelSpread;
}

// Constants of one name for one kind of model: on one architecture, and on all.
using Group = std::tuple<Architecture, workload::SoftwareConstant, std::size_t>;
using Kind = std::pair<workload::SoftwareConstant, std::size_t>;

// Signed, so that its square is Huber's loss made smooth: the error's square near 0, twice its size far off.
double bounded(double error) {
  const double loss = 2 * kFarOff * kFarOff * (std::sqrt(1 + error * error / (kFarOff * kFarOff)) - 1);
  return std::copysign(std::sqrt(loss), error);
}

// The constants; behind them what the generations of each group lie around; and behind those what the groups of each
// kind lie around.
class TrainingFit {
 public:
  TrainingFit(std::span<const TrainingConstant> constants, std::span<const TrainingFitRow> rows,
              std::optional<std::size_t> left_out)
      : constants_(constants) {
    for (const TrainingFitRow& row : rows) {
      if (row.family == left_out || !row.fits) continue;
      rows_.push_back(&row);
      ++rows_of_family_[row.family];
    }
    std::map<Group, std::size_t> groups;
    std::map<Kind, std::size_t> kinds;
    for (std::size_t i = 0; i < constants.size(); ++i) {
      const TrainingConstant& one = constants[i];
      const std::size_t before = first_of_group_.size();
      centre_.push_back(number_of(groups, Group(one.architecture, one.constant, one.model_kind), i, first_of_group_));
      const std::size_t kind = number_of(kinds, Kind(one.constant, one.model_kind), i, first_of_kind_);
      if (first_of_group_.size() > before) kind_of_group_.push_back(kind);
    }
  }

  std::vector<double> values() const {
    FitProblem problem;
    for (const TrainingConstant& constant : constants_)
      problem.constants.push_back({fmt::format("{}.{}", constant.software, workload::name_of(constant.constant)),
                                   constant.shipped, constant.shipped / kFarthest, constant.shipped * kFarthest});
    for (const std::size_t group : first_of_group_) problem.constants.push_back(centre(group, 0));
    for (const std::size_t kind : first_of_kind_) problem.constants.push_back(centre(kind, kNominalSpread));
    problem.residual_count = rows_.size() + constants_.size() + first_of_group_.size();
    problem.residuals = [this](std::span<const double> values, std::span<double> residuals) {
      write_residuals(values, residuals);
    };
    std::vector<double> values = fit_constants(problem).values;
    values.resize(constants_.size());
    return values;
  }

 private:
  // The number of a key, which `first` gets the first constant of.
  template <class Key>
  static std::size_t number_of(std::map<Key, std::size_t>& known, const Key& key, std::size_t constant,
                               std::vector<std::size_t>& first) {
    const auto [number, added] = known.try_emplace(key, known.size());
    if (added) first.push_back(constant);
    return number->second;
  }

  FittedConstant centre(std::size_t first, double prior) const {
    FittedConstant constant{"centre", constants_[first].nominal};
    constant.prior = prior;
    return constant;
  }

  void write_residuals(std::span<const double> values, std::span<double> residuals) const {
    std::vector<double> moved;
    for (std::size_t i = 0; i < constants_.size(); ++i) moved.push_back(std::log(values[i] / constants_[i].shipped));
    std::size_t next = 0;
    for (const TrainingFitRow* row : rows_) {
      double error = row->log_error;
      for (const auto& [constant, slope] : row->slopes) error += slope * moved[constant];
      const double weight = 1 / std::sqrt(static_cast<double>(rows_of_family_.at(row->family)));
      residuals[next++] = weight * bounded(error) / kFamilyError;
    }
    for (std::size_t i = 0; i < constants_.size(); ++i)
      residuals[next++] = std::log(values[i] / values[constants_.size() + centre_[i]]) / spread(constants_[i].constant);
    const std::span<const double> centres = values.subspan(constants_.size());
    for (std::size_t group = 0; group < kind_of_group_.size(); ++group)
      residuals[next++] =
          std::log(centres[group] / centres[kind_of_group_.size() + kind_of_group_[group]]) /
          (is_of_products(constants_[first_of_group_[group]].constant) ? kArchitectureSpread : kNominalSpread);
  }

  std::span<const TrainingConstant> constants_;
  std::vector<const TrainingFitRow*> rows_;
  std::map<std::size_t, std::size_t> rows_of_family_;
  std::vector<std::size_t> centre_;          // group by constant
  std::vector<std::size_t> first_of_group_;  // constant by group
  std::vector<std::size_t> first_of_kind_;   // constant by kind
  std::vector<std::size_t> kind_of_group_;
};

// Microseconds: some hundred launches of 7 us each, which a device does not wait for all the time.
constexpr double kNominalExpertHost = 500;

// What a constant is worth before it is fitted: nothing lost, and of bytes what the operation reads and writes at
// least.
double nominal_value(const workload::SoftwareSpec& software, workload::SoftwareConstant constant) {
  const workload::SoftwareSpec nominal;
  // A gradient is added to a sum: two are read, one is written.
  if (constant == workload::SoftwareConstant::kAccumulation)
    return 3 * static_cast<double>(size_of(software.gradients).count());
  if (constant == workload::SoftwareConstant::kExpertHost) return kNominalExpertHost;
  return workload::value_of(nominal, Architecture::kOther, constant);
}

// How far a constant is moved to see what it does; a byte at least.
constexpr double kStep = 1.05;

std::vector<TrainingConstant> constants_of(const TrainingValidation& validation) {
  std::vector<TrainingConstant> constants;
  for (const FittedSoftware& one : validation.software)
    for (const workload::SoftwareConstant constant : one.constants) {
      const double shipped = workload::value_of(one.software, one.architecture, constant);
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
double slope_of(const ValidatedTrainingRow& row, TrainingCase& one, workload::SoftwareConstant constant) {
  const workload::SoftwareSpec shipped = one.software();
  const double before = workload::value_of(shipped, one.architecture(), constant);
  const bool bytes =
      constant == workload::SoftwareConstant::kAccumulation || constant == workload::SoftwareConstant::kOptimizer;
  workload::set_value(one.software(), one.architecture(), constant,
                      bytes ? std::max(before * kStep, before + 1) : before * kStep);
  const double after = workload::value_of(one.software(), one.architecture(), constant);
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

// By row: the first of those that one simulation tells the time of. Some jobs were measured several times.
std::vector<std::size_t> first_alike(std::span<const NumberedRow> rows) {
  std::map<std::pair<const TrainingTable*, std::string>, std::size_t> known;
  std::vector<std::size_t> first;
  for (const NumberedRow& numbered : rows)
    first.push_back(
        known.try_emplace({numbered.row->table, to_json(numbered.row->row->experiment).dump()}, first.size())
            .first->second);
  return first;
}

// Those of which first_alike() is themselves.
std::vector<std::size_t> each_once(std::span<const std::size_t> first) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < first.size(); ++i)
    if (first[i] == i) rows.push_back(i);
  return rows;
}

std::vector<std::pair<std::size_t, double>> slopes_of(const ValidatedTrainingRow& row,
                                                      std::span<const TrainingConstant> constants,
                                                      const ConfigFiles& files) {
  std::vector<std::pair<std::size_t, double>> slopes;
  if (!row.table->fit) return slopes;
  TrainingCase one = case_of(row, files);
  for (const std::size_t number : constants_of(one, constants))
    slopes.emplace_back(number, slope_of(row, one, constants[number].constant));
  return slopes;
}

TrainingPrediction predict_with(const ValidatedTrainingRow& row, std::span<const TrainingConstant> constants,
                                std::span<const double> values, const ConfigFiles& files) {
  TrainingCase one = case_of(row, files);
  for (const std::size_t number : constants_of(one, constants))
    workload::set_value(one.software(), one.architecture(), constants[number].constant, values[number]);
  return predict(one);
}

}  // namespace

TrainingCross cross_validate(const TrainingValidation& validation, const ConfigFiles& files,
                             const WorkProgress& progress) {
  TrainingCross cross;
  cross.constants = constants_of(validation);
  const std::vector<NumberedRow> numbered = all_rows(validation);
  const std::vector<std::size_t> first = first_alike(numbered), distinct = each_once(first);
  // 1. What each constant does to each row.
  std::vector<std::vector<std::pair<std::size_t, double>>> slopes(numbered.size());
  in_parallel(
      distinct.size(), hardware_threads(),
      [&](std::size_t i) { slopes[distinct[i]] = slopes_of(*numbered[distinct[i]].row, cross.constants, files); },
      progress);
  std::vector<TrainingFitRow> rows;
  for (std::size_t i = 0; i < numbered.size(); ++i) {
    const ValidatedTrainingRow& row = *numbered[i].row;
    rows.push_back(
        {numbered[i].family, std::log(row.predicted.seconds / row.measured), slopes[first[i]], row.table->fit});
  }
  // 2. Fits.
  cross.fitted = fit_training(cross.constants, rows);
  cross.left_out = validation.families;
  cross.without.resize(validation.families.size());
  in_parallel(cross.without.size(), hardware_threads(),
              [&](std::size_t family) { cross.without[family] = fit_training(cross.constants, rows, family); });
  // 3. What they say about the families left out.
  std::vector<TrainingPrediction> predicted(numbered.size());
  in_parallel(
      distinct.size(), hardware_threads(),
      [&](std::size_t i) {
        const auto& [family, row] = numbered[distinct[i]];
        predicted[distinct[i]] = predict_with(*row, cross.constants, cross.without[family], files);
      },
      progress);
  auto next = first.begin();
  for (ValidatedTrainingFamily& family : cross.left_out)
    for (ValidatedTrainingRow& row : family.rows) row.predicted = predicted[*next++];
  return cross;
}

std::vector<MeasuredError> errors_of(const TrainingCross& cross, const ConfigFiles& files) {
  std::vector<MeasuredError> errors;
  for (const ValidatedTrainingFamily& family : cross.left_out)
    for (const ValidatedTrainingRow& row : family.rows)
      errors.push_back(
          {family.name, job_kind(case_of(row, files).experiment).value(), row.measured / row.predicted.seconds - 1});
  return errors;
}

std::vector<double> fit_training(std::span<const TrainingConstant> constants, std::span<const TrainingFitRow> rows,
                                 std::optional<std::size_t> left_out) {
  if (constants.empty()) return {};
  return TrainingFit(constants, rows, left_out).values();
}

}  // namespace orrery::study
