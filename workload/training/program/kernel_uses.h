// SPDX-License-Identifier: MIT
// Kernels of a rank in a training job, and how often each runs: the contents of its program's compute nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units.h"
#include "workload/training/program/stage_program.h"
#include "workload/training/spec/operators.h"

namespace orrery::workload {

struct KernelUse {
  Operator op;
  std::int64_t count = 0;  // in all iterations
  Duration each{};         // alone on the rank's device
  double measured = 0;     // how far `each` is measured, from 0 to 1
};

// Kernels of a rank of the stage, each operator once, ascending. Without what servers of parameters compute, and
// without the host's work.
std::vector<KernelUse> kernel_uses(const StageRequest& request, const OperatorTimes& times);

}  // namespace orrery::workload
