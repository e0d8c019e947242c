// SPDX-License-Identifier: MIT
// The two halves of match(), and what they say of ranks that do not agree on their communication.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "workload/graph/job.h"
#include "workload/matching/matching.h"

namespace orrery::workload {

// Collects one entry per communicator or pair of ranks, in the order in which they are found.
class DisagreementReport {
 public:
  void add(std::string entry) { entries_.push_back(std::move(entry)); }
  bool empty() const { return entries_.empty(); }
  // The entries under a heading; beyond the first twenty the rest is counted.
  std::string text() const;

 private:
  std::vector<std::string> entries_;
};

// "; the trace of rank 3 ends after 12 nodes, with 'x' (node 11), that of rank 0 after 40": of `rank`, which something
// is missing from, if it has fewer nodes than `other`; else empty. A rank that stopped early is found by it.
std::string early_end(const Job& job, RankId rank, RankId other);

// One entry of the report for each communicator whose members disagree: its first call about which they do.
CallLists match_collectives(const Job& job, DisagreementReport& report);

// One entry for each (source, destination, tag) whose ends do not match.
EndLists match_transfers(const Job& job, DisagreementReport& report);

}  // namespace orrery::workload
