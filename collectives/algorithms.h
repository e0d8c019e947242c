// SPDX-License-Identifier: MIT
// The collective algorithms by name, and what each can do.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/phase_plan.h"
#include "collectives/program.h"
#include "collectives/schedule.h"
#include "core/collective_kind.h"

namespace orrery::collectives {

struct Algorithm {
  std::string_view name;                      // without a window: "direct" also for "direct4"
  std::string_view description;               // one line
  const Program* (*program)(CollectiveKind);  // null for a kind that it does not support
  bool both_ways = false;                     // each half of the data in one direction
  bool along_axes = false;                    // along every axis of a grid; one with open ends has one direction
  bool takes_window = false;            // may be written with a number: direct4 has at most 4 sends in flight per rank
  std::optional<std::uint32_t> window;  // that number

  std::string full_name() const;  // with its window: "direct4"
  bool supports(CollectiveKind kind) const;
  // True if its schedules are Schedule::is_in_network.
  bool is_in_network() const;
  // Role of the algorithm in an all-reduce over several dimensions.
  AllReduceBy all_reduce_by() const;
  // Its time as text, where any two of n ranks have a link of latency a and bandwidth b of their own each way; c is
  // ceil(S/n). Where messages share links (the ports of a switch), it may take longer. Empty when not supported.
  std::string cost(CollectiveKind kind) const;
};

// All algorithms, sorted by name.
std::span<const Algorithm> algorithms();

// Another name for an algorithm.
struct AlgorithmAlias {
  std::string_view name;
  std::string_view algorithm;  // as find_algorithm() takes it
  std::string_view description;
};

// All of them, sorted by name.
std::span<const AlgorithmAlias> algorithm_aliases();

// "ring", "direct", "direct4" (a positive number, no sign, no leading zero), "halving-doubling"; of an alias what it
// stands for; nothing for others.
std::optional<Algorithm> find_algorithm(std::string_view name);

// Names for messages and for finding the nearest one, aliases with them.
std::vector<std::string> algorithm_names();

}  // namespace orrery::collectives
