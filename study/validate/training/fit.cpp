#include "study/validate/training/fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "study/calibrate/least_squares.h"
#include "workload/training/spec/software.h"

namespace orrery {
namespace {

// How well a family can be predicted by its own constants; the fit is not closer than that.
constexpr double kFamilyError = 0.02;
// From here on a row counts by the size of its error, not by its square.
constexpr double kFarOff = 0.05;
// How far generations of software on one architecture lie apart, as standard deviations of logarithms: products are the
// vendor's libraries' and the clock's, kernels of attention and fusion are each generation's own.
constexpr double kProductSpread = 0.1;
constexpr double kKernelSpread = 0.4;
// The same of what they lie around from the nominal value: next to nothing is known of it.
constexpr double kNominalSpread = 1;
// Shipped constants are near the fitted ones, and times are power laws only near them.
constexpr double kFarthest = 4;

constexpr double spread(SoftwareConstant constant) {
  return constant == SoftwareConstant::kGemm ? kProductSpread : kKernelSpread;
}

using Group = std::tuple<Architecture, SoftwareConstant, std::size_t>;

// Signed, so that its square is Huber's loss made smooth: the error's square near 0, twice its size far off.
double bounded(double error) {
  const double loss = 2 * kFarOff * kFarOff * (std::sqrt(1 + error * error / (kFarOff * kFarOff)) - 1);
  return std::copysign(std::sqrt(loss), error);
}

// The constants and, behind them, what the generations of each group lie around.
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
    for (const TrainingConstant& constant : constants)
      centre_.push_back(group_of({constant.architecture, constant.constant, constant.model_kind}));
  }

  std::vector<double> values() const {
    FitProblem problem;
    for (const TrainingConstant& constant : constants_)
      problem.constants.push_back({fmt::format("{}.{}", constant.software, name_of(constant.constant)),
                                   constant.shipped, constant.shipped / kFarthest, constant.shipped * kFarthest});
    for (std::size_t group = 0; group < groups_.size(); ++group) problem.constants.push_back(centre(group));
    problem.residual_count = rows_.size() + constants_.size();
    problem.residuals = [this](std::span<const double> values, std::span<double> residuals) {
      write_residuals(values, residuals);
    };
    std::vector<double> values = fit_constants(problem).values;
    values.resize(constants_.size());
    return values;
  }

 private:
  std::size_t group_of(const Group& group) { return groups_.try_emplace(group, groups_.size()).first->second; }

  FittedConstant centre(std::size_t group) const {
    const auto first = std::ranges::find(centre_, group) - centre_.begin();
    FittedConstant constant{"centre", constants_[static_cast<std::size_t>(first)].nominal};
    constant.prior = kNominalSpread;
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
  }

  std::span<const TrainingConstant> constants_;
  std::vector<const TrainingFitRow*> rows_;
  std::map<std::size_t, std::size_t> rows_of_family_;
  std::map<Group, std::size_t> groups_;
  std::vector<std::size_t> centre_;  // group by constant
};

}  // namespace

double nominal_value(const SoftwareSpec& software, SoftwareConstant constant) {
  const SoftwareSpec nominal;
  // A gradient is added to a sum: two are read, one is written.
  if (constant == SoftwareConstant::kAccumulation) return 3 * static_cast<double>(size_of(software.gradients).count());
  return value_of(nominal, Architecture::kOther, constant);
}

std::vector<double> fit_training(std::span<const TrainingConstant> constants, std::span<const TrainingFitRow> rows,
                                 std::optional<std::size_t> left_out) {
  if (constants.empty()) return {};
  return TrainingFit(constants, rows, left_out).values();
}

}  // namespace orrery
