// SPDX-License-Identifier: MIT
// Recursive halving and doubling on the corners of cube.h: reduce-scatter exchanges halves of what is left, all-gather
// doubles what it has, in log2(n) rounds each with another partner; all-reduce is both, and a barrier an all-gather of
// empty tokens. The largest messages are the first of a reduce-scatter and the last of an all-gather.
//
// Who exchanges with whom is a struct P with, for the rounds of a halving (a doubling undoes them, the last one first),
//   partner(layout, corner, round)
//   share(layout, corner, round)    the corners whose pieces a corner still has to reduce before that round, and has
//                                   gathered after the round that undoes it; alone its own for `rounds`
// where the shares of partners after a round are disjoint and together the share of either before it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "collectives/algorithms/cube.h"

namespace orrery::collectives::halving {

inline constexpr std::uint32_t kNoPiece = UINT32_MAX;

// Two disjoint sets of corners, of which the second may be empty.
struct Share {
  cube::Comb first;
  cube::Comb second{0, 0, 1};
};

// The pieces of some corners (of all their ranks, where there is a piece for each rank), perhaps without one; or one.
struct Run {
  Share corners;
  Combine combine = Combine::kCopy;
  bool is_of_ranks = true;
  std::uint32_t without = kNoPiece;
  std::uint32_t only = kNoPiece;

  std::uint32_t piece_count(const Layout& layout) const {
    if (only != kNoPiece) return 1;
    return count(layout, corners.first) + count(layout, corners.second) - (without == kNoPiece ? 0 : 1);
  }
  Bytes bytes(const Layout& layout) const { return layout.piece * piece_count(layout); }
  std::vector<PieceId> pieces(const Layout& layout) const {
    if (only != kNoPiece) return {only};
    std::vector<PieceId> pieces;
    for (const cube::Comb& comb : {corners.first, corners.second})
      for (const std::uint32_t piece : is_of_ranks ? comb.ranks(layout) : comb.corners())
        if (piece != without) pieces.push_back(piece);
    return pieces;
  }

 private:
  std::uint32_t count(const Layout& layout, const cube::Comb& comb) const {
    return is_of_ranks ? comb.rank_count(layout) : comb.corner_count();
  }
};

inline Run all_but(const Layout& layout, std::uint32_t rank, Combine combine) {
  return {{cube::all_corners(layout)}, combine, true, rank};
}
inline Run piece_of(std::uint32_t rank, Combine combine) { return {{}, combine, true, kNoPiece, rank}; }

template <class P>
Share given_away(const Layout& layout, std::uint32_t corner, std::uint32_t round) {
  return P::share(layout, P::partner(layout, corner, round), round + 1);
}

template <class P>
std::uint32_t doubling_partner(const Layout& layout, std::uint32_t corner, std::uint32_t round) {
  return P::partner(layout, corner, layout.rounds - 1 - round);
}

template <class P>
Share gathered(const Layout& layout, std::uint32_t corner, std::uint32_t round) {
  return P::share(layout, corner, layout.rounds - round);
}

// A folded rank keeps its own part of its own piece, to which the sum of all others is added in the end.
template <class P>
struct ReduceScatter {
  static std::uint32_t rounds(const Layout& layout) { return layout.rounds; }
  static std::uint32_t partner(const Layout& layout, std::uint32_t corner, std::uint32_t round) {
    return P::partner(layout, corner, round);
  }
  static Run fold(const Layout& layout, std::uint32_t rank) { return all_but(layout, rank, Combine::kReduce); }
  static Run unfold(const Layout&, std::uint32_t rank) { return piece_of(rank, Combine::kReduce); }
  static Run exchange(const Layout& layout, std::uint32_t corner, std::uint32_t round) {
    return {given_away<P>(layout, corner, round), Combine::kReduce};
  }
};

template <class P>
struct AllGather {
  static std::uint32_t rounds(const Layout& layout) { return layout.rounds; }
  static std::uint32_t partner(const Layout& layout, std::uint32_t corner, std::uint32_t round) {
    return doubling_partner<P>(layout, corner, round);
  }
  static Run fold(const Layout&, std::uint32_t rank) { return piece_of(rank, Combine::kCopy); }
  static Run unfold(const Layout& layout, std::uint32_t rank) { return all_but(layout, rank, Combine::kCopy); }
  static Run exchange(const Layout& layout, std::uint32_t corner, std::uint32_t round) {
    return {gathered<P>(layout, corner, round), Combine::kCopy};
  }
};

// All-reduce cuts the buffer into one piece per corner.
template <class P>
struct AllReduce {
  static std::uint32_t rounds(const Layout& layout) { return 2 * layout.rounds; }
  static std::uint32_t partner(const Layout& layout, std::uint32_t corner, std::uint32_t round) {
    return round < layout.rounds ? P::partner(layout, corner, round)
                                 : doubling_partner<P>(layout, corner, round - layout.rounds);
  }
  static Run fold(const Layout& layout, std::uint32_t) {
    return {{cube::all_corners(layout)}, Combine::kReduce, false};
  }
  static Run unfold(const Layout& layout, std::uint32_t) {
    return {{cube::all_corners(layout)}, Combine::kCopy, false};
  }
  static Run exchange(const Layout& layout, std::uint32_t corner, std::uint32_t round) {
    if (round < layout.rounds) return {given_away<P>(layout, corner, round), Combine::kReduce, false};
    return {gathered<P>(layout, corner, round - layout.rounds), Combine::kCopy, false};
  }
};

template <class P>
constexpr std::array kPrograms = {
    cube::program<AllReduce<P>>(CollectiveKind::kAllReduce,
                                "2 log2(n)a + 2(n-1)c/b for n = 2^k; "
                                "else, with m = 2^k < n and c = ceil(S/m), at most 2(log2(m) + 1)a + (4m-2)c/b"),
    cube::program<AllGather<P>>(CollectiveKind::kAllGather,
                                "log2(n)a + (n-1)S/b for n = 2^k; else at most (floor(log2(n)) + 2)a + 3nS/b"),
    cube::program<ReduceScatter<P>>(CollectiveKind::kReduceScatter,
                                    "log2(n)a + (n-1)c/b for n = 2^k; else at most (floor(log2(n)) + 2)a + 3nc/b"),
    cube::program<AllGather<P>>(CollectiveKind::kBarrier, "log2(n)a for n = 2^k; else at most (floor(log2(n)) + 2)a"),
};

}  // namespace orrery::collectives::halving
