// SPDX-License-Identifier: MIT
// Programs of a stage that differ in amounts of work only, as those of ranks to whose experts more or fewer tokens
// come: one is written, and the others take their amounts from their own layers.
#pragma once

#include <optional>

#include "workload/graph/execution_graph.h"
#include "workload/training/program/stage_program.h"

namespace orrery::workload {

// Amounts of a program; the rest is another's.
struct OtherAmounts {
  ExecutionGraph graph;
  MemoryCourse memory;
};

// The amounts of `other` in the program that was written for `request`; nothing where stage_program(other) would differ
// from it in more than amounts.
std::optional<OtherAmounts> other_amounts(const StageProgram& program, const StageRequest& request,
                                          const StageRequest& other);

}  // namespace orrery::workload
