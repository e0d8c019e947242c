// SPDX-License-Identifier: MIT
// Requests for the programs of a training job, before they are written: for each pipeline stage its layers, priced.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "workload/training/program/rank_grid.h"
#include "workload/training/program/stage_program.h"
#include "workload/training/spec/operators.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::workload {

class StageRequests {
 public:
  // Both outlive it. `training` has passed check_training().
  StageRequests(const TrainingSpec& training, const OperatorTimes& times);
  ~StageRequests();

  const RankGrid& grid() const { return grid_; }
  std::size_t loads() const { return loads_; }
  // Requests of all programs, stage by stage.
  std::span<StageRequest> all() { return all_; }
  std::span<const StageRequest> all() const { return all_; }

 private:
  class ModelLayers;

  const RankGrid grid_;
  const std::unique_ptr<ModelLayers> layers_;
  const std::size_t loads_;
  std::vector<StageRequest> all_;
};

}  // namespace orrery::workload
