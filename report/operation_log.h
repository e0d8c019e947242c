// Keeps every finished operation of every rank.
#pragma once

#include <span>
#include <vector>

#include "system/observer.h"

namespace orrery {

class OperationLog final : public SimulationObserver {
 public:
  explicit OperationLog(std::size_t ranks) : by_rank_(ranks) {}

  void finished(const OperationRecord& operation) override { by_rank_[index_of(operation.rank)].push_back(operation); }

  // In order of their end.
  std::span<const OperationRecord> of(RankId rank) const { return by_rank_[index_of(rank)]; }
  std::size_t ranks() const { return by_rank_.size(); }

 private:
  std::vector<std::vector<OperationRecord>> by_rank_;
};

}  // namespace orrery
