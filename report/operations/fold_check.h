// SPDX-License-Identifier: MIT
// Holds a folded run against the same run with every rank by itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "report/operation_log.h"
#include "workload/graph/job.h"

namespace orrery::report {

struct FoldDifference {
  RankId rank{};
  NodeId node{};                                    // of the program with all repetitions written out
  std::optional<system::OperationRecord> folded;    // nothing if the operation is missing
  std::optional<system::OperationRecord> unfolded;  // likewise
};

// Operations of one run, with whose operations each rank has (SimulationTotals::acting).
struct LoggedRun {
  const OperationLog& log;
  std::span<const RankId> acting;
};

// The first operation, by rank and in the order of OperationLog::of, of which start, moving or end differ by a
// picosecond or more. If there is none, both runs have the same operations.csv.
std::optional<FoldDifference> first_difference(const LoggedRun& folded, const LoggedRun& unfolded);

// For people: rank, operation and the times of both. `job` has no repetitions.
std::string to_text(const FoldDifference& difference, const workload::Job& job);

}  // namespace orrery::report
