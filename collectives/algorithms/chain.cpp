// SPDX-License-Identifier: MIT
// Chains: the rooted collectives of `ring`. Data flows along the ring from the root to the rank before it, or from the
// rank after the root to the root, in pieces that follow one another. Send i of a rank passes on an earlier receive.
#include <array>

#include "collectives/program.h"

namespace orrery::collectives {
namespace {

// Distance from the head of the chain: the root (outward) or the rank after it (inward, where the root is last).
std::uint32_t outward(const Layout& layout, std::uint32_t rank) { return distance(layout, layout.root, rank); }
std::uint32_t inward(const Layout& layout, std::uint32_t rank) {
  return distance(layout, ahead(layout, layout.root, 1), rank);
}
bool is_last(const Layout& layout, std::uint32_t place) { return place == layout.ranks - 1; }

Step step_of(const Layout& layout, std::uint32_t rank, std::uint32_t index, Bytes bytes, Combine combine) {
  Step step = make_step(ahead(layout, rank, 1), index, 1, bytes, combine);
  step.after_send = earlier(index, 1);
  return step;
}

std::vector<PieceId> part_at_index(const Layout&, std::uint32_t, std::uint32_t index) { return {index}; }

// Broadcast and reduce: the buffer in n parts, each passed on (and added to) as soon as it is there.
std::uint32_t broadcast_sends(const Layout& layout, std::uint32_t rank) {
  return is_last(layout, outward(layout, rank)) ? 0 : layout.parts;
}

std::uint32_t broadcast_receives(const Layout& layout, std::uint32_t rank) {
  return rank == layout.root ? 0 : layout.parts;
}

Step broadcast(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  Step step = step_of(layout, rank, index, layout.piece, Combine::kCopy);
  if (rank != layout.root) step.needs = one_slot(index);
  return step;
}

std::uint32_t reduce_sends(const Layout& layout, std::uint32_t rank) { return rank == layout.root ? 0 : layout.parts; }

std::uint32_t reduce_receives(const Layout& layout, std::uint32_t rank) {
  return inward(layout, rank) == 0 ? 0 : layout.parts;
}

Step reduce(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  Step step = step_of(layout, rank, index, layout.piece, Combine::kReduce);
  if (inward(layout, rank) > 0) step.needs = one_slot(index);
  return step;
}

// Gather: each rank's own piece first, then those from further up the chain.
std::uint32_t gather_sends(const Layout& layout, std::uint32_t rank) {
  return rank == layout.root ? 0 : inward(layout, rank) + 1;
}

std::uint32_t gather_receives(const Layout& layout, std::uint32_t rank) { return inward(layout, rank); }

Step gather(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  Step step = step_of(layout, rank, index, layout.weight_of(behind(layout, rank, index)), Combine::kCopy);
  if (index > 0) step.needs = one_slot(index - 1);
  return step;
}

std::vector<PieceId> gather_pieces(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  return {behind(layout, rank, index)};
}

// Scatter: the piece with the longest way first; a rank's own piece is the last that it receives.
std::uint32_t scatter_sends(const Layout& layout, std::uint32_t rank) {
  return layout.ranks - 1 - outward(layout, rank);
}

std::uint32_t scatter_receives(const Layout& layout, std::uint32_t rank) {
  return rank == layout.root ? 0 : layout.ranks - outward(layout, rank);
}

Step scatter(const Layout& layout, std::uint32_t rank, std::uint32_t index) { return broadcast(layout, rank, index); }

std::vector<PieceId> scatter_pieces(const Layout& layout, std::uint32_t, std::uint32_t index) {
  return {behind(layout, layout.root, index + 1)};
}

using enum CollectiveKind;
constexpr std::array kPrograms = {
    Program{kReduce, Split::kPerRank, reduce_sends, reduce_receives, reduce, part_at_index, "(n-1)a + (2n-2)c/b"},
    Program{kGather, Split::kPerRank, gather_sends, gather_receives, gather, gather_pieces, "(n-1)(a + S/b)"},
    Program{kScatter, Split::kPerRank, scatter_sends, scatter_receives, scatter, scatter_pieces, "(n-1)(a + c/b)"},
    Program{kBroadcast, Split::kPerRank, broadcast_sends, broadcast_receives, broadcast, part_at_index,
            "(n-1)a + (2n-2)c/b"},
};

}  // namespace

const Program* chain(CollectiveKind kind) { return program_of(kPrograms, kind); }

}  // namespace orrery::collectives
