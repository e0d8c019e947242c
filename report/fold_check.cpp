#include "report/fold_check.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace orrery {
namespace {

// By node: operations that end at one instant come in no particular order.
std::vector<OperationRecord> by_node(std::span<const OperationRecord> operations) {
  std::vector<OperationRecord> sorted(operations.begin(), operations.end());
  std::ranges::sort(sorted, {}, &OperationRecord::node);
  return sorted;
}

bool same_times(const OperationRecord& a, const OperationRecord& b) {
  return a.start == b.start && a.moving == b.moving && a.end == b.end;
}

std::optional<FoldDifference> first_difference(RankId rank, std::span<const OperationRecord> folded,
                                               std::span<const OperationRecord> unfolded) {
  for (std::size_t i = 0; i < std::max(folded.size(), unfolded.size()); ++i) {
    if (i == folded.size() || (i < unfolded.size() && unfolded[i].node < folded[i].node))
      return FoldDifference{rank, unfolded[i].node, std::nullopt, unfolded[i]};
    if (i == unfolded.size() || folded[i].node < unfolded[i].node)
      return FoldDifference{rank, folded[i].node, folded[i], std::nullopt};
    if (!same_times(folded[i], unfolded[i])) return FoldDifference{rank, folded[i].node, folded[i], unfolded[i]};
  }
  return std::nullopt;
}

std::string times_text(const std::optional<OperationRecord>& operation) {
  if (!operation) return "it did not finish";
  const auto picoseconds = [](Time time) { return time.time_since_epoch().count(); };
  return fmt::format("start {} ps, moving {} ps, end {} ps", picoseconds(operation->start),
                     picoseconds(operation->moving), picoseconds(operation->end));
}

}  // namespace

std::optional<FoldDifference> first_difference(const LoggedRun& folded, const LoggedRun& unfolded) {
  RankId sorted_for{UINT32_MAX};
  std::vector<OperationRecord> of_acting;
  for (std::uint32_t i = 0; i < folded.acting.size(); ++i) {
    const RankId rank{i};
    if (sorted_for != folded.acting[i]) of_acting = by_node(folded.log.of(folded.acting[i]));
    sorted_for = folded.acting[i];
    const auto difference = first_difference(rank, of_acting, by_node(unfolded.log.of(unfolded.acting[i])));
    if (difference) return difference;
  }
  return std::nullopt;
}

std::string to_text(const FoldDifference& difference, const Job& job) {
  return fmt::format("rank {}, {}\n  folded:     {}\n  every rank: {}\n", index_of(difference.rank),
                     job.describe(difference.rank, difference.node), times_text(difference.folded),
                     times_text(difference.unfolded));
}

}  // namespace orrery
