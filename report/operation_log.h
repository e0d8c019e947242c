// SPDX-License-Identifier: MIT
// Keeps every finished operation of every rank. A rank that was simulated as part of another's class for a while shares
// what was finished then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "system/execution/observer.h"

namespace orrery::report {

class OperationLog final : public system::SimulationObserver {
 public:
  explicit OperationLog(std::size_t ranks) : number_(ranks, 0), logs_(1) {}

  void finished(RankId rank, const system::OperationRecord& operation) override {
    Log& log = log_of(rank);
    log.own.push_back(operation);
    ++log.operations;
  }
  void repeated(RankId rank, const system::RepetitionRecord& repetition) override {
    Log& log = log_of(rank);
    log.own.push_back({kRepetition, static_cast<std::uint32_t>(log.repetitions.size()), {}, {}, {}});
    log.repetitions.push_back(repetition);
    log.operations += repetition.parts().size();
  }
  void split(RankId rank, RankId parent) override {
    Log& log = log_of(rank);
    const Log& whole = std::as_const(*this).log_of(parent);
    log.parent = parent;
    log.inherited = whole.size();
    log.operations = whole.operations;
  }

  // In order of their ends, those of one instant in order of their numbers: an order that does not depend on that of
  // simultaneous events.
  std::vector<system::OperationRecord> of(RankId rank) const {
    std::vector<system::OperationRecord> operations;
    of(rank, operations);
    return operations;
  }
  // The same into `operations`, which is replaced.
  void of(RankId rank, std::vector<system::OperationRecord>& operations) const {
    operations.clear();
    operations.reserve(count(rank));
    copy(rank, log_of(rank).size(), operations);
    if (!std::ranges::is_sorted(operations, {}, &system::OperationRecord::end)) {
      std::ranges::sort(operations, {},
                        [](const auto& operation) { return std::pair(operation.end, operation.number); });
      return;
    }
    // Few instants are out of order: only theirs are sorted.
    const auto disordered = [](const auto& one, const auto& next) {
      return one.end == next.end && next.number < one.number;
    };
    for (auto at = operations.begin();;) {
      at = std::adjacent_find(at, operations.end(), disordered);
      if (at == operations.end()) return;
      const auto is_later = [&](const auto& other) { return other.end != at->end; };
      const auto last = std::find_if(at, operations.end(), is_later);
      const auto first = std::find_if(std::make_reverse_iterator(at), operations.rend(), is_later).base();
      std::sort(first, last, [](const auto& one, const auto& next) { return one.number < next.number; });
      at = last;
    }
  }
  // Number of operations that of() gives.
  std::size_t count(RankId rank) const { return log_of(rank).operations; }
  std::size_t ranks() const { return number_.size(); }

 private:
  // In place of a node: `number` is that of the log's repetition.
  static constexpr NodeId kRepetition{UINT32_MAX};

  struct Log {
    std::optional<RankId> parent;
    std::size_t inherited = 0;   // the first of the parent's entries
    std::size_t operations = 0;  // with those inherited
    std::vector<system::OperationRecord> own;
    std::vector<system::RepetitionRecord> repetitions;

    // Entries.
    std::size_t size() const { return inherited + own.size(); }
  };

  void copy(RankId rank, std::size_t count, std::vector<system::OperationRecord>& operations) const {
    const Log& log = log_of(rank);
    if (log.parent) copy(*log.parent, std::min(count, log.inherited), operations);
    const std::size_t own = count > log.inherited ? count - log.inherited : 0;
    for (const system::OperationRecord& entry : std::span(log.own).first(own)) {
      if (entry.node != kRepetition) {
        operations.push_back(entry);
        continue;
      }
      const system::RepetitionRecord& repetition = log.repetitions[entry.number];
      for (const system::StretchRecord::Part& part : repetition.parts())
        operations.push_back(repetition.operation(part));
    }
  }

  const Log& log_of(RankId rank) const { return logs_[number_[index_of(rank)]]; }
  Log& log_of(RankId rank) {
    std::uint32_t& number = number_[index_of(rank)];
    if (number == 0) {
      number = static_cast<std::uint32_t>(logs_.size());
      logs_.emplace_back();
    }
    return logs_[number];
  }

  std::vector<std::uint32_t> number_;  // by rank: of its log; 0, the empty one, of all for which others act
  std::vector<Log> logs_;
};

}  // namespace orrery::report
