// SPDX-License-Identifier: MIT
// The hypercube inside a group of any size, for algorithms of exchanges between partners. Of n = 2^k + surplus ranks,
// the first `surplus` pairs (2j, 2j+1) act as one corner: 2j+1 first sends its part to 2j (fold) and gets its result
// from it at the end (unfold). In between, 2^k corners exchange with a partner in every round.
//
// A kind says what moves, as a struct C with
//   rounds(layout), partner(layout, corner, round)          whom a corner exchanges with; its partner's is the corner
//   fold(layout, rank), unfold(layout, rank)                what the folded `rank` sends first and gets last
//   exchange(layout, corner, round)                         what a corner sends to its partner
// whose results are a cargo with piece_count(layout), bytes(layout), pieces(layout) and combine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "collectives/program.h"

namespace orrery::collectives::cube {

inline bool is_paired(const Layout& layout, std::uint32_t rank) { return rank < 2 * layout.surplus; }
inline bool is_folded(const Layout& layout, std::uint32_t rank) { return is_paired(layout, rank) && rank % 2 == 1; }
inline bool has_folded(const Layout& layout, std::uint32_t rank) { return is_paired(layout, rank) && rank % 2 == 0; }

inline std::uint32_t corner_of(const Layout& layout, std::uint32_t rank) {
  return is_paired(layout, rank) ? rank / 2 : rank - layout.surplus;
}

// The rank that acts for a corner. The ranks of corners [a, b) are [rank_of(a), rank_of(b)), also for b = 2^k.
inline std::uint32_t rank_of(const Layout& layout, std::uint32_t corner) {
  return corner < layout.surplus ? 2 * corner : corner + layout.surplus;
}

// Ranks or pieces [first, first + count).
struct Block {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

// The corners of the aligned block of `size` (a power of two) that holds `corner`.
inline Block corners_around(std::uint32_t corner, std::uint32_t size) { return {corner & ~(size - 1), size}; }

// Every `stride`-th corner of [first, end).
struct Comb {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
  std::uint32_t stride = 1;

  std::uint32_t corners_below(std::uint32_t limit) const {
    const std::uint32_t last = std::min(limit, end);
    return first < last ? (last - 1 - first) / stride + 1 : 0;
  }
  std::uint32_t corner_count() const { return corners_below(end); }
  // A corner below the surplus has two ranks.
  std::uint32_t rank_count(const Layout& layout) const { return corner_count() + corners_below(layout.surplus); }
  std::vector<std::uint32_t> corners() const {
    std::vector<std::uint32_t> corners;
    for (std::uint32_t corner = first; corner < end; corner += stride) corners.push_back(corner);
    return corners;
  }
  std::vector<std::uint32_t> ranks(const Layout& layout) const {
    std::vector<std::uint32_t> ranks;
    for (const std::uint32_t corner : corners())
      for (std::uint32_t rank = rank_of(layout, corner); rank < rank_of(layout, corner + 1); ++rank)
        ranks.push_back(rank);
    return ranks;
  }
};

inline Comb comb_of(Block corners) { return {corners.first, corners.first + corners.count, 1}; }
inline Comb all_corners(const Layout& layout) { return {0, 1U << layout.rounds, 1}; }
// The corners that agree with `corner` in all bits below that of `stride`.
inline Comb corners_like(const Layout& layout, std::uint32_t corner, std::uint32_t stride) {
  return {corner & (stride - 1), 1U << layout.rounds, stride};
}

inline Block ranks_of(const Layout& layout, Block corners) {
  const std::uint32_t first = rank_of(layout, corners.first);
  return {first, rank_of(layout, corners.first + corners.count) - first};
}

// Sends and receives are alike: a folded rank has one of each, the others one per round and one for the folded rank.
template <class C>
std::uint32_t messages(const Layout& layout, std::uint32_t rank) {
  if (is_folded(layout, rank)) return 1;
  return C::rounds(layout) + (has_folded(layout, rank) ? 1 : 0);
}

template <class C>
auto cargo(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  if (is_folded(layout, rank)) return C::fold(layout, rank);
  if (index == C::rounds(layout)) return C::unfold(layout, rank + 1);
  return C::exchange(layout, corner_of(layout, rank), index);
}

// Receiver of a send, and the number of the receive there.
struct Receipt {
  std::uint32_t rank = 0;
  std::uint32_t slot = 0;
};

// The receive slot of fold is 0 and pushes the rounds back by one; unfold is the only receive of a folded rank.
template <class C>
Receipt receipt(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  if (is_folded(layout, rank)) return {rank - 1, 0};
  if (index == C::rounds(layout)) return {rank + 1, 0};
  const std::uint32_t partner = rank_of(layout, C::partner(layout, corner_of(layout, rank), index));
  return {partner, index + (has_folded(layout, partner) ? 1 : 0)};
}

template <class C>
Step step(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  const auto load = cargo<C>(layout, rank, index);
  const auto [to, slot] = receipt<C>(layout, rank, index);
  Step step = make_step(to, slot, load.piece_count(layout), load.bytes(layout), load.combine);
  if (is_folded(layout, rank)) return step;
  const std::uint32_t folds = has_folded(layout, rank) ? 1 : 0;
  if (index + folds > 0) step.needs = one_slot(index + folds - 1);
  step.after_send = earlier(index, 1);
  return step;
}

template <class C>
std::vector<PieceId> pieces(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  return cargo<C>(layout, rank, index).pieces(layout);
}

template <class C>
constexpr Program program(CollectiveKind kind, std::string_view cost, Split split = Split::kPowerOfTwo) {
  return {kind, split, messages<C>, messages<C>, step<C>, pieces<C>, cost};
}

}  // namespace orrery::collectives::cube
