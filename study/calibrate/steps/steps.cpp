// SPDX-License-Identifier: MIT
#include "study/calibrate/steps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "study/calibrate/profiles/profile_kernels.h"
#include "study/calibrate/steps/step_fit.h"
#include "study/calibrate/steps/step_model.h"
#include "study/calibrate/steps/step_split.h"
#include "study/fit/confidence.h"

namespace orrery::study {
namespace {

// A step that is farther off is of another job, or in another unit.
constexpr double kOtherJob = 10;
// Halves of fewer steps say little of one another.
constexpr std::size_t kLeastHeldOut = 8;
constexpr std::size_t kMostExplanations = 4;

class StepCalibration {
 public:
  StepCalibration(std::span<const MeasuredStep> steps, CalibratedMachine& machine, const ConfigFiles& files,
                  const StepOptions& options, const WorkProgress& progress)
      : steps_(steps),
        machine_(machine),
        files_(files),
        options_(options),
        progress_(progress),
        model_(steps, machine, files, options.known) {
    finding_.title = "steps";
  }

  Finding calibrate() && {
    finding_.warnings = model_.memory_warnings();
    before_ = model_.seconds({}, progress_);
    const std::vector<std::size_t> numbers = near_steps();
    const bool is_one = std::ranges::all_of(
        numbers, [&](std::size_t step) { return model_.first_alike()[step] == model_.first_alike()[numbers.front()]; });
    after_ = before_;
    held_out_.assign(steps_.size(), 0);
    if (is_one)
      tell_of_one(numbers);
    else
      fit(numbers);
    split(numbers.front());
    add_rows();
    return std::move(finding_);
  }

 private:
  // Steps that can be of their jobs.
  std::vector<std::size_t> near_steps() {
    std::vector<std::size_t> near;
    for (std::size_t step = 0; step < steps_.size(); ++step) {
      const double ratio = before_[step] / steps_[step].seconds;
      if (ratio < kOtherJob && ratio > 1 / kOtherJob) {
        near.push_back(step);
        continue;
      }
      Problem problem{
          Severity::kWarning, steps_[step].where,
          fmt::format("the step of '{}' took {}, and {} are predicted: no constant is fitted to it",
                      printable(steps_[step].label, 60), time_text(steps_[step].seconds), time_text(before_[step])),
          "is it the same job, and the right unit?"};
      if (steps_.size() == 1) {
        problem.severity = Severity::kError;
        throw InputError({problem});
      }
      finding_.warnings.push_back(std::move(problem));
    }
    if (near.empty())
      throw InputError(
          steps_.front().where,
          fmt::format("none of {} steps is within a factor of {:g} of what is predicted", steps_.size(), kOtherJob),
          "are these the jobs, and is the unit right?");
    return near;
  }

  static CalibratedConstant described(const StepConstant& one) {
    CalibratedConstant constant;
    constant.file = one.file;
    constant.key = one.key();
    constant.unit = one.unit;
    constant.before = constant.after = one.before;
    return constant;
  }

  // One step is one number: any of several constants, or of what is not simulated, may be what makes it differ.
  void tell_of_one(const std::vector<std::size_t>& numbers) {
    const std::size_t step = numbers.front();
    std::vector<double> times;
    for (const std::size_t number : numbers) times.push_back(steps_[number].seconds);
    const double measured = median_of(times);
    std::string sentence;
    std::size_t named = 0;
    for (const StepExplanation& one : explanations(model_, step, measured)) {
      const StepConstant& constant = model_.constants()[one.constant];
      CalibratedConstant row = described(constant);
      row.evidence = "one step";
      if (!one.factor) {
        row.stays = "no value of it would explain the step";
      } else {
        const double value = constant.before * *one.factor;
        row.stays =
            fmt::format("one step determines none; {} would explain it alone", constant_text(constant.unit, value));
        if (named++ < kMostExplanations)
          sentence += fmt::format("{}{} {} -> {}", sentence.empty() ? "" : ", or ", constant.key(),
                                  constant_text(constant.unit, constant.before), constant_text(constant.unit, value));
      }
      finding_.constants.push_back(std::move(row));
    }
    finding_.notes.push_back(
        sentence.empty()
            ? "no constant alone explains the step: it spends its time on something that is not simulated"
            : fmt::format("one step moves no constant; each of these alone would explain all of it: {}", sentence));
  }

