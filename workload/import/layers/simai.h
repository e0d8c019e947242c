// SPDX-License-Identifier: MIT
// The text workloads of SimAI, as AICB writes them, as jobs.
//
// A file lists what one pipeline stage does in a training step, all its micro-batches one behind the other. The order
// is that of ASTRA-sim (workload/import/layers/schedule.h). Ranks are numbered as in Megatron: tensor-parallel groups
// ("tensor0", ...) are consecutive, then come the data-parallel ranks, then the pipeline stages. "expert0", ... are
// `ep` neighbouring ranks of a data-parallel group ("data0", ...), "expert_data0", ... those of a data-parallel group
// that hold the same experts. Sizes are of whole buffers: an all-gather's is that of its result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "workload/graph/job.h"

namespace orrery::workload {

struct SimaiOptions {
  std::optional<std::uint32_t> ranks{};  // for files of 2024, which have no all_gpus
  std::uint32_t iterations = 1;
  // Whether stages exchange pp_comm bytes for each micro-batch, forward and backward, all forward passes first. SimAI
  // itself simulates stages that know nothing of one another.
  bool pipeline = true;
};

// Throws InputError with all errors in `diagnostics`, if there are any. The warnings are in the job too.
Job import_simai(const std::string& file, const SimaiOptions& options, Diagnostics& diagnostics);

// The same from the content of the file.
Job import_simai(const std::string& file, std::string_view text, const SimaiOptions& options, Diagnostics& diagnostics);

}  // namespace orrery::workload
