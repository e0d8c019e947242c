// SPDX-License-Identifier: MIT
#include "study/calibrate/steps/step_fit.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/config/number_text.h"
#include "study/fit/least_squares.h"

namespace orrery::study {
namespace {

// A constant is determined if the steps tell it this many times better than what was known before.
constexpr double kMuchBetter = 2;
// Steps depend on a constant if twice its value changes one of them by more than 0.1 %.
constexpr double kNoSlope = 0.0015;
// Residuals beyond so many errors count by their size, and no farther than kFarOff tell the error of a step.
constexpr double kLoss = 3, kFarOff = 0.2;
constexpr int kMostRounds = 6;
constexpr double kSmallMove = 0.003;

double length_of(const std::vector<double>& column) {
  return std::sqrt(std::inner_product(column.begin(), column.end(), column.begin(), 0.0));
}

class Fitter {
 public:
  Fitter(const StepModel& model, std::span<const MeasuredStep> steps, std::span<const std::size_t> numbers,
         std::span<const double> predicted, const std::vector<std::vector<double>>& slopes)
      : model_(model), steps_(steps), numbers_(numbers.begin(), numbers.end()) {
    std::set<std::size_t> jobs;
    for (const std::size_t step : numbers_) {
      predicted_.push_back(predicted[step]);
      jobs.insert(model.first_alike()[step]);
    }
    jobs_ = jobs.size();
    columns_ = of_steps(slopes);
    fit_.factors.assign(columns_.size(), 1);
    fit_.determined.assign(columns_.size(), false);
    fit_.errors.assign(columns_.size(), 0);
    fit_.stays.resize(columns_.size());
    fit_.stands_for.resize(columns_.size());
  }

  StepFit fit() && {
    choose();
    refine();
    // The steps tell their own error now, by which some may turn out not to be determined.
    const std::vector<std::size_t> before = chosen_;
    choose();
    if (chosen_ != before) {
      std::ranges::fill(fit_.factors, 1.0);
      predicted_ = of_steps(model_.seconds(fit_.factors));
      refine();
    }
    finish();
    return std::move(fit_);
  }

 private:
  std::vector<double> of_steps(const std::vector<double>& all) const {
    std::vector<double> some;
    for (const std::size_t step : numbers_) some.push_back(all[step]);
    return some;
  }
  std::vector<std::vector<double>> of_steps(const std::vector<std::vector<double>>& all) const {
    std::vector<std::vector<double>> some;
    for (const std::vector<double>& column : all) some.push_back(of_steps(column));
    return some;
  }

  double spread(std::size_t constant) const { return model_.constants()[constant].spread; }
  double error(std::size_t i) const { return std::log(predicted_[i] / steps_[numbers_[i]].seconds); }

  // Constants that show most come first; one more is taken as long as all that are taken stay well determined.
  void choose() {
    std::vector<std::size_t> order(columns_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](std::size_t c) { return std::round(1e6 * spread(c) * length_of(columns_[c])); });
    chosen_.clear();
    for (const std::size_t c : order) {
      if (chosen_.size() + 1 >= jobs_) break;
      std::vector<std::size_t> more = chosen_;
      more.push_back(c);
      if (are_determined(more)) chosen_ = std::move(more);
    }
  }

  bool are_determined(const std::vector<std::size_t>& constants) const {
    std::vector<std::vector<double>> columns;
    for (const std::size_t c : constants) {
      if (length_of(columns_[c]) * spread(c) < kMuchBetter * fit_.step_error) return false;
      columns.push_back(columns_[c]);
    }
    // marginal_errors() takes columns that can be told apart.
    if (independent_columns(columns, 0.02).kept.size() < columns.size()) return false;
    const std::vector<double> errors = marginal_errors(columns, columns.size(), fit_.step_error, 1);
    for (std::size_t i = 0; i < constants.size(); ++i)
      if (!(errors[i] * kMuchBetter < spread(constants[i]))) return false;
    return true;
  }

  // Solves the problem with power laws, which hold near by, and simulates again, until nothing moves.
  void refine() {
    std::vector<std::vector<double>> slopes = columns_;
    for (int round = 0; round < kMostRounds && !chosen_.empty(); ++round) {
      const std::vector<double> before = fit_.factors;
      solve(slopes);
      double moved = 0;
      for (const std::size_t c : chosen_) moved = std::max(moved, std::abs(std::log(fit_.factors[c] / before[c])));
      predicted_ = of_steps(model_.seconds(fit_.factors));
      if (moved < kSmallMove) break;
      if (round < 2) slopes = of_steps(model_.slopes(fit_.factors, chosen_));
    }
    tell_error();
  }

