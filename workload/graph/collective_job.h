// SPDX-License-Identifier: MIT
// Jobs of one operation each, for measuring a cluster the way nccl-tests does.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/collective_kind.h"
#include "core/units.h"
#include "workload/graph/job.h"

namespace orrery::workload {

// Every rank calls one collective on the world. `bytes` are those of a rank's own input buffer, as in ExecutionGraph;
// the root, where the kind has one, is rank 0. At least one rank.
Job collective_job(CollectiveKind kind, Bytes bytes, std::uint32_t ranks);

// Every rank sends one message of `bytes` to the next one, the last to the first, and receives one; all at once. At
// least two ranks.
Job neighbour_job(Bytes bytes, std::uint32_t ranks);

// Makes a job in which every rank computes once: for times[graphs[rank]], which are not zero.
Job compute_job(std::string_view name, std::span<const Duration> times, std::span<const std::uint32_t> graphs);

}  // namespace orrery::workload
