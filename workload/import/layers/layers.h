// SPDX-License-Identifier: MIT
// The text workloads of ASTRA-sim 1.0, and those of SimAI as AICB writes them, as jobs.
//
// Layers are performed in the order of ASTRA-sim's workload layer (workload/import/layers/schedule.h). Forward passes
// and input gradients communicate among the ranks of a model-parallel group ("tensor0", ...), weight gradients among
// those of a data-parallel group ("data0", ...), unless the file names another group.
//
// ASTRA-sim: all ranks run one graph. The groups that a hybrid names last are of consecutive ranks: model-parallel ones
// in HYBRID_DATA_MODEL (and HYBRID_TRANSFORMER*), data-parallel ones in HYBRID_MODEL_DATA. The size of an all-gather is
// that of a rank's shard, all others are of the whole input buffer.
//
// SimAI: a file lists what one pipeline stage does in a training step, all its micro-batches one behind the other.
// Ranks are numbered as in Megatron: tensor-parallel groups are consecutive, then come the data-parallel ranks, then
// the pipeline stages. "expert0", ... are `ep` neighbouring ranks of a data-parallel group, "expert_data0", ... those
// of a data-parallel group that hold the same experts. Sizes are of whole buffers: an all-gather's is of its result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "workload/graph/job.h"
#include "workload/import/layers/text.h"

namespace orrery::workload {

struct LayersOptions {
  std::optional<std::uint32_t> ranks{};           // where the file has it not: ASTRA-sim's, and SimAI's of 2024
  std::optional<std::uint32_t> model_parallel{};  // ranks of a model-parallel group: ASTRA-sim's hybrids without it
  std::uint32_t iterations = 1;
  // SimAI: whether stages exchange pp_comm bytes for each micro-batch, forward and backward, all forward passes first.
  // SimAI itself simulates stages that know nothing of one another.
  bool pipeline = true;
};

// The job of a file with this content. Throws InputError with all errors in `diagnostics`, if there are any. The
// warnings are in the job too.
Job import_layers(const std::string& file, std::string_view text, TextDialect dialect, const LayersOptions& options,
                  Diagnostics& diagnostics);

// True if the text begins like a layer file: with the name of a parallelism.
bool is_layers_text(std::string_view text);

}  // namespace orrery::workload
