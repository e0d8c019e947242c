// How well training jobs are predicted whose times nothing was fitted to: the fitted constants of the software are
// fitted again without one family, which is then simulated with them; each family in turn.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "study/validate/training/fit.h"
#include "study/validate/training/validation.h"

namespace orrery {

struct TrainingCross {
  std::vector<TrainingConstant> constants;        // that are fitted; those that ship as 0 are not
  std::vector<double> fitted;                     // to all families, by constant
  std::vector<std::vector<double>> without;       // by family and constant: fitted to the others
  std::vector<ValidatedTrainingFamily> left_out;  // by family: simulated with these
};

// `validation` is of the same files, and outlives the result.
TrainingCross cross_validate(const TrainingValidation& validation, const ConfigFiles& files,
                             const ValidationProgress& progress = {});

std::string training_cross_text(const TrainingValidation& validation, const TrainingCross& cross);
// "cross" of what stands under "training".
nlohmann::ordered_json to_json(const TrainingCross& cross);

}  // namespace orrery
