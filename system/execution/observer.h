// SPDX-License-Identifier: MIT
// What a simulation tells those who collect results.
#pragma once

#include <cstdint>
#include <functional>

#include "core/ids.h"
#include "core/units.h"

namespace orrery::system {

// One finished operation of one rank.
struct OperationRecord {
  RankId rank{};
  NodeId node{};
  Time start;   // when the rank issued it
  Time moving;  // collective: when the last member had come; receive: when the sender started; else `start`
  Time end;
};

class SimulationObserver {
 public:
  // In order of `end`; operations that end at one instant come in no particular order.
  virtual void finished(const OperationRecord& operation) = 0;
  // All that `parent` was told to have finished so far, `rank` has as well; from here on it is told by itself.
  virtual void split(RankId rank, RankId parent) = 0;

 protected:
  ~SimulationObserver() = default;
};

// Nodes done so far, of how many. Called now and then.
using SimulationProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

}  // namespace orrery::system
