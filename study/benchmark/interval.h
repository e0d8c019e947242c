// SPDX-License-Identifier: MIT
// Intervals of collectives in tables.
#pragma once

#include "core/config/tree.h"
#include "study/benchmark/study.h"

namespace orrery::study {

// Adds an interval to each row of a table of NCCL's algorithms whose sizes are the same on every rank; leaves other
// tables as they are. InputError where the file of measured errors is wrong.
void add_intervals(CollectiveTable& table, const ConfigFiles& files);

}  // namespace orrery::study
