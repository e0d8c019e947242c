// SPDX-License-Identifier: MIT
// Which constants steps determine, and their values.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "study/calibrate/steps/step_model.h"

namespace orrery::study {

// Standard deviation of log(predicted / measured) of a step with the right constants, before any is known: what is
// left of the shipped families, and as how many steps that counts beside those that are measured.
inline constexpr double kStepError = 0.03;
inline constexpr double kStepErrorSteps = 4;

struct StepFit {
  std::vector<double> factors;                       // by constant; 1 of one that stays
  std::vector<bool> determined;                      // likewise
  std::vector<double> errors;                        // standard error of log(factor), likewise; 0 of one that stays
  std::vector<std::string> stays;                    // why one stays; empty of others
  std::vector<std::vector<std::string>> stands_for;  // constants that act as a determined one
  double step_error = kStepError;                    // of log(predicted / measured), as far as the steps tell
  double freedom = kStepErrorSteps;                  // degrees of freedom of that
};

// Fits to the steps of these numbers, whose log(predicted / measured) and slopes are those at factors of 1.
StepFit fit_steps(const StepModel& model, std::span<const MeasuredStep> steps, std::span<const std::size_t> numbers,
                  std::span<const double> predicted, const std::vector<std::vector<double>>& slopes);

}  // namespace orrery::study
