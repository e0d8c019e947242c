// SPDX-License-Identifier: MIT
// Collectives that run over some dimensions of the fabric only (Chakra's involved_dim): in a group that has whole
// dimensions, ranks that differ in none of the others are a group of their own, a line or a cuboid of fewer dimensions.
#pragma once

#include <span>
#include <string>

#include "core/error.h"
#include "core/ids.h"
#include "network/fabric/fabric.h"
#include "system/plans/plan.h"
#include "workload/graph/job.h"

namespace orrery::system {

// Puts such groups in the place of every communicator of `job` that says which dimensions it involves. `placement`: the
// device of each rank. Where that means nothing, since the group is no whole part of the fabric, or since the library
// does not go by dimensions, the calls stay those of the whole group, and a warning about `file` says so once.
void split_by_dimensions(workload::Job& job, const network::Fabric& fabric, std::span<const DeviceId> placement,
                         const CollectiveOptions& options, const std::string& file, Diagnostics& diagnostics);

}  // namespace orrery::system
