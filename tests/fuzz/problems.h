// SPDX-License-Identifier: MIT
// What holds of every problem that a reader tells: it says something, on lines that can be printed, at a place that the
// text has.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "core/assert.h"
#include "core/error.h"

namespace orrery::fuzz {

inline void check_problem(const Problem& problem) {
  ORRERY_ASSERT(!problem.message.empty() && problem.where.line >= 0 && problem.where.column >= 0);
  const std::string said = to_string(problem);
  ORRERY_ASSERT(std::ranges::all_of(said, [](char c) { return c == '\n' || static_cast<unsigned char>(c) >= 0x20; }));
}

inline void check_problems(std::span<const Problem> problems) { std::ranges::for_each(problems, check_problem); }

// The same of problems of `file`, whose text this is.
inline void check_problems(std::span<const Problem> problems, std::string_view file, std::string_view text) {
  const auto lines = 1 + std::ranges::count(text, '\n');
  for (const Problem& problem : problems) {
    check_problem(problem);
    ORRERY_ASSERT(problem.where.file != file || problem.where.line <= lines);
  }
}

// Calls `read`, which may throw an InputError with at least one such problem.
template <class Read>
void check_refusals(const Read& read) {
  try {
    read();
  } catch (const InputError& error) {
    ORRERY_ASSERT(!error.problems().empty());
    check_problems(error.problems());
  }
}

}  // namespace orrery::fuzz
