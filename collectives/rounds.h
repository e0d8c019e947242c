// SPDX-License-Identifier: MIT
// The rounds of a collective, as textbooks count them: in which one a message goes if all of them take equally long. A
// rank that sends a sum while a part of it is on its way to it gets that part in the round of its send, not before: so
// the two messages of an exchange share a round.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/schedule.h"

namespace orrery::collectives {

struct Rounds {
  std::uint32_t count = 0;
  std::uint32_t fan_in = 0;                            // the most messages that a rank receives in one round
  std::vector<std::vector<std::uint32_t>> of_message;  // by rank and send, from 0; of the last of the schedules
};

// Rounds of schedules that one group runs at once, such as the two halves of a bidirectional ring. What switches add up
// or copy on the way is one message to who receives it. Takes time and memory in the number of messages.
Rounds rounds_of(std::span<const Schedule> schedules);

// Rounds of a schedule that runs alone, or as both halves of an algorithm that has two (Algorithm::both_ways).
Rounds rounds_of(const Algorithm& algorithm, Request request);

}  // namespace orrery::collectives
