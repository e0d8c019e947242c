// SPDX-License-Identifier: MIT
#include "report/operations/fold_check.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace orrery::report {
namespace {

using Records = std::vector<system::OperationRecord>;

bool is_same(const system::OperationRecord& a, const system::OperationRecord& b) {
  return a.number == b.number && a.start == b.start && a.moving == b.moving && a.end == b.end && a.slowed == b.slowed;
}

bool comes_before(const system::OperationRecord& a, const system::OperationRecord& b) {
  return std::pair(a.end, a.number) < std::pair(b.end, b.number);
}

std::optional<system::OperationRecord> record_of(const Records& operations, std::uint32_t number) {
  const auto found = std::ranges::find(operations, number, &system::OperationRecord::number);
  return found == operations.end() ? std::nullopt : std::optional(*found);
}

// Row by row, as operations.csv has them. Of two rows that differ the earlier one is of an operation that has no such
// row in the other run.
std::optional<FoldDifference> first_difference(RankId rank, const Records& folded, const Records& unfolded) {
  const auto [here, there] = std::ranges::mismatch(folded, unfolded, is_same);
  if (here == folded.end() && there == unfolded.end()) return std::nullopt;
  const bool is_here = there == unfolded.end() || (here != folded.end() && comes_before(*here, *there));
  const system::OperationRecord& first = is_here ? *here : *there;
  return FoldDifference{rank, NodeId(first.number), record_of(folded, first.number), record_of(unfolded, first.number)};
}

std::string times_text(const std::optional<system::OperationRecord>& operation) {
  if (!operation) return "it did not finish";
  const auto picoseconds = [](Time time) { return time.time_since_epoch().count(); };
  return fmt::format("start {} ps, moving {} ps, end {} ps", picoseconds(operation->start),
                     picoseconds(operation->moving), picoseconds(operation->end));
}

}  // namespace

std::optional<FoldDifference> first_difference(const LoggedRun& folded, const LoggedRun& unfolded) {
  RankId acting{UINT32_MAX};
  Records of_acting;
  for (std::uint32_t i = 0; i < folded.acting.size(); ++i) {
    if (acting != folded.acting[i]) of_acting = folded.log.of(folded.acting[i]);
    acting = folded.acting[i];
    const auto difference = first_difference(RankId(i), of_acting, unfolded.log.of(unfolded.acting[i]));
    if (difference) return difference;
  }
  return std::nullopt;
}

std::string to_text(const FoldDifference& difference, const workload::Job& job) {
  return fmt::format("rank {}, {}\n  folded:     {}\n  every rank: {}\n", index_of(difference.rank),
                     job.describe(difference.rank, difference.node), times_text(difference.folded),
                     times_text(difference.unfolded));
}

}  // namespace orrery::report
