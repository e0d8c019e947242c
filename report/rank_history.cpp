// SPDX-License-Identifier: MIT
#include "report/rank_history.h"

namespace orrery::report {

std::span<const system::OperationRecord> RankHistory::ended_at(Time time, const system::OperationRecord* before) const {
  std::size_t from = 0, to = operations_.size();
  if (before != nullptr) {
    to = static_cast<std::size_t>(before - operations_.data()) + 1;
    if (before->end == time)  // those behind it may have ended then as well
      while (to < operations_.size() && operations_[to].end == time) ++to;
    for (std::size_t step = 8; step < to && from == 0; step *= 4)
      if (operations_[to - step].end < time) from = to - step;
  }
  const auto near = std::span(operations_).subspan(from, to - from);
  const auto first = std::ranges::lower_bound(near, time, {}, &system::OperationRecord::end);
  const auto last = std::ranges::upper_bound(first, near.end(), time, {}, &system::OperationRecord::end);
  return {first, last};
}

const std::vector<const system::OperationRecord*>& RankHistory::by_number() {
  if (!by_number_.empty()) return by_number_;
  by_number_.assign(graph_.written_out_size(), nullptr);
  for (const system::OperationRecord& operation : operations_) by_number_[operation.number] = &operation;
  return by_number_;
}

void RankHistory::find_calls() {
  calls_.resize(graph_.communicator_slots());
  for (const system::OperationRecord* operation : by_number())
    if (operation != nullptr && graph_.kind(operation->node) == workload::NodeKind::kCollective)
      calls_[graph_.communicator_slot(operation->node)].push_back(operation);
  if (!graph_.stretches().empty()) return;  // repetitions call in the order of their numbers
  for (std::vector<const system::OperationRecord*>& calls : calls_)
    std::ranges::sort(calls, {}, [&](const system::OperationRecord* call) { return graph_.call_index(call->node); });
}

}  // namespace orrery::report
