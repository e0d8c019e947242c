// SPDX-License-Identifier: MIT
// What holds of every job that an importer makes, and of every refusal.
#pragma once

#include <algorithm>
#include <string_view>

#include "core/assert.h"
#include "core/error.h"
#include "workload/graph/job.h"
#include "workload/matching/matching.h"

namespace orrery::fuzz {

// Everybody agrees with everybody: nothing is left to report once the file was accepted.
inline void check_imported(const workload::Job& job) {
  ORRERY_ASSERT(!job.graphs.empty() && job.graphs.size() == job.labels.size() && !job.ranks.empty());
  for (const workload::RankBinding& rank : job.ranks) {
    ORRERY_ASSERT(rank.communicators.size() == job.graphs[rank.graph].communicator_slots());
    ORRERY_ASSERT(rank.peers.size() == job.graphs[rank.graph].peer_slots());
  }
  for (const workload::Communicator& communicator : job.communicators) ORRERY_ASSERT(!communicator.members.empty());
  if (job.ranks.size() <= 64) workload::match(job);
}

inline void check_refused(const InputError& error, std::string_view text) {
  const auto lines = 1 + std::ranges::count(text, '\n');
  ORRERY_ASSERT(!error.problems().empty());
  for (const Problem& problem : error.problems()) {
    ORRERY_ASSERT(problem.where.line >= 0 && problem.where.line <= lines);
    ORRERY_ASSERT(!to_string(problem).empty());
  }
}

}  // namespace orrery::fuzz
