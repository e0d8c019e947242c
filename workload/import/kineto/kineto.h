// SPDX-License-Identifier: MIT
// Reads profiles that torch.profiler exported (Kineto, Chrome's trace format), one file for each rank.
//
// Kernels, copies and memsets become device computations with their measured times on their streams; kernels of NCCL
// become collectives, sends and receives of the sizes and process groups that c10d notes on them. What waits for what,
// and where the host was late, is worked out as workload/import/kineto/timeline.h says. A rank's work begins with its
// first operation on the device. How long a collective took in the profile is kept as its measured duration; it
// includes the waiting for other ranks.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/error.h"
#include "workload/graph/job.h"

namespace orrery::workload {

struct KinetoOptions {
  // One file stands for all ranks of its world. Only where it calls on nothing but the world: other ranks' groups and
  // peers are not in it.
  bool replicate = false;
};

// The files may come in any order: each says its rank, under distributedInfo. gzip is understood. Throws InputError
// with all that is wrong; what is doubtful goes to `diagnostics`.
Job import_kineto(std::span<const std::string> files, Diagnostics& diagnostics, const KinetoOptions& options = {});

// The same of one profile in memory; `file` is for messages.
Job import_kineto_text(const std::string& file, std::string_view text, Diagnostics& diagnostics,
                       const KinetoOptions& options = {});

}  // namespace orrery::workload
