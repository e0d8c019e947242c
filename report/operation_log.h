// SPDX-License-Identifier: MIT
// Keeps every finished operation of every rank. A rank that was simulated as part of another's class for a while shares
// what was finished then.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "system/execution/observer.h"

namespace orrery::report {

class OperationLog final : public system::SimulationObserver {
 public:
  explicit OperationLog(std::size_t ranks) : by_rank_(ranks) {}

  void finished(const system::OperationRecord& operation) override {
    by_rank_[index_of(operation.rank)].own.push_back(operation);
  }
  void split(RankId rank, RankId parent) override {
    by_rank_[index_of(rank)].parent = parent;
    by_rank_[index_of(rank)].inherited = by_rank_[index_of(parent)].size();
  }

  // In order of their ends, those of one instant in order of their nodes: an order that does not depend on that of
  // simultaneous events.
  std::vector<system::OperationRecord> of(RankId rank) const {
    std::vector<system::OperationRecord> operations;
    of(rank, operations);
    return operations;
  }
  // The same into `operations`, which is replaced.
  void of(RankId rank, std::vector<system::OperationRecord>& operations) const {
    operations.clear();
    copy(rank, by_rank_[index_of(rank)].size(), operations);
    for (system::OperationRecord& operation : operations) operation.rank = rank;
    for (auto first = operations.begin(); first != operations.end();) {
      const auto last =
          std::find_if(first, operations.end(), [&](const auto& other) { return other.end != first->end; });
      std::ranges::sort(first, last, {}, &system::OperationRecord::node);
      first = last;
    }
  }
  // How many operations of() gives.
  std::size_t count(RankId rank) const { return by_rank_[index_of(rank)].size(); }
  std::size_t ranks() const { return by_rank_.size(); }

 private:
  struct Log {
    std::optional<RankId> parent;
    std::size_t inherited = 0;  // the first of the parent's
    std::vector<system::OperationRecord> own;

    std::size_t size() const { return inherited + own.size(); }
  };

  void copy(RankId rank, std::size_t count, std::vector<system::OperationRecord>& operations) const {
    const Log& log = by_rank_[index_of(rank)];
    if (log.parent) copy(*log.parent, std::min(count, log.inherited), operations);
    const std::size_t own = count > log.inherited ? count - log.inherited : 0;
    operations.insert(operations.end(), log.own.begin(), log.own.begin() + static_cast<std::ptrdiff_t>(own));
  }

  std::vector<Log> by_rank_;
};

}  // namespace orrery::report
