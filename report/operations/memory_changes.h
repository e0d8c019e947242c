// SPDX-License-Identifier: MIT
// The memory that a rank's program takes and gives back, over time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/units.h"
#include "system/execution/observer.h"
#include "workload/training/program/generate_job.h"

namespace orrery::report {

// When, and how many bytes more (or, below 0, less), by time; what is given back at an instant goes before what is
// taken. `nodes`: of the program, written out.
std::vector<std::pair<Time, std::int64_t>> memory_changes(const workload::ProgramMemory& program,
                                                          std::span<const system::OperationRecord> operations,
                                                          std::size_t nodes);

}  // namespace orrery::report
