// SPDX-License-Identifier: MIT
// Binomial trees, for any number of ranks: `binomial-tree`, and the rooted collectives of `halving-doubling`. A rank's
// place is its distance from the root; its parent is its place without the lowest set bit, its children are place + 2^j
// below that bit. An all-reduce goes up the tree and down again.
#include <algorithm>
#include <array>
#include <bit>

#include "collectives/algorithms/reduce_broadcast.h"

namespace orrery::collectives {
namespace {

std::uint32_t place_of(const Layout& layout, std::uint32_t rank) { return distance(layout, layout.root, rank); }
std::uint32_t rank_at(const Layout& layout, std::uint32_t place) { return ahead(layout, layout.root, place); }
std::uint32_t lowest_bit(std::uint32_t place) { return static_cast<std::uint32_t>(std::countr_zero(place)); }

// The children of a place are place + 2^j for every j below this.
std::uint32_t children_of_place(const Layout& layout, std::uint32_t place) {
  const auto inside = static_cast<std::uint32_t>(std::bit_width(layout.ranks - 1 - place));
  return place == 0 ? inside : std::min(lowest_bit(place), inside);
}

// The places of a subtree are place .. place + this - 1.
std::uint32_t subtree_size(const Layout& layout, std::uint32_t place) {
  return std::min(1U << lowest_bit(place), layout.ranks - place);
}

std::uint32_t to_children(const Layout& layout, std::uint32_t rank) {
  return children_of_place(layout, place_of(layout, rank));
}

std::uint32_t parent_only(const Layout& layout, std::uint32_t rank) { return rank == layout.root ? 0 : 1; }

// Outward, the largest subtree is served first.
std::uint32_t child(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  const std::uint32_t place = place_of(layout, rank);
  return place + (1U << (children_of_place(layout, place) - 1 - index));
}

Step to_child(const Layout& layout, std::uint32_t rank, std::uint32_t index, std::uint32_t piece_count, Bytes bytes) {
  Step step = make_step(rank_at(layout, child(layout, rank, index)), 0, piece_count, bytes, Combine::kCopy);
  if (rank != layout.root) step.needs = one_slot(0);
  step.after_send = earlier(index, 1);
  return step;
}

// Inward, a rank sends once, when all its children have arrived; child place + 2^j is receive j.
Step to_parent(const Layout& layout, std::uint32_t rank, std::uint32_t piece_count, Bytes bytes, Combine combine) {
  const std::uint32_t place = place_of(layout, rank);
  Step step = make_step(rank_at(layout, place & (place - 1)), lowest_bit(place), piece_count, bytes, combine);
  step.needs = {0, children_of_place(layout, place)};
  return step;
}

Step broadcast(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  return to_child(layout, rank, index, 1, layout.piece);
}

Step reduce(const Layout& layout, std::uint32_t rank, std::uint32_t) {
  return to_parent(layout, rank, 1, layout.piece, Combine::kReduce);
}

Step scatter(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  const std::uint32_t count = subtree_size(layout, child(layout, rank, index));
  return to_child(layout, rank, index, count, layout.piece * count);
}

Step gather(const Layout& layout, std::uint32_t rank, std::uint32_t) {
  const std::uint32_t count = subtree_size(layout, place_of(layout, rank));
  return to_parent(layout, rank, count, layout.weight(rank, count), Combine::kCopy);
}

std::vector<PieceId> whole(const Layout&, std::uint32_t, std::uint32_t) { return {0}; }

std::vector<PieceId> pieces_of_child(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  const std::uint32_t place = child(layout, rank, index);
  return pieces_of_ranks(layout, rank_at(layout, place), subtree_size(layout, place));
}

std::vector<PieceId> pieces_of_subtree(const Layout& layout, std::uint32_t rank, std::uint32_t) {
  return pieces_of_ranks(layout, rank, subtree_size(layout, place_of(layout, rank)));
}

using enum CollectiveKind;
constexpr Program kReduceProgram = {kReduce,
                                    Split::kWhole,
                                    parent_only,
                                    to_children,
                                    reduce,
                                    whole,
                                    "log2(n)(a + S/b) for n = 2^k, at most ceil(log2(n))(a + S/b) else"};
constexpr Program kBroadcastProgram = {kBroadcast,
                                       Split::kWhole,
                                       to_children,
                                       parent_only,
                                       broadcast,
                                       whole,
                                       "log2(n)(a + S/b) for n = 2^k, at most ceil(log2(n))(a + S/b) else"};

struct UpAndDown {
  static const Program& reduce() { return kReduceProgram; }
  static const Program& broadcast() { return kBroadcastProgram; }
  static SlotRange root_needs(const Layout& layout, std::uint32_t) { return {0, to_children(layout, layout.root)}; }
};

constexpr std::array kPrograms = {
    reduce_broadcast::program<UpAndDown>(Split::kWhole,
                                         "2 log2(n)(a + S/b) for n = 2^k, at most 2 ceil(log2(n))(a + S/b) else"),
    kReduceProgram,
    Program{kGather, Split::kPerRank, parent_only, to_children, gather, pieces_of_subtree,
            "log2(n)a + (n-1)S/b for n = 2^k, at most ceil(log2(n))a + (n-1)S/b else"},
    Program{kScatter, Split::kPerRank, to_children, parent_only, scatter, pieces_of_child,
            "log2(n)a + (n-1)c/b for n = 2^k, at most ceil(log2(n))a + (n-1)c/b else"},
    kBroadcastProgram,
};

}  // namespace

const Program* binomial_tree(CollectiveKind kind) { return program_of(kPrograms, kind); }

}  // namespace orrery::collectives
