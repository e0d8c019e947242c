// SPDX-License-Identifier: MIT
#include "study/calibrate/kernel_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "study/fit/confidence.h"
#include "study/fit/least_squares.h"

namespace orrery::study {
namespace {

// The relative error of a timing that is expected at first, and at least.
constexpr double kFirstTimingError = 0.05;
constexpr double kLeastTimingError = 1e-3;
// Timings farther off than so many times the expected error are taken for outliers.
constexpr double kOutlyingTimings = 2;
// A sigma is so many median absolute deviations.
constexpr double kMedianDeviations = 1.4826;
// Part of a constant's effect that others must leave to it.
constexpr double kSameKernels = 1e-2;
// Relative standard error beyond which a constant is left as it is.
constexpr double kTooUncertain = 0.4;
// Says that the value before lies in the interval of 95 %.
constexpr double kVague = 0.1;
constexpr double kEffectStep = 1e-3;
// A kernel shows a constant that so much of its time hangs on: less is within the model's own errors.
constexpr double kShown = 0.1;
constexpr double kActs = 1e-3;
// Scale of a launch that is 0, in seconds.
constexpr double kLaunchScale = 5e-6;
constexpr double kLeastOfStart = 1e-3;
constexpr int kValueDigits = 4;
constexpr int kRounds = 3;

using Places = std::vector<std::size_t>;
using Effects = std::vector<double>;

class KernelFitter {
 public:
  KernelFitter(const KernelModel& start, std::span<const KernelConstant> constants,
               std::span<const workload::Operator> kernels, std::span<const double> measured)
      : start_(start), constants_(constants), kernels_(kernels), measured_(measured), now_(start) {
    for (const KernelConstant& constant : constants) starts_.push_back(constant.value(start));
  }

  KernelFit fit() {
    choose();
    for (int round = 0; round < kRounds && !offered_.empty(); ++round) {
      run();
      const Places before = offered_;
      choose();
      if (offered_ == before) break;
    }
    for (int round = 0; round < 2 && !offered_.empty(); ++round) {
      error_ = std::clamp(typical_error(), kLeastTimingError, kFirstTimingError);
      run();
    }
    while (leave_out_uncertain()) run();
    return report();
  }

 private:
  static double step_of(double value) { return kEffectStep * (value == 0 ? kLaunchScale : value); }

  // The derivative of the logarithm of each kernel's time by that of a constant; by multiples of the scale where it is
  // 0.
  Effects effects_of(std::size_t i) const {
    const KernelConstant& constant = constants_[i];
    const double value = constant.value(now_), step = step_of(value);
    KernelModel less = now_, more = now_;
    const double low = value == 0 ? 0 : value - step, high = std::min(constant.most, value + step);
    constant.set(less, low);
    constant.set(more, high);
    const std::vector<double> below = less.seconds_of(kernels_), above = more.seconds_of(kernels_);
    const double width = (high - low) / (value == 0 ? kLaunchScale : value);
    Effects effects;
    for (std::size_t row = 0; row < kernels_.size(); ++row)
      effects.push_back(std::log(above[row] / below[row]) / width);
    return effects;
  }

  // Offers the constants that the kernels tell apart where the fit has come to.
  void choose() {
    std::vector<Effects> effects;
    for (std::size_t i = 0; i < constants_.size(); ++i) effects.push_back(effects_of(i));
    shown_by_.clear();
    std::vector<bool> acts;  // though little
    for (const Effects& column : effects)
      acts.push_back(std::ranges::any_of(column, [](double effect) { return std::abs(effect) >= kActs; }));
    for (const Effects& column : effects)
      shown_by_.push_back(static_cast<std::size_t>(
          std::ranges::count_if(column, [](double effect) { return std::abs(effect) >= kShown; })));
    for (std::size_t i = 0; i < effects.size(); ++i)
      if (shown_by_[i] == 0 || !constants_[i].is_offered) std::ranges::fill(effects[i], 0);
    const ColumnChoice choice = independent_columns(effects, kSameKernels);
    offered_ = choice.kept;
    stays_.assign(constants_.size(), {});
    for (const DependentColumn& left : choice.left) {
      std::vector<std::string> others;
      for (const std::size_t other : left.on) others.push_back(constants_[other].key);
      const KernelConstant& constant = constants_[left.column];
      stays_[left.column] = !others.empty() ? fmt::format("acts as {} here", fmt::join(others, " and "))
                            : constant.is_offered && acts[left.column]
                                ? fmt::format("less than {:.0f} % of each kernel's time hangs on it", 100 * kShown)
                                : constant.nothing_shows;
    }
  }

  FittedConstant offered_constant(std::size_t i) const {
    FittedConstant c;
    c.name = constants_[i].key;
    c.start = starts_[i];
    c.prior = constants_[i].prior;
    c.most = std::max(constants_[i].most, c.start);
    c.least = c.start * kLeastOfStart;
    if (c.start == 0) c.scale = kLaunchScale;
    return c;
  }

