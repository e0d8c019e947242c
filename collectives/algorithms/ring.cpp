// SPDX-License-Identifier: MIT
// Ring: every rank talks to the next one only, and sends one message at a time. So the j-th receive of a rank is the
// j-th send of the rank before it, and send i passes on what receive i-1 brought. A bidirectional ring is two of these,
// each with half of the data, one of them descending (phase_plan.h).
#include <array>

#include "collectives/program.h"

namespace orrery::collectives {
namespace {

std::uint32_t one_turn(const Layout& layout, std::uint32_t) { return layout.ranks - 1; }
std::uint32_t two_turns(const Layout& layout, std::uint32_t) { return 2 * (layout.ranks - 1); }

Step step_of(const Layout& layout, std::uint32_t rank, std::uint32_t index, std::uint32_t piece_count, Bytes bytes,
             Combine combine) {
  Step step = make_step(ahead(layout, rank, 1), index, piece_count, bytes, combine);
  if (index > 0) step.needs = one_slot(index - 1);
  step.after_send = earlier(index, 1);
  return step;
}

// Reduce-scatter: the sum for rank p starts at p+1 and grows at every rank on its way round to p.
Step reduce_scatter(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  return step_of(layout, rank, index, 1, layout.piece, Combine::kReduce);
}

std::vector<PieceId> reduce_scatter_pieces(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  return {behind(layout, rank, index + 1)};
}

// All-gather, and the barrier as an all-gather of empty tokens.
Step all_gather(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  return step_of(layout, rank, index, 1, layout.piece, Combine::kCopy);
}

std::vector<PieceId> all_gather_pieces(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  return {behind(layout, rank, index)};
}

// All-reduce: a reduce-scatter, then an all-gather of its results.
Step all_reduce(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  const Combine combine = index < layout.ranks - 1 ? Combine::kReduce : Combine::kCopy;
  return step_of(layout, rank, index, 1, layout.piece, combine);
}

std::vector<PieceId> all_reduce_pieces(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  const std::uint32_t turn = layout.ranks - 1;
  return index < turn ? reduce_scatter_pieces(layout, rank, index) : all_gather_pieces(layout, rank, index - turn);
}

// All-to-all: send i carries what the rank i places back has for the ranks that are further than i away from it.
Step all_to_all(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  const std::uint32_t count = layout.ranks - 1 - index;
  const Bytes bytes = layout.weight_of(behind(layout, rank, index)) * count;
  return step_of(layout, rank, index, count, bytes, Combine::kCopy);
}

std::vector<PieceId> all_to_all_pieces(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  const PieceId source = behind(layout, rank, index);
  std::vector<PieceId> pieces = pieces_of_ranks(layout, ahead(layout, rank, 1), layout.ranks - 1 - index);
  for (PieceId& piece : pieces) piece += source * layout.ranks;
  return pieces;
}

using enum CollectiveKind;
constexpr bool kUniformRing = true;
constexpr std::array kPrograms = {
    Program{kAllReduce, Split::kPerRank, two_turns, two_turns, all_reduce, all_reduce_pieces, "2(n-1)(a + c/b)", 0,
            kUniformRing},
    Program{kAllGather, Split::kPerRank, one_turn, one_turn, all_gather, all_gather_pieces, "(n-1)(a + S/b)", 0,
            kUniformRing},
    Program{kAllToAll, Split::kPerRank, one_turn, one_turn, all_to_all, all_to_all_pieces, "(n-1)a + n(n-1)/2 c/b"},
    Program{kReduceScatter, Split::kPerRank, one_turn, one_turn, reduce_scatter, reduce_scatter_pieces,
            "(n-1)(a + c/b)", 0, kUniformRing},
    Program{kBarrier, Split::kPerRank, one_turn, one_turn, all_gather, all_gather_pieces, "(n-1)a", 0, kUniformRing},
};

}  // namespace

const Program* ring(CollectiveKind kind) {
  const Program* program = program_of(kPrograms, kind);
  return program != nullptr ? program : chain(kind);
}

}  // namespace orrery::collectives
