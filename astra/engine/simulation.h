// SPDX-License-Identifier: MIT
// A run of ASTRA-sim: every rank's finish time, to the nanosecond what ASTRA-sim computes.
#pragma once

#include <cstdint>
#include <vector>

#include "astra/engine/rank.h"
#include "astra/input/inputs.h"
#include "astra/input/program.h"

namespace orrery::astra {

enum class Folding : std::uint8_t { kAuto, kOff };

struct RankResult {
  Ticks finish = 0;
  Ticks compute = 0;  // of the device
  std::uint32_t agent = 0;
};

struct Result {
  std::vector<RankResult> ranks{};
  std::vector<std::uint32_t> agents{};               // the rank that each class's times are from
  std::vector<std::vector<Operation>> operations{};  // by class
  std::uint64_t events = 0;
  std::uint64_t messages = 0;
  std::vector<Problem> warnings{};

  // Communication that is exposed, as ASTRA-sim says it: what is not computation.
  Ticks exposed(std::uint32_t rank) const { return ranks[rank].finish - ranks[rank].compute; }
};

// InputError of what ASTRA-sim cannot do; StuckError where not every rank finishes.
Result simulate(const Inputs& inputs, const Job& job, Folding folding);

}  // namespace orrery::astra
