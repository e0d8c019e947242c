// SPDX-License-Identifier: MIT
// Plays an exchange on symbolic data, in one random order of starts, releases and arrivals.
#pragma once

#include <cstdint>
#include <string>

#include "tests/collectives/oracle/exchange.h"

namespace orrery {

// Why the exchange does not do what its collective promises, or "". Dependencies must be the sender's own messages,
// without a cycle.
std::string replay(const Exchange& exchange, std::uint64_t seed);

// "message 7 (2 -> 3)", for reasons.
std::string describe(const Exchange& exchange, std::uint32_t message);

}  // namespace orrery
