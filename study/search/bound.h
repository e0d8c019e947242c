// SPDX-License-Identifier: MIT
// A time that the simulation of a plan does not fall below, worked out without one.
#pragma once

#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "core/collective_kind.h"
#include "core/units.h"
#include "experiment/experiment.h"
#include "system/devices/operator_model.h"
#include "workload/training/program/least_time.h"
#include "workload/training/program/memory_need.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::study {

// Of plans on one cluster, one after the other.
class PlanBounds {
 public:
  // Of the only job of `experiment`, which trains a model and outlives this.
  explicit PlanBounds(const experiment::Experiment& experiment);

  struct Bound {
    Bytes memory;     // of the fullest rank
    Bytes in_use;     // with libraries and what the allocator cannot use
    Duration time{};  // of an iteration, at least; zero where nothing is known

    bool operator==(const Bound&) const = default;
  };
  // `training` has passed check_training(). The time is worked out where the memory is no more than `most`, else zero.
  Bound of(const workload::TrainingSpec& training, Bytes most);

 private:
  // The operators on whichever type of device is fastest.
  class FastestDevice;

  // Of the groups of a family, all that there are; none where that is not known.
  std::vector<const collectives::GroupShape*> shapes_of(const workload::RankGrid& grid, workload::GroupFamily family);
  Duration least_collective(std::span<const collectives::GroupShape* const> shapes, CollectiveKind kind,
                            Bytes bytes) const;

  const experiment::Experiment& experiment_;
  std::vector<system::OperatorModel> models_;  // by type of device
  std::vector<DeviceId> placement_;            // by rank; empty where groups need not lie regularly
  std::map<std::vector<DeviceId>, collectives::GroupShape> shapes_;
};

}  // namespace orrery::study
