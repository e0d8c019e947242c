// SPDX-License-Identifier: MIT
// Judges an exchange by what it does to data, knowing nothing of how it was made: it replays the messages on symbolic
// data, where each rank's copy of a piece is the set of ranks whose contribution it contains.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "collectives/oracle/exchange.h"

namespace orrery::collectives {

struct Verdict {
  bool correct = false;
  std::string reason;                      // why not, for people; empty when correct
  std::optional<std::uint32_t> message{};  // that is at fault, where it is one
};

// Checks, in this order:
//   1. Form: ranks and pieces in range, switches only added to, no message to oneself (but with buffers), no piece
//   twice
//      in a message, every dependency one of the sender's own messages (to land, of the receiver's), no cycle.
//   2. Races: two messages that touch a rank's copy of a piece, one of them writing, are ordered by their dependencies,
//      unless both reduce. A message reads from its start to its release and may write until it arrives. What is to
//      be added is kept beside the copy until a send of the receiver that waits for it starts, or until the end:
//      before that, the copy may still be read and overwritten. With buffers neither holds: sums are written at once.
//   3. Meaning, replayed once per seed in a random order that the dependencies allow: no message reads a piece that was
//      never written, reduces onto nothing or counts a contribution twice, and in the end every rank has exactly what
//      the collective promises.
Verdict check_meaning(const Exchange& exchange, std::span<const std::uint64_t> seeds);

}  // namespace orrery::collectives
