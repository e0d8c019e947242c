// SPDX-License-Identifier: MIT
// The text of a GOAL schedule as operations and dependencies, one list of them for each rank. What they mean is
// workload/import/goal/goal.h's concern.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace orrery::workload {

enum class GoalKind : std::uint8_t { kCalc, kSend, kReceive };

struct GoalOperation {
  GoalKind kind = GoalKind::kCalc;
  std::int64_t amount = 0;  // kCalc: nanoseconds; else bytes
  std::int64_t peer = -1;   // kReceive: -1 is any
  std::int64_t tag = 0;     // -1 is any
  std::uint32_t cpu = 0;
  int line = 0;
  std::string_view label;  // within the text; may be empty
};

// `after` starts when `before` has ended; with `at_start`, when it has started. By position in the rank's operations.
struct GoalDependency {
  std::uint32_t after = 0;
  std::uint32_t before = 0;
  bool at_start = false;
  int line = 0;
};

struct GoalRank {
  std::int64_t rank = 0;
  int line = 0;
  std::vector<GoalOperation> operations;
  std::vector<GoalDependency> dependencies;
};

struct GoalSchedule {
  std::int64_t ranks = 0;        // as the file says
  std::vector<GoalRank> blocks;  // in the order of the file
};

// Reads all of `text`. What is wrong goes to `diagnostics` with its line, and the line is skipped; after a hundred
// errors reading ends.
GoalSchedule read_goal_text(const std::string& file, std::string_view text, Diagnostics& diagnostics);

}  // namespace orrery::workload
