// SPDX-License-Identifier: MIT
// One measured step: how its time is made up, and which constant would explain it alone.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "study/calibrate/findings.h"
#include "study/calibrate/profiles.h"
#include "study/calibrate/steps/step_model.h"

namespace orrery::study {

// Parts of a step as predicted, beside those of a profile if there is one, and what neither knows. `profile` may be
// null.
std::vector<TimePart> parts_of_step(const experiment::Run& run, double measured, const ProfiledTime* profile);

// The factor on a constant by which a step takes as long as measured; nothing where none within its bounds does.
std::optional<double> explaining_factor(const StepModel& model, std::size_t step, double measured,
                                        std::size_t constant);

// A sentence on the constants that would explain a step alone, those nearest to what they are first.
struct StepExplanation {
  std::size_t constant = 0;
  std::optional<double> factor;
};
std::vector<StepExplanation> explanations(const StepModel& model, std::size_t step, double measured);

}  // namespace orrery::study
