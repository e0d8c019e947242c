// SPDX-License-Identifier: MIT
// The cases of the property tests: every algorithm of the table (one with a window, both orders of halving-doubling,
// both trees of a double one, the descending ring of a bidirectional one) with every kind it supports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/algorithms.h"
#include "collectives/schedule.h"

namespace orrery {

struct Case {
  std::string algorithm;
  CollectiveKind kind;
  bool descending = false;  // as in Request
  bool nearest_first = false;
};

std::vector<Case> every_case();

// Whether the root matters.
bool is_rooted(CollectiveKind kind);

// The first, the last, and one in the middle; only rank 0 where no root matters.
std::vector<std::uint32_t> some_roots(CollectiveKind kind, std::uint32_t ranks);

collectives::Schedule schedule_of(const Case& c, std::uint32_t ranks, std::uint32_t root = 0,
                                  Bytes bytes = Bytes(1000));

// "ring all_gather, 5 ranks, root 2".
std::string title(const Case& c, std::uint32_t ranks, std::uint32_t root);

}  // namespace orrery
