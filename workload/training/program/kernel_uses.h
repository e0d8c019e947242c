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

// Passes of one kind over a layer of a stage, in all iterations.
struct LayerRuns {
  std::uint32_t chunk = 0;
  std::uint32_t layer = 0;  // in the chunk
  PassKind kind = PassKind::kForward;
  bool splits = false;
  std::int64_t count = 0;
};

// Runs of a stage: those of its layers, and passes that are not forward. The same whatever the layers are.
struct StageRuns {
  std::vector<LayerRuns> layers;
  std::int64_t backward_passes = 0;  // of one iteration
};
StageRuns runs_of(const StageRequest& request);

// Kernels of a rank of the stage, each operator once, ascending. Without what servers of parameters compute, and
// without the host's work. `runs`: runs_of() a stage with as many layers.
std::vector<KernelUse> kernel_uses(const StageRequest& request, const StageRuns& runs, const OperatorTimes& times);

}  // namespace orrery::workload
