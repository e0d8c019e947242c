// SPDX-License-Identifier: MIT
// A GPT-3 175B-like training step as a job in memory: tensor parallelism in the node, a pipeline over nodes, gradients
// all-reduced in buckets while the last micro-batch goes backward. One graph per pipeline stage, shared by its ranks.
#pragma once

#include <cstdint>
#include <optional>

#include "core/units.h"
#include "workload/graph/job.h"

namespace orrery::bench {

struct StageJob {
  std::uint32_t tensor = 8;
  std::uint32_t pipeline = 16;
  std::uint32_t data = 8;
  std::uint32_t layers = 6;  // of a stage
  std::uint32_t micro_batches = 192;
  std::optional<std::uint32_t> slow_rank;  // computes 10 % slower
};

// Ranks: tensor fastest, then data, then pipeline. 1F1B. Forward and backward of a layer each have two tensor
// all-reduces of a micro-batch's activations (6.3 MB); a stage's gradients are six buckets of 456 MB a rank.
workload::Job stage_job(const StageJob& shape);

}  // namespace orrery::bench
