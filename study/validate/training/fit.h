// The fitted constants of all software fitted again to families of training jobs, whose times are taken as power laws
// of the constants near the shipped ones. A generation of software is like the others that train its kind of model on
// its architecture unless its own runs say otherwise, which is what is left of it when its only family is left out.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/machine_kind.h"
#include "workload/training/spec/software.h"

namespace orrery {

struct TrainingConstant {
  std::string software;
  Architecture architecture = Architecture::kOther;
  SoftwareConstant constant = SoftwareConstant::kGemm;
  double shipped = 0;  // above 0
  double nominal = 0;  // without measurements; above 0
  // What its runs train, as the index of ModelSpec::sizes: convolutions are another library's kernels than products.
  std::size_t model_kind = 0;

  bool operator==(const TrainingConstant&) const = default;
};

struct TrainingFitRow {
  std::size_t family = 0;
  double log_error = 0;                                // log(predicted / measured) with the shipped constants
  std::vector<std::pair<std::size_t, double>> slopes;  // by number of a constant: of log(predicted) by log(constant)
  bool fits = true;                                    // constants are fitted to it
};

// What a constant is worth before it is fitted: nothing lost, and of bytes what the operation reads and writes at
// least.
double nominal_value(const SoftwareSpec& software, SoftwareConstant constant);

// The values that fit the families best, but for the one left out. Each family counts the same, rows far off count
// less; constants of one name hold together on one architecture and for one kind of model.
std::vector<double> fit_training(std::span<const TrainingConstant> constants, std::span<const TrainingFitRow> rows,
                                 std::optional<std::size_t> left_out = {});

}  // namespace orrery
