// SPDX-License-Identifier: MIT
// Facts that the two bandwidths of a table of nccl-tests tell: bus over algorithm bandwidth is a factor of the
// operation and its ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "study/nccl_tests/log.h"
#include "workload/calls/operation.h"

namespace orrery::study {

// Number of ranks of a table of the operation; 0 where the rows leave several, as where the factor does not depend on
// them (broadcast).
std::uint32_t ranks_by_bandwidths(const NcclTable& table, const workload::CallOperation& operation);

// Bus over algorithm bandwidth in the fastest row; 0 where no row has both.
double bandwidth_ratio(const NcclTable& table);

// Operations whose factor all of the fastest rows have, on the table's ranks or, where it does not say these, on any;
// none where no row has both bandwidths.
std::vector<workload::CallOperation> operations_by_bandwidths(const NcclTable& table);

// Tells whether none of the fastest rows has the operation's factor; false where no row has both bandwidths.
bool contradict_bandwidths(const NcclTable& table, const workload::CallOperation& operation);

}  // namespace orrery::study