  void fit(const std::vector<std::size_t>& numbers) {
    const std::vector<double> ones(model_.constants().size(), 1);
    std::vector<std::size_t> all(ones.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const std::vector<std::vector<double>> slopes = model_.slopes(ones, all, progress_);
    const StepFit fit = fit_steps(model_, steps_, numbers, before_, slopes);
    for (std::size_t c = 0; c < fit.factors.size(); ++c) add_constant(fit, c, numbers.size());
    after_ = model_.seconds(fit.factors);
    if (options_.held_out && numbers.size() >= kLeastHeldOut) hold_out(numbers, slopes);
    finding_.notes.push_back(
        fmt::format("a step with these constants is off by {} (standard deviation)", percent(fit.step_error)));
    warn_of_far(numbers, fit.step_error);
    for (std::size_t c = 0; c < fit.factors.size(); ++c)
      if (fit.determined[c]) multiply(machine_, model_.resolved(), model_.constants()[c], fit.factors[c], files_);
  }

  void add_constant(const StepFit& fit, std::size_t c, std::size_t count) {
    const StepConstant& one = model_.constants()[c];
    CalibratedConstant constant = described(one);
    constant.evidence = counted(count, "step");
    constant.stays = fit.stays[c];
    if (fit.determined[c]) {
      const double reach = std::exp(standard_errors_of_95_percent(fit.freedom) * fit.errors[c]);
      constant.after = one.before * fit.factors[c];
      constant.low = constant.after / reach;
      constant.high = constant.after * reach;
      if (one.keys.size() > 1) constant.remark = fmt::format("{} in proportion", proportion_of(one));
      if (!fit.stands_for[c].empty())
        constant.remark += fmt::format("{}also stands for {}", constant.remark.empty() ? "" : "; ",
                                       fmt::join(fit.stands_for[c], ", "));
      if (fit.factors[c] <= one.least * 1.001 || fit.factors[c] >= one.most * 0.999)
        constant.remark += constant.remark.empty() ? "at its bound" : "; at its bound";
    }
    finding_.constants.push_back(std::move(constant));
  }

  // "flash_backward", "4 more".
  static std::string proportion_of(const StepConstant& one) {
    if (one.keys.size() > 2) return fmt::format("{} more", one.keys.size() - 1);
    return one.keys.back().substr(one.keys.back().rfind('.') + 1);
  }

  void hold_out(const std::vector<std::size_t>& numbers, const std::vector<std::vector<double>>& slopes) {
    for (std::size_t half = 0; half < 2; ++half) {
      std::vector<std::size_t> seen;
      for (std::size_t i = 0; i < numbers.size(); ++i)
        if (i % 2 != half) seen.push_back(numbers[i]);
      const StepFit fit = fit_steps(model_, steps_, seen, before_, slopes);
      const std::vector<double> times = model_.seconds(fit.factors);
      for (std::size_t i = half; i < numbers.size(); i += 2) held_out_[numbers[i]] = times[numbers[i]];
    }
    std::vector<double> shipped, fitted;
    for (const std::size_t step : numbers) {
      shipped.push_back(std::abs(before_[step] / steps_[step].seconds - 1));
      fitted.push_back(std::abs(held_out_[step] / steps_[step].seconds - 1));
    }
    const double before = median_of(shipped), after = median_of(fitted);
    if (after >= before)
      finding_.notes.push_back(
          fmt::format("steps that a fit has not seen are off by {} in the median, and by {} with the "
                      "constants as they were: these are as good, keep them",
                      percent(after), percent(before)));
  }

  void warn_of_far(const std::vector<std::size_t>& numbers, double step_error) {
    constexpr double kFar = 3;
    for (const std::size_t step : numbers) {
      const double error = std::log(after_[step] / steps_[step].seconds);
      if (std::abs(error) < kFar * step_error) continue;
      finding_.warnings.push_back(
          {Severity::kWarning, steps_[step].where,
           fmt::format("the step of '{}' fits no constants: {} measured, {} predicted",
                       printable(steps_[step].label, 60), time_text(steps_[step].seconds), time_text(after_[step])),
           "is it the job that ran? the others are fitted"});
    }
  }

  // Parts of the first step, with the constants as they are now.
  void split(std::size_t step) {
    std::vector<double> factors(model_.constants().size(), 1);
    for (std::size_t c = 0; c < finding_.constants.size(); ++c)
      for (std::size_t k = 0; k < model_.constants().size(); ++k)
        if (model_.constants()[k].key() == finding_.constants[c].key && finding_.constants[c].determined())
          factors[k] = finding_.constants[c].after / finding_.constants[c].before;
    finding_.parts = parts_of_step(model_.run(step, factors), steps_[step].seconds, options_.profile);
    if (options_.profile != nullptr && options_.profile->steps == 0)
      finding_.notes.push_back(
          fmt::format("{} marks no steps and is taken as one: profile with a schedule and "
                      "prof.step()",
                      options_.profile->file));
  }

  void add_rows() {
    for (std::size_t step = 0; step < steps_.size(); ++step)
      finding_.rows.push_back({steps_[step].source, "step", steps_[step].label, 0, steps_[step].seconds, before_[step],
                               after_[step], held_out_[step]});
  }

  std::span<const MeasuredStep> steps_;
  CalibratedMachine& machine_;
  const ConfigFiles& files_;
  const StepOptions& options_;
  const WorkProgress& progress_;
  StepModel model_;
  std::vector<double> before_, after_, held_out_;  // by step
  Finding finding_;
};

}  // namespace

Finding calibrate_steps(std::span<const MeasuredStep> steps, CalibratedMachine& machine, const ConfigFiles& files,
                        const StepOptions& options, const WorkProgress& progress) {
  if (steps.empty()) return {"steps", {}, {}, {}, {}, {}};
  return StepCalibration(steps, machine, files, options, progress).calibrate();
}

std::vector<double> predicted_steps(std::span<const MeasuredStep> steps, CalibratedMachine machine,
                                    const ConfigFiles& files, const WorkProgress& progress) {
  return StepModel(steps, machine, files, {}).seconds({}, progress);
}

}  // namespace orrery::study
