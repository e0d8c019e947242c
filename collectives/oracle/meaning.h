// SPDX-License-Identifier: MIT
// Meaning of each collective on symbolic data, at the start and at the end: the ranks whose contributions a rank's copy
// of a piece contains. Schedule::pieces() says what a piece stands for.
#pragma once

#include <cstdint>
#include <string>

#include "collectives/oracle/exchange.h"

namespace orrery::collectives {

// Number of pieces that the exchange must have; 0 if an algorithm may choose.
PieceId fixed_piece_kinds(const Exchange& exchange);

// True if `rank` has its own contribution to `piece` at the start; all other copies are unwritten.
bool has_input(const Exchange& exchange, std::uint32_t rank, PieceId piece);

// Promised contents of a rank's copy at the end.
struct Promise {
  enum class Content : std::uint8_t {
    kAnything,   // scratch space, never looked at
    kEverybody,  // every rank's contribution
    kOne,        // that of `owner` alone
  };
  Content content = Content::kAnything;
  std::uint32_t owner = 0;
};
Promise promise(const Exchange& exchange, std::uint32_t rank, PieceId piece);

// The place of a rank's own contribution to `piece`, where it has_input(), and of what it is promised of it. Without
// buffers, the piece itself.
PieceId place_of_input(const Exchange& exchange, std::uint32_t rank, PieceId piece);
PieceId place_of_result(const Exchange& exchange, std::uint32_t rank, PieceId piece);

// Place `offset` of a buffer of `rank`; of the input and the output of a collective of `kind`.
PieceId place_in(const Buffers& buffers, CollectiveKind kind, std::uint32_t rank, Buffers::Kind buffer,
                 std::uint32_t offset);

// "piece 3"; with buffers "chunk 3".
std::string name_of_piece(const Exchange& exchange, PieceId piece);
// "o[3]" with buffers.
std::string name_of_place(const Exchange& exchange, PieceId place);

}  // namespace orrery::collectives
