// SPDX-License-Identifier: MIT
// Plays an exchange on symbolic data, in one random order of starts, releases and arrivals.
#pragma once

#include <cstdint>
#include <string>

#include "collectives/oracle/exchange.h"
#include "collectives/oracle/oracle.h"

namespace orrery::collectives {

// Replays the exchange and checks that it does what its collective promises. Dependencies must be the sender's own
// messages, without a cycle.
Verdict replay(const Exchange& exchange, std::uint64_t seed);

// "message 7 (2 -> 3)", or what Exchange::name_of says, for reasons.
std::string describe(const Exchange& exchange, std::uint32_t message);

}  // namespace orrery::collectives
