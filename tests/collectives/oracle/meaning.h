// SPDX-License-Identifier: MIT
// What each collective starts from and what it promises, on symbolic data: which ranks' contributions a rank's copy of
// a piece contains. Schedule::pieces() says what a piece stands for.
#pragma once

#include <cstdint>

#include "tests/collectives/oracle/exchange.h"

namespace orrery {

// How many pieces the kind must have, or 0 where an algorithm is free to choose.
collectives::PieceId fixed_piece_kinds(CollectiveKind kind, std::uint32_t ranks);

// Whether `rank` has its own contribution to `piece` at the start; all other copies are unwritten.
bool has_input(const Exchange& exchange, std::uint32_t rank, collectives::PieceId piece);

// What must be in a rank's copy at the end.
struct Promise {
  enum class Content : std::uint8_t {
    kAnything,   // scratch space, never looked at
    kEverybody,  // every rank's contribution
    kOne,        // that of `owner` alone
  };
  Content content = Content::kAnything;
  std::uint32_t owner = 0;
};
Promise promise(const Exchange& exchange, std::uint32_t rank, collectives::PieceId piece);

}  // namespace orrery