  void solve(const std::vector<std::vector<double>>& slopes) {
    FitProblem problem;
    std::vector<double> here;
    for (const std::size_t c : chosen_) {
      const StepConstant& constant = model_.constants()[c];
      problem.constants.push_back({constant.key(), 1, constant.least, constant.most, constant.spread});
      here.push_back(fit_.factors[c]);
    }
    problem.from = here;
    problem.residual_count = numbers_.size();
    problem.loss_scale = kLoss;
    problem.residuals = [&](std::span<const double> factors, std::span<double> residuals) {
      for (std::size_t i = 0; i < residuals.size(); ++i) {
        residuals[i] = error(i);
        for (std::size_t k = 0; k < chosen_.size(); ++k)
          residuals[i] += slopes[chosen_[k]][i] * std::log(factors[k] / here[k]);
        residuals[i] /= fit_.step_error;
      }
    };
    const std::vector<double> values = fit_constants(problem).values;
    for (std::size_t k = 0; k < chosen_.size(); ++k) fit_.factors[chosen_[k]] = values[k];
  }

  void tell_error() {
    double sum = kStepErrorSteps * kStepError * kStepError;
    for (std::size_t i = 0; i < numbers_.size(); ++i) sum += std::pow(std::clamp(error(i), -kFarOff, kFarOff), 2);
    fit_.freedom =
        std::max(1.0, kStepErrorSteps + static_cast<double>(numbers_.size()) - static_cast<double>(chosen_.size()));
    fit_.step_error = std::sqrt(sum / fit_.freedom);
  }

  // Errors of the chosen, the others being known as well as before the fit, and why these stay. What no step tells from
  // a chosen one is part of it: the error is that of both together.
  void finish() {
    std::vector<std::size_t> held;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (std::ranges::find(chosen_, c) != chosen_.end()) continue;
      explain(c);
      if (!is_twin(c)) held.push_back(c);
    }
    if (chosen_.empty()) return;
    const std::vector<std::vector<double>> slopes = of_steps(model_.slopes(fit_.factors, chosen_));
    const std::vector<std::vector<double>> reaches = of_steps(model_.reaches(fit_.factors, held));
    std::vector<std::vector<double>> columns;
    for (const std::size_t c : chosen_) columns.push_back(slopes[c]);
    for (const std::size_t c : held) columns.push_back(reaches[c]);
    const std::vector<double> errors = marginal_errors(columns, chosen_.size(), fit_.step_error, 1);
    for (std::size_t k = 0; k < chosen_.size(); ++k) {
      fit_.determined[chosen_[k]] = true;
      fit_.errors[chosen_[k]] = errors[k];
    }
  }

  void explain(std::size_t c) {
    double most = 0;
    for (const double slope : columns_[c]) most = std::max(most, std::abs(slope));
    const std::string share = percent(std::exp2(most) - 1);
    if (most < kNoSlope) {
      fit_.stays[c] = "no step depends on it";
    } else if (length_of(columns_[c]) * spread(c) < kMuchBetter * fit_.step_error) {
      fit_.stays[c] = fmt::format("shows too little: twice as much changes no step by more than {}", share);
    } else if (const std::vector<std::size_t> like = combined_of(c); !like.empty()) {
      std::string names;
      for (std::size_t i = 0; i < std::min<std::size_t>(like.size(), 2); ++i) {
        names += (i == 0 ? "" : " and ") + model_.constants()[like[i]].key();
        fit_.stands_for[like[i]].push_back(model_.constants()[c].key());
      }
      fit_.stays[c] = "acts as " + names;
    } else {
      fit_.stays[c] = "too few different steps";
    }
  }

  // Cosine of the angle between the columns of two constants.
  double likeness(std::size_t one, std::size_t other) const {
    const std::vector<double>&a = columns_[one], &b = columns_[other];
    const double lengths = length_of(a) * length_of(b);
    return lengths > 0 ? std::abs(std::inner_product(a.begin(), a.end(), b.begin(), 0.0)) / lengths : 0;
  }

  bool is_twin(std::size_t c) const {
    constexpr double kSame = 0.999;
    return std::ranges::any_of(chosen_, [&](std::size_t one) { return likeness(one, c) > kSame; });
  }

  // The chosen constants that change the steps as this one does, the most like it first.
  std::vector<std::size_t> combined_of(std::size_t c) const {
    constexpr double kAlike = 0.5;
    std::vector<std::size_t> like;
    for (const std::size_t one : chosen_)
      if (likeness(one, c) > kAlike) like.push_back(one);
    std::ranges::stable_sort(like, std::ranges::greater{}, [&](std::size_t one) { return likeness(one, c); });
    return like;
  }

  const StepModel& model_;
  std::span<const MeasuredStep> steps_;
  std::vector<std::size_t> numbers_;
  std::vector<double> predicted_;
  std::vector<std::vector<double>> columns_;  // slopes where the fit began, by constant
  std::vector<std::size_t> chosen_;
  std::size_t jobs_ = 0;
  StepFit fit_;
};

}  // namespace

StepFit fit_steps(const StepModel& model, std::span<const MeasuredStep> steps, std::span<const std::size_t> numbers,
                  std::span<const double> predicted, const std::vector<std::vector<double>>& slopes) {
  return Fitter(model, steps, numbers, predicted, slopes).fit();
}

}  // namespace orrery::study
