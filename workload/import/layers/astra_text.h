// SPDX-License-Identifier: MIT
// The text workloads of ASTRA-sim 1.0 as jobs.
//
// All ranks run one graph, the layers in the order of ASTRA-sim's workload layer (workload/import/layers/schedule.h).
// Forward passes and input gradients communicate among the ranks of a model-parallel group ("tensor0", ...), weight
// gradients among those of a data-parallel group ("data0", ...). The groups that a hybrid names last are of consecutive
// ranks: model-parallel ones in HYBRID_DATA_MODEL (and HYBRID_TRANSFORMER*), data-parallel ones in HYBRID_MODEL_DATA.
// The size of an all-gather is that of a rank's shard, all others are of the whole input buffer, as in ASTRA-sim.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "workload/graph/job.h"

namespace orrery::workload {

struct AstraTextOptions {
  std::optional<std::uint32_t> ranks{};           // the file does not have it: required
  std::optional<std::uint32_t> model_parallel{};  // ranks of a model-parallel group: hybrids whose file has it not
  std::uint32_t iterations = 1;
};

// Throws InputError with all errors in `diagnostics`, if there are any. The warnings are in the job too.
Job import_astra_text(const std::string& file, const AstraTextOptions& options, Diagnostics& diagnostics);

// The same from the content of the file.
Job import_astra_text(const std::string& file, std::string_view text, const AstraTextOptions& options,
                      Diagnostics& diagnostics);

}  // namespace orrery::workload
