// SPDX-License-Identifier: MIT
// Step of a rank's optimizer: the states that it keeps, the memory that it moves, and what is computed and exchanged of
// whole matrices (Muon).
#pragma once

#include <cstdint>
#include <vector>

#include "workload/training/program/gradient_synchronisation.h"
#include "workload/training/program/program_writer.h"
#include "workload/training/program/stage_program.h"
#include "workload/training/spec/operators.h"

namespace orrery::workload {

// A matrix of a layer, as a rank of a tensor group has it, and how often the layer has one like it.
struct UpdatedMatrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t count = 1;
  WeightSplit split = WeightSplit::kNone;
  bool is_expert = false;

  std::int64_t parameters() const { return rows * columns * count; }
  auto operator<=>(const UpdatedMatrix&) const = default;
};

// Matrices of a transformer layer whose gradients it computes, in the order of its forward pass; none of other layers.
std::vector<UpdatedMatrix> weight_matrices(const StageLayer& layer, const TrainingSpec& training);

// Parameters of a stage that the optimizer updates as matrices; none where it has no rule of its own for them.
ParameterCount matrix_parameters(const StageRequest& request);

// Bytes of masters and states on a rank of the stage; none with servers of parameters, which have them.
Bytes optimizer_bytes(const StageRequest& request);

// Memory traffic of a step; none with servers.
Bytes optimizer_traffic(const StageRequest& request);

// Memory beside these while matrices are computed: the largest whole one, twice, and its Gram matrices; and under
// `layer-wise` all whole ones that came from other ranks.
Bytes matrix_workspace(const StageRequest& request);

// Products of an iteration's Newton-Schulz iterations, and how often each runs.
struct RepeatedOperators {
  std::vector<Operator> operators;
  std::int64_t times = 1;
};
std::vector<RepeatedOperators> matrix_products(const StageRequest& request);

// Their time, one behind the other.
Duration matrix_time(const StageRequest& request, const OperatorTimes& times);

// Writes what comes between the exchange of gradients and the update: matrices gathered, computed, and given back.
void write_matrices(const StageRequest& request, const OperatorTimes& times, ProgramWriter& writer);

}  // namespace orrery::workload
