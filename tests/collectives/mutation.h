// SPDX-License-Identifier: MIT
// Damages an exchange, message by message, to see that the oracle notices: a schedule has no message, piece or
// dependency that could be left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "collectives/oracle/exchange.h"
#include "tests/collectives/every_schedule.h"

namespace orrery {

struct MutationReport {
  std::size_t tried = 0;
  std::string survivor;  // the first damage that the oracle did not notice; "" if none
};

// Tries on every message, or on `most` random ones where there are more:
//   leaving it out;
//   sending it to another rank, which needs a third one. The old receiver no longer waits for a copy; for a reduction
//   it still does, since a contribution may rightly reach the sum by another way;
//   leaving out a piece, which needs two (else it is the same as leaving out the message);
//   exchanging a piece for another, which needs one that the message does not carry;
//   flipping its combine;
//   forgetting a receive that it waits for, unless the rest of its dependencies imply it, or the exchange waits for
//   more than the data needs (as a plan does between phases).
enum class Waits : std::uint8_t { kOnlyForData, kForMore };
// Pairwise exchange and Bruck's end a round before they begin the next, with pieces that may have been there before.
inline Waits waits_of(const Case& c) {
  return c.algorithm == "pairwise" || c.algorithm == "bruck" ? Waits::kForMore : Waits::kOnlyForData;
}
MutationReport try_mutations(const collectives::Exchange& exchange, std::size_t most, std::uint64_t seed,
                             Waits waits = Waits::kOnlyForData);

}  // namespace orrery
