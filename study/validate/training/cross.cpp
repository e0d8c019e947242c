// SPDX-License-Identifier: MIT
#include "study/validate/training/cross.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/files/json.h"
#include "core/in_parallel.h"
#include "study/fit/least_squares.h"
#include "study/interval/kinds.h"
#include "workload/training/spec/software.h"

namespace orrery::study {
namespace {

// Error of families predicted by constants fitted to others: the mean over the collections. A fit that trusts a family
// more takes over what is that family's own.
constexpr double kFamilyError = 0.05;
// From here on a row counts by the size of its error, not by its square.
constexpr double kFarOff = 0.05;
// Spread among generations of software on one architecture, as standard deviations of logarithms: products are the
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
  return constant == workload::SoftwareConstant::kGemm || constant == workload::SoftwareConstant::kBf16 ||
         constant == workload::SoftwareConstant::kFp8;
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

// Value of a constant before it is fitted: nothing lost, and the bytes that the operation reads and writes at least.
double nominal_value(const workload::SoftwareSpec& software, workload::SoftwareConstant constant) {
  const workload::SoftwareSpec nominal;
  // A gradient is added to a sum: two are read, one is written.
  if (constant == workload::SoftwareConstant::kAccumulation)
    return 3 * static_cast<double>(size_of(software.gradients).count());
  return workload::value_of(nominal, Architecture::kOther, constant);
}

// Change of a constant by which its effect is probed; a byte at least.
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

// Constants of the software and the architecture of a job, by number.
std::vector<std::size_t> constants_of(const TrainingCase& one, std::span<const TrainingConstant> constants) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < constants.size(); ++i)
    if (constants[i].software == one.software().name && constants[i].architecture == one.architecture())
      numbers.push_back(i);
  return numbers;
}

// d log(time) / d log(constant), by a simulation with the constant moved.
double slope_of(const Measured& row, TrainingCase& one, workload::SoftwareConstant constant) {
  const workload::SoftwareSpec shipped = one.software();
  const double before = workload::value_of(shipped, one.architecture(), constant);
  const bool bytes =
      constant == workload::SoftwareConstant::kAccumulation || constant == workload::SoftwareConstant::kOptimizer;
  workload::set_value(one.software(), one.architecture(), constant,
                      bytes ? std::max(before * kStep, before + 1) : before * kStep);
  const double after = workload::value_of(one.software(), one.architecture(), constant);
  const double moved = predict(one).seconds;
  one.software() = shipped;
  return std::log(moved / row.predicted) / std::log(after / before);
}

using Slopes = std::vector<std::pair<std::size_t, double>>;

Slopes slopes_of(const Measured& row, std::span<const TrainingConstant> constants, const ConfigFiles& files) {
  Slopes slopes;
  if (!table_of<TrainingTable>(row).fit) return slopes;
  Diagnostics diagnostics;
  TrainingCase one = read_training_case(row, files, diagnostics);
  for (const std::size_t number : constants_of(one, constants))
    slopes.emplace_back(number, slope_of(row, one, constants[number].constant));
  return slopes;
}

Prediction predict_with(const Measured& row, std::span<const TrainingConstant> constants,
                        std::span<const double> values, const ConfigFiles& files) {
  Diagnostics diagnostics;
  TrainingCase one = read_training_case(row, files, diagnostics);
  for (const std::size_t number : constants_of(one, constants))
    workload::set_value(one.software(), one.architecture(), constants[number].constant, values[number]);
  Prediction prediction = predict(one);
  prediction.measured.reset();  // of the first of several that are alike
  return prediction;
}

// One simulation tells the time of a job that was measured several times.
MeasuredRows with_alike_rows(MeasuredRows rows) {
  for (Measured& row : rows)
    row.same = fmt::format("{}: {}", row.table->name,
                           dump_json(to_json(table_of<TrainingTable>(row).rows[row.number].experiment)));
  return rows;
}

// The slopes of every row by the constants, each job simulated once.
std::vector<Slopes> all_slopes(const MeasuredRows& rows, std::span<const TrainingConstant> constants,
                               const ConfigFiles& files, const WorkProgress& progress) {
  const std::vector<std::size_t> first = first_alike(rows), distinct = each_once(first);
  std::vector<Slopes> slopes(rows.size());
  in_parallel(
      distinct.size(), hardware_threads(),
      [&](std::size_t i) { slopes[distinct[i]] = slopes_of(rows[distinct[i]], constants, files); }, progress);
  for (std::size_t i = 0; i < rows.size(); ++i) slopes[i] = slopes[first[i]];
  return slopes;
}

}  // namespace

TrainingCross cross_validate(const TrainingValidation& validation, const ConfigFiles& files,
                             const WorkProgress& progress) {
  TrainingCross cross;
  cross.constants = constants_of(validation);
  const std::vector<MeasuredGroup> families = training_families(validation.rows);
  MeasuredRows measured;
  std::map<std::string, std::size_t> numbers;
  for (const MeasuredGroup& family : families) {
    numbers.emplace(family.name, numbers.size());
    measured.insert(measured.end(), family.rows.begin(), family.rows.end());
  }
  measured = with_alike_rows(std::move(measured));
  const std::vector<Slopes> slopes = all_slopes(measured, cross.constants, files, progress);
  std::vector<TrainingFitRow> rows;
  for (std::size_t i = 0; i < measured.size(); ++i)
    rows.push_back({numbers.at(measured[i].family), std::log(measured[i].predicted / measured[i].measured), slopes[i],
                    table_of<TrainingTable>(measured[i]).fit});
  cross.fitted = fit_training(cross.constants, rows);
  cross.left_out = leave_one_out<std::vector<double>>(
      measured, [](const Measured& row) { return row.family; },
      [&](const std::string& without) { return fit_training(cross.constants, rows, numbers.at(without)); },
      [&](std::size_t i, const std::vector<double>& values) {
        return predict_with(measured[i], cross.constants, values, files);
      },
      {}, progress);
  return cross;
}

std::vector<MeasuredError> errors_of(const TrainingCross& cross, const ConfigFiles& files) {
  std::vector<MeasuredError> errors;
  for (const Measured& row : cross.left_out.rows) {
    Diagnostics diagnostics;
    const experiment::Experiment experiment = read_training_case(row, files, diagnostics).experiment;
    errors.push_back({row.family, job_kind(experiment).value(), row.measured / row.predicted - 1,
                      MeasuredRun{row.label, job_shape(experiment), row.measured}});
  }
  return errors;
}

std::vector<double> fit_training(std::span<const TrainingConstant> constants, std::span<const TrainingFitRow> rows,
                                 std::optional<std::size_t> left_out) {
  if (constants.empty()) return {};
  return TrainingFit(constants, rows, left_out).values();
}

Validated validate_jobs(const ValidationRequest& request) {
  const std::vector<TrainingTable> tables = tables_of<TrainingTable>(request);
  const TrainingValidation validation = validate_training(tables, request.files, request.points);
  Validated answer{
      training_validation_text(validation, request.details), to_json(validation),
      AccuracySection{"training", "Training: time of an iteration", "runs", training_families(validation.rows)}};
  if (!request.cross) return answer;
  const TrainingCross cross =
      cross_validate(validation, request.files, request.progress_of("jobs with other constants"));
  const std::vector<MeasuredError> errors = errors_of(cross, request.files);
  const Coverage covered = coverage(errors, training_runs());
  answer.text += training_cross_text(validation, cross, covered);
  answer.document["cross"] = to_json(cross, covered);
  answer.errors_csv = errors_csv(errors, training_runs());
  return answer;
}

}  // namespace orrery::study
