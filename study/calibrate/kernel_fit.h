// SPDX-License-Identifier: MIT
// Fits constants of the model of kernels to measured times: those that the times tell apart.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "study/calibrate/kernel_constants.h"
#include "workload/training/spec/operators.h"

namespace orrery::study {

struct FittedKernelConstant {
  double before = 0;
  double after = 0;  // as before where it is not determined
  double low = 0;    // of a determined one: holds the true value in 95 % of fits
  double high = 0;
  std::size_t shown_by = 0;  // number of kernels whose times change by a tenth of its change, or more
  bool at_bound = false;
  std::vector<std::size_t> hard_to_tell_from;  // of a determined one: others whose errors hang together with its own
  std::string stays;                           // of one that is not determined: why

  bool determined() const { return stays.empty(); }
};

struct KernelFit {
  KernelModel model;                            // with the fitted constants
  std::vector<FittedKernelConstant> constants;  // in the order of those offered
};

// Fits to kernels and their times, in seconds. With none that tells anything all constants stay.
KernelFit fit_kernels(const KernelModel& start, std::span<const KernelConstant> constants,
                      std::span<const workload::Operator> kernels, std::span<const double> measured);

}  // namespace orrery::study
