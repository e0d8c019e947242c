// SPDX-License-Identifier: MIT
// Levers of a training job that save memory of its devices: a table of edits, each nothing but settings (a.b=v) of the
// job's `workload`. The hint of a job that does not fit and `orrery explain` go through it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workload/training/spec/training_spec.h"

namespace orrery::experiment {

// Settings below `workload`, all at once: {"parallel.tensor=4", "parallel.data=2"}.
using LeverEdit = std::vector<std::string>;

// A job whose levers are asked for.
struct LeverJob {
  const workload::TrainingSpec& training;
  std::int64_t widest = 1;  // degree of tensor parallelism up to which groups stay within the links of a node
};

struct Lever {
  std::string_view name;  // "recomputation": of what the edits change, in the list of what was tried
  // Edits of this job, the least costly first; none where the lever does not exist in it, or is pulled already. An edit
  // that check_training() refuses is left out by whoever asks.
  std::vector<LeverEdit> (*edits)(const LeverJob& job);
};

// All levers; of those that cost the same time, the first one is the least intrusive.
std::span<const Lever> memory_levers();

// "workload.parallel.tensor: 4 and workload.parallel.data: 2".
std::string text_of(const LeverEdit& edit);

}  // namespace orrery::experiment
