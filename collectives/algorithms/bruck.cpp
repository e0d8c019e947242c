// SPDX-License-Identifier: MIT
// Bruck et al. (1997): ceil(log2(n)) rounds for any number of ranks, with round k between ranks 2^k apart.
//
// All-gather: a rank has what it and those ahead of it brought, and sends all of it 2^k back, but in the last round
// only what is missing there. All-to-all: a piece goes to the rank o ahead of its source in as many hops as o has bits,
// lowest bit first; round k takes every piece whose o has bit k.
#include <algorithm>
#include <array>
#include <bit>

#include "collectives/program.h"

namespace orrery::collectives {

const Program* bruck(CollectiveKind kind);

namespace {

std::uint32_t rounds(const Layout& layout, std::uint32_t) {
  return static_cast<std::uint32_t>(std::bit_width(layout.ranks - 1));
}

Step step_of(std::uint32_t to, std::uint32_t index, std::uint32_t piece_count, Bytes bytes) {
  Step step = make_step(to, index, piece_count, bytes, Combine::kCopy);
  if (index > 0) step.needs = one_slot(index - 1);
  step.after_send = earlier(index, 1);
  return step;
}

std::uint32_t gathered(const Layout& layout, std::uint32_t index) {
  return std::min(1U << index, layout.ranks - (1U << index));
}

Step all_gather(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  const std::uint32_t count = gathered(layout, index);
  return step_of(behind(layout, rank, 1U << index), index, count, layout.piece * count);
}

std::vector<PieceId> all_gather_pieces(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  return pieces_of_ranks(layout, rank, gathered(layout, index));
}

// The offsets o with bit `index`: `turns` times all of 2^index in a row, then the first `rest` of them.
struct Offsets {
  std::uint32_t bit;
  std::uint32_t turns;
  std::uint32_t rest;
};
Offsets offsets_of(const Layout& layout, std::uint32_t index) {
  const std::uint32_t bit = 1U << index;
  const std::uint32_t in_last = layout.ranks % (2 * bit);
  return {bit, layout.ranks / (2 * bit), in_last > bit ? in_last - bit : 0};
}

// A piece with the offset o, moved by the bits below, has come o % 2^index from its source.
Step all_to_all(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  const auto [bit, turns, rest] = offsets_of(layout, index);
  Bytes bytes = layout.weight(behind(layout, rank, bit - 1), bit) * turns;
  if (rest > 0) bytes += layout.weight(behind(layout, rank, rest - 1), rest);
  return step_of(ahead(layout, rank, bit), index, turns * bit + rest, bytes);
}

std::vector<PieceId> all_to_all_pieces(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  std::vector<PieceId> pieces;
  for (std::uint32_t offset = 0; offset < layout.ranks; ++offset) {
    if ((offset >> index & 1) == 0) continue;
    const std::uint32_t source = behind(layout, rank, offset % (1U << index));
    pieces.push_back(PieceId{source} * layout.ranks + ahead(layout, source, offset));
  }
  return pieces;
}

using enum CollectiveKind;
constexpr std::array kPrograms = {
    Program{kAllGather, Split::kPerRank, rounds, rounds, all_gather, all_gather_pieces, "ceil(log2(n))a + (n-1)S/b"},
    Program{kAllToAll, Split::kPerRank, rounds, rounds, all_to_all, all_to_all_pieces,
            "log2(n)(a + n/2 c/b) for n = 2^k; else ceil(log2(n))a + Bc/b, where B counts the bits of 1 .. n-1"},
};

}  // namespace

const Program* bruck(CollectiveKind kind) { return program_of(kPrograms, kind); }

}  // namespace orrery::collectives
