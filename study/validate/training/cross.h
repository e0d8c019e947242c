// SPDX-License-Identifier: MIT
// Cross-validation of training jobs on families that nothing was fitted to: the fitted constants of the software are
// fitted again without one family, which is then simulated with them; each family in turn. A fit takes times as power
// laws of the constants near the shipped ones. A generation of software is like the others that train its kind of model
// on its architecture unless its own runs say otherwise, which is what is left of it when its only family is left out.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/machine_kind.h"
#include "study/interval/interval.h"
#include "study/validate/training/validation.h"
#include "workload/training/spec/software.h"

namespace orrery::study {

struct TrainingConstant {
  std::string software;
  Architecture architecture = Architecture::kOther;
  workload::SoftwareConstant constant = workload::SoftwareConstant::kGemm;
  double shipped = 0;  // above 0
  double nominal = 0;  // without measurements; above 0
  // Kind of the model in the constant's runs, as the index of ModelSpec::sizes: convolutions are another library's
  // kernels than products.
  std::size_t model_kind = 0;

  bool operator==(const TrainingConstant&) const = default;
};

struct TrainingFitRow {
  std::size_t family = 0;
  double log_error = 0;                                // log(predicted / measured) with the shipped constants
  std::vector<std::pair<std::size_t, double>> slopes;  // by number of a constant: of log(predicted) by log(constant)
  bool fits = true;                                    // constants are fitted to it
};

// The values that fit the families best, but for the one left out. Each family counts the same, rows far off count
// less; constants of one name hold together on one architecture and for one kind of model.
std::vector<double> fit_training(std::span<const TrainingConstant> constants, std::span<const TrainingFitRow> rows,
                                 std::optional<std::size_t> left_out = {});

struct TrainingCross {
  std::vector<TrainingConstant> constants;  // that are fitted; those that ship as 0 are not
  std::vector<double> fitted;               // to all families, by constant
  LeftOut<std::vector<double>> left_out;    // by family: values of the constants, and the rows simulated with these
};

// `validation` is of the same files, and outlives the result.
TrainingCross cross_validate(const TrainingValidation& validation, const ConfigFiles& files,
                             const WorkProgress& progress = {});

// Errors of every row of the families left out.
std::vector<MeasuredError> errors_of(const TrainingCross& cross, const ConfigFiles& files);

std::string training_cross_text(const TrainingValidation& validation, const TrainingCross& cross,
                                const Coverage& coverage);
// "cross" of what stands under "training".
nlohmann::ordered_json to_json(const TrainingCross& cross, const Coverage& coverage);

}  // namespace orrery::study
