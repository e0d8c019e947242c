// SPDX-License-Identifier: MIT
// What tells collectives apart as far as how well they are predicted goes.
#pragma once

#include <cstdint>

#include "core/machine_kind.h"
#include "core/units.h"
#include "workload/calls/operation.h"
#include "study/benchmark/study.h"
#include "study/interval/interval.h"

namespace orrery::study {

// By operation, size, within a node or between several, architecture of the GPUs.
const RunSchema& collective_runs();
RunKind collective_kind(const workload::CallOperation& operation, Bytes size, std::int64_t nodes, std::int64_t ranks,
                        Architecture architecture);
// Of NCCL's algorithms, and of sizes that are the same on every rank; other tables stay as they are. InputError.
void add_intervals(CollectiveTable& table, const ConfigFiles& files);

}  // namespace orrery::study