  KernelModel with(std::span<const double> values) const {
    KernelModel model = start_;
    for (std::size_t i = 0; i < offered_.size(); ++i) constants_[offered_[i]].set(model, values[i]);
    return model;
  }

  // From where the fit has come to; constants that are not offered are as they were.
  void run() {
    FitProblem problem;
    for (const std::size_t i : offered_) {
      problem.constants.push_back(offered_constant(i));
      problem.from.push_back(constants_[i].value(now_));
    }
    problem.residuals = [this](std::span<const double> values, std::span<double> residuals) {
      const std::vector<double> times = with(values).seconds_of(kernels_);
      for (std::size_t row = 0; row < times.size(); ++row)
        residuals[row] = std::log(times[row] / measured_[row]) / error_;
    };
    problem.residual_count = kernels_.size();
    problem.loss_scale = kOutlyingTimings;
    result_ = fit_constants(problem);
    now_ = with(result_.values);
  }

  double typical_error() const {
    std::vector<double> errors;
    const std::vector<double> times = now_.seconds_of(kernels_);
    for (std::size_t row = 0; row < times.size(); ++row)
      errors.push_back(std::abs(std::log(times[row] / measured_[row])));
    const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
    std::ranges::nth_element(errors, middle);
    return *middle * kMedianDeviations;
  }

  double freedom() const { return static_cast<double>(kernels_.size()) - static_cast<double>(offered_.size()); }

  // Standard error of the logarithm of the offered constant `i` if it is too large for a value that can be relied on:
  // or vague, with the value before well within reach. 0 if it is not.
  double uncertainty(std::size_t i) const {
    const double spread = result_.spread[i], before = starts_[offered_[i]], after = result_.values[i];
    if (spread > kTooUncertain) return spread;
    const double change = before == 0 ? after / kLaunchScale : std::abs(std::log(after / before));
    const double reach = standard_errors_of_95_percent(freedom()) * spread;
    return reach > 2 * kVague && change < reach ? spread : 0;
  }

  bool leave_out_uncertain() {
    std::size_t worst = offered_.size();
    double most = 0;
    for (std::size_t i = 0; i < offered_.size(); ++i) {
      if (uncertainty(i) <= most) continue;
      most = uncertainty(i);
      worst = i;
    }
    if (worst == offered_.size()) return false;
    stays_[offered_[worst]] = std::isfinite(most)
                                  ? fmt::format("too uncertain: its standard error is {:.0f} %", 100 * most)
                                  : "the kernels do not determine it";
    offered_.erase(offered_.begin() + static_cast<std::ptrdiff_t>(worst));
    if (offered_.empty()) now_ = start_;
    return !offered_.empty();
  }

  KernelFit report() const {
    KernelFit fit{start_, {}};
    for (std::size_t i = 0; i < constants_.size(); ++i) {
      FittedKernelConstant constant;
      constant.before = constant.after = starts_[i];
      constant.shown_by = shown_by_[i];
      constant.stays = stays_[i];
      fit.constants.push_back(std::move(constant));
    }
    const double errors = standard_errors_of_95_percent(freedom());
    for (std::size_t i = 0; i < offered_.size(); ++i) {
      FittedKernelConstant& constant = fit.constants[offered_[i]];
      const double value = result_.values[i];
      constant.after = rounded_to_digits(value, kValueDigits);
      const double reach = errors * result_.spread[i];
      constant.low = starts_[offered_[i]] == 0 ? std::max(0.0, value - reach * kLaunchScale) : value * std::exp(-reach);
      constant.high = starts_[offered_[i]] == 0 ? value + reach * kLaunchScale : value * std::exp(reach);
      constant.high = std::min(constant.high, std::max(constants_[offered_[i]].most, constant.after));
      constant.at_bound = result_.at_bound[i];
      constants_[offered_[i]].set(fit.model, constant.after);
    }
    for (const auto& [a, b] : result_.correlated) {
      fit.constants[offered_[a]].hard_to_tell_from.push_back(offered_[b]);
      fit.constants[offered_[b]].hard_to_tell_from.push_back(offered_[a]);
    }
    return fit;
  }

  const KernelModel& start_;
  std::span<const KernelConstant> constants_;
  std::span<const workload::Operator> kernels_;
  std::span<const double> measured_;
  KernelModel now_;
  std::vector<double> starts_;
  Places offered_;
  std::vector<std::string> stays_;
  Places shown_by_;
  FitResult result_;
  double error_ = kFirstTimingError;
};

}  // namespace

KernelFit fit_kernels(const KernelModel& start, std::span<const KernelConstant> constants,
                      std::span<const workload::Operator> kernels, std::span<const double> measured) {
  return KernelFitter(start, constants, kernels, measured).fit();
}

}  // namespace orrery::study
