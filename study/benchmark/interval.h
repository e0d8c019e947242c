// SPDX-License-Identifier: MIT
// Kinds of collectives whose predictions are about equally good, and how far off those of a kind are.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/units.h"
#include "workload/calls/operation.h"
#include "study/benchmark/study.h"
#include "study/interval/interval.h"

namespace orrery::study {

// Measured collectives, told apart by operation, size, span (within a node or between several) and architecture.
const RunSchema& collective_runs();
RunKind collective_kind(const workload::CallOperation& operation, Bytes size, std::int64_t nodes, std::int64_t ranks,
                        std::string_view architecture);
// Adds an interval to each row of a table of NCCL's algorithms whose sizes are the same on every rank; leaves other
// tables as they are. InputError where the file of measured errors is wrong.
void add_intervals(CollectiveTable& table, const ConfigFiles& files);

}  // namespace orrery::study
