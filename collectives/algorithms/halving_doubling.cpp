// SPDX-License-Identifier: MIT
// Recursive halving and doubling on the hypercube of cube.h: reduce-scatter exchanges halves of what is left,
// all-gather doubles what it has, in log2(n) rounds of which each has another distance between partners; all-reduce is
// both. The largest messages are the first of a reduce-scatter and the last of an all-gather. They go to the partners
// farthest away, n/2, so that pieces stay in one run; or, Request::nearest_first, to those next to each other. The
// rooted kinds are binomial trees.
#include <array>

#include "collectives/algorithms/cube.h"

namespace orrery::collectives {

const Program* hypercube_all_to_all(CollectiveKind kind);
const Program* halving_doubling(CollectiveKind kind);

namespace {

using cube::Comb;

constexpr std::uint32_t kNoPiece = UINT32_MAX;

// The pieces of some corners (of all their ranks, where there is a piece for each rank), perhaps without one; or one.
struct Run {
  Comb corners;
  Combine combine = Combine::kCopy;
  bool is_of_ranks = true;
  std::uint32_t without = kNoPiece;
  std::uint32_t only = kNoPiece;

  std::uint32_t piece_count(const Layout& layout) const {
    if (only != kNoPiece) return 1;
    return (is_of_ranks ? corners.rank_count(layout) : corners.corner_count()) - (without == kNoPiece ? 0 : 1);
  }
  Bytes bytes(const Layout& layout) const { return layout.piece * piece_count(layout); }
  std::vector<PieceId> pieces(const Layout& layout) const {
    if (only != kNoPiece) return {only};
    std::vector<PieceId> pieces;
    for (const std::uint32_t piece : is_of_ranks ? corners.ranks(layout) : corners.corners())
      if (piece != without) pieces.push_back(piece);
    return pieces;
  }
};

Run all_but(const Layout& layout, std::uint32_t rank, Combine combine) {
  return {cube::all_corners(layout), combine, true, rank};
}
Run piece_of(std::uint32_t rank, Combine combine) { return {{}, combine, true, kNoPiece, rank}; }

// Of the partners in a round, the first one with the largest messages.
std::uint32_t halving_distance(const Layout& layout, std::uint32_t round) {
  return 1U << (layout.nearest_first ? round : layout.rounds - 1 - round);
}
std::uint32_t doubling_distance(const Layout& layout, std::uint32_t round) {
  return halving_distance(layout, layout.rounds - 1 - round);
}

// What a corner still has to reduce before a halving round, and has gathered after the doubling round that undoes it:
// where it agrees with the corner in the bits of the rounds before.
Comb share(const Layout& layout, std::uint32_t corner, std::uint32_t round) {
  if (layout.nearest_first) return cube::corners_like(layout, corner, 1U << round);
  return cube::comb_of(cube::corners_around(corner, 1U << (layout.rounds - round)));
}

// What a corner gives away in a halving round: what its partner keeps.
Comb given_half(const Layout& layout, std::uint32_t corner, std::uint32_t round) {
  return share(layout, corner ^ halving_distance(layout, round), round + 1);
}

// What a corner has before a doubling round.
Comb gathered(const Layout& layout, std::uint32_t corner, std::uint32_t round) {
  return share(layout, corner, layout.rounds - round);
}

// A folded rank keeps its own part of its own piece, to which the sum of all others is added in the end.
struct ReduceScatter {
  static std::uint32_t rounds(const Layout& layout) { return layout.rounds; }
  static std::uint32_t distance(const Layout& layout, std::uint32_t round) { return halving_distance(layout, round); }
  static Run fold(const Layout& layout, std::uint32_t rank) { return all_but(layout, rank, Combine::kReduce); }
  static Run unfold(const Layout&, std::uint32_t rank) { return piece_of(rank, Combine::kReduce); }
  static Run exchange(const Layout& layout, std::uint32_t corner, std::uint32_t round) {
    return {given_half(layout, corner, round), Combine::kReduce};
  }
};

struct AllGather {
  static std::uint32_t rounds(const Layout& layout) { return layout.rounds; }
  static std::uint32_t distance(const Layout& layout, std::uint32_t round) { return doubling_distance(layout, round); }
  static Run fold(const Layout&, std::uint32_t rank) { return piece_of(rank, Combine::kCopy); }
  static Run unfold(const Layout& layout, std::uint32_t rank) { return all_but(layout, rank, Combine::kCopy); }
  static Run exchange(const Layout& layout, std::uint32_t corner, std::uint32_t round) {
    return {gathered(layout, corner, round), Combine::kCopy};
  }
};

// All-reduce cuts the buffer into one piece per corner.
struct AllReduce {
  static std::uint32_t rounds(const Layout& layout) { return 2 * layout.rounds; }
  static std::uint32_t distance(const Layout& layout, std::uint32_t round) {
    return round < layout.rounds ? halving_distance(layout, round) : doubling_distance(layout, round - layout.rounds);
  }
  static Run fold(const Layout& layout, std::uint32_t) { return {cube::all_corners(layout), Combine::kReduce, false}; }
  static Run unfold(const Layout& layout, std::uint32_t) { return {cube::all_corners(layout), Combine::kCopy, false}; }
  static Run exchange(const Layout& layout, std::uint32_t corner, std::uint32_t round) {
    if (round < layout.rounds) return {given_half(layout, corner, round), Combine::kReduce, false};
    return {gathered(layout, corner, round - layout.rounds), Combine::kCopy, false};
  }
};

using enum CollectiveKind;
constexpr std::array kPrograms = {
    cube::program<AllReduce>(kAllReduce,
                             "2 log2(n)a + 2(n-1)c/b for n = 2^k; "
                             "else, with m = 2^k < n and c = ceil(S/m), at most 2(log2(m) + 1)a + (4m-2)c/b"),
    cube::program<AllGather>(kAllGather, "log2(n)a + (n-1)S/b for n = 2^k; else at most (floor(log2(n)) + 2)a + 3nS/b"),
    cube::program<ReduceScatter>(kReduceScatter,
                                 "log2(n)a + (n-1)c/b for n = 2^k; else at most (floor(log2(n)) + 2)a + 3nc/b"),
    cube::program<AllGather>(kBarrier, "log2(n)a for n = 2^k; else at most (floor(log2(n)) + 2)a"),
};

}  // namespace

const Program* halving_doubling(CollectiveKind kind) {
  if (const Program* program = program_of(kPrograms, kind)) return program;
  if (const Program* program = hypercube_all_to_all(kind)) return program;
  return binomial_tree(kind);
}

}  // namespace orrery::collectives
