// SPDX-License-Identifier: MIT
// Double binary tree (Sanders, Speck and Traeff 2009; NCCL): two binary trees with one root, each for half of the data,
// in which an inner node of one is a leaf of the other. A half goes in kSegments segments that follow one another, so
// that all levels are busy. The program is one tree; the other one is the same, descending (Algorithm::both_ways).
//
// The root is place 0. The other places are a binary search tree: an odd place is a leaf, place p with the lowest bit b
// has p - b/2 and p + b/2 below it, or, where that is beyond the end, the largest place p + 2^j that is not.
#include <algorithm>
#include <array>
#include <bit>

#include "collectives/algorithms/reduce_broadcast.h"

namespace orrery::collectives {

const Program* double_binary_tree(CollectiveKind kind);

namespace {

// The second tree numbers the other n - 1 ranks in descending order, the mirror image of the first. If n - 1 is odd,
// that would make leaves of the first tree leaves again, so the numbering goes one further.
std::uint32_t place_of(const Layout& layout, std::uint32_t rank) {
  const std::uint32_t place = distance(layout, layout.root, rank);
  if (!layout.descending || place == 0 || layout.ranks % 2 == 1) return place;
  return place == layout.ranks - 1 ? 1 : place + 1;
}
std::uint32_t rank_at(const Layout& layout, std::uint32_t place) {
  if (layout.descending && place != 0 && layout.ranks % 2 == 0) place = place == 1 ? layout.ranks - 1 : place - 1;
  return ahead(layout, layout.root, place);
}

std::uint32_t lowest_bit(std::uint32_t place) { return place & (~place + 1); }

std::uint32_t parent_of(const Layout& layout, std::uint32_t place) {
  const std::uint32_t bit = lowest_bit(place);
  const std::uint32_t parent = (place ^ bit) | (bit << 1);
  return parent < layout.ranks ? parent : place ^ bit;
}

std::uint32_t children_of(const Layout& layout, std::uint32_t place) {
  if (place == 0) return 1;
  if (place % 2 == 1) return 0;
  return place + 1 < layout.ranks ? 2 : 1;
}

std::uint32_t child_of(const Layout& layout, std::uint32_t place, std::uint32_t which) {
  if (place == 0) return std::bit_floor(layout.ranks - 1);
  const std::uint32_t half = lowest_bit(place) / 2;
  return which == 0 ? place - half : place + std::min(half, std::bit_floor(layout.ranks - 1 - place));
}

std::uint32_t to_parent(const Layout& layout, std::uint32_t rank) { return rank == layout.root ? 0 : layout.parts; }
std::uint32_t with_children(const Layout& layout, std::uint32_t rank) {
  return layout.parts * children_of(layout, place_of(layout, rank));
}

// Segment by segment: the receives of a segment from all children are side by side.
Step reduce(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  const std::uint32_t place = place_of(layout, rank);
  const std::uint32_t parent = parent_of(layout, place);
  const std::uint32_t which = parent != 0 && place > parent ? 1 : 0;
  Step step = make_step(rank_at(layout, parent), index * children_of(layout, parent) + which, 1, layout.piece,
                        Combine::kReduce);
  const std::uint32_t children = children_of(layout, place);
  if (children > 0) step.needs = {index * children, (index + 1) * children};
  step.after_send = earlier(index, 1);
  return step;
}

std::vector<PieceId> reduce_pieces(const Layout&, std::uint32_t, std::uint32_t index) { return {index}; }

// Both children are served at once.
Step broadcast(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  const std::uint32_t place = place_of(layout, rank);
  const std::uint32_t children = children_of(layout, place);
  const std::uint32_t segment = index / children;
  Step step =
      make_step(rank_at(layout, child_of(layout, place, index % children)), segment, 1, layout.piece, Combine::kCopy);
  if (rank != layout.root) step.needs = one_slot(segment);
  step.after_send = earlier(index, children);
  return step;
}

std::vector<PieceId> broadcast_pieces(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  return {index / children_of(layout, place_of(layout, rank))};
}

using enum CollectiveKind;
constexpr Program kReduceProgram = {kReduce,
                                    Split::kSegments,
                                    to_parent,
                                    with_children,
                                    reduce,
                                    reduce_pieces,
                                    "ceil(log2(n))(a + p/b) + 15p/b, p = ceil(S/16)"};
constexpr Program kBroadcastProgram = {kBroadcast,
                                       Split::kSegments,
                                       with_children,
                                       to_parent,
                                       broadcast,
                                       broadcast_pieces,
                                       "ceil(log2(n))(a + p/b) + 15p/b, p = ceil(S/16)"};

struct UpAndDown {
  static const Program& reduce() { return kReduceProgram; }
  static const Program& broadcast() { return kBroadcastProgram; }
  static SlotRange root_needs(const Layout&, std::uint32_t index) { return one_slot(index); }
};

constexpr std::array kPrograms = {
    reduce_broadcast::program<UpAndDown>(Split::kSegments,
                                         "(2 log2(n) - 2)(a + p/b) + 15p/b + max(2a + 2p/b, 15p/b) for n = 2^k > 2, "
                                         "at most with ceil(log2(n)) for log2(n) else; p = ceil(S/16)"),
    kReduceProgram,
    kBroadcastProgram,
};

}  // namespace

const Program* double_binary_tree(CollectiveKind kind) { return program_of(kPrograms, kind); }

}  // namespace orrery::collectives
