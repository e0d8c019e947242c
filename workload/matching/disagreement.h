// SPDX-License-Identifier: MIT
// The two halves of match(), and what they say of ranks that do not agree on their communication.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "workload/graph/job.h"
#include "workload/matching/matching.h"
#include "workload/matching/mending.h"
#include "workload/matching/screen_lines.h"

namespace orrery::workload {

// Collects one entry per communicator or pair of ranks, in the order in which they are found.
class DisagreementReport {
 public:
  // `text` gives the entry; it is asked for the first entries alone. `what`: the communicator or route.
  template <class Text>
  void add(GroupId what, const Text& text) {
    groups_.push_back(what);
    add(text);
  }
  template <class Text>
  void add(Route what, const Text& text) {
    if (routes_.empty() || routes_.back() != what) routes_.push_back(what);
    add(text);
  }
  bool empty() const { return entries_.empty(); }
  // Error of one screen: the entries under a heading, as far as there is room beside what would mend the job.
  StuckError error(const Job& job) const;

 private:
  static constexpr std::size_t kMost = kReportLines;  // entries have a line at least

  template <class Text>
  void add(const Text& text) {
    entries_.push_back(entries_.size() < kMost ? text() : std::string());
  }

  std::vector<GroupId> groups_;
  std::vector<Route> routes_;
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
