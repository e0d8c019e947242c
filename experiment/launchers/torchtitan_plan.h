// SPDX-License-Identifier: MIT
// Plan by which torchtitan spreads a job over ranks, from its arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/launchers/argument_table.h"
#include "workload/training/pipeline/schedule.h"

namespace orrery::experiment {

// A model by torchtitan's name and flavor.
struct TitanFlavor {
  std::string_view name, flavor;
  std::string_view model;  // of configs/models
};
// Null if the model is none of torchtitan's.
const TitanFlavor* flavor_of_model(std::string_view model);

// A schedule of torch.distributed.pipelining.
struct TitanSchedule {
  std::string_view name;
  workload::ScheduleKind kind;
  std::int64_t stages = 1;     // of each rank, where the layers of a stage are not given
  std::string_view instead{};  // why another is simulated; empty: it is this one
};
const TitanSchedule* schedule_of_kind(workload::ScheduleKind kind);

struct TitanDegrees {
  std::int64_t tensor = 1, pipeline = 1, context = 1, replicate = 1;
  std::int64_t shard = 1;  // 0: what is left of a number of devices that nothing says

  std::int64_t data() const { return replicate * shard; }
};

// Reports numbers that no job has.
void check_titan_numbers(LaunchReading& reading);
// Readers of rows.
void read_titan_model(LaunchReading& reading);
void read_titan_data(LaunchReading& reading);
void read_titan_batch(LaunchReading& reading);
void read_titan_pipeline(LaunchReading& reading);
void read_titan_checkpointing(LaunchReading& reading);

// Layers of the stages of a pipeline, where its ends count as `first` and `last` layers.
std::vector<std::int64_t> titan_layers(std::int64_t layers, std::int64_t stages, std::int64_t first = 1,
                                       std::int64_t last = 1);

}  // namespace orrery::experiment
