// Recursive halving and doubling on the hypercube of cube.h: reduce-scatter exchanges halves of what is left with
// partners n/2, n/4, ..., 1 away; all-gather doubles what it has with partners 1, 2, ..., n/2 away; all-reduce is both.
// The rooted kinds are binomial trees.
#include <array>

#include "collectives/cube.h"

namespace orrery {

const Program* hypercube_all_to_all(CollectiveKind kind);
const Program* halving_doubling(CollectiveKind kind);

namespace {

using cube::Block;

constexpr std::uint32_t kNoPiece = UINT32_MAX;

// A run of pieces, perhaps without one inside it.
struct Run {
  Block block;
  Combine combine = Combine::kCopy;
  std::uint32_t without = kNoPiece;

  std::uint32_t piece_count(const Layout&) const { return block.count - (without == kNoPiece ? 0 : 1); }
  Bytes bytes(const Layout& layout) const { return layout.piece * piece_count(layout); }
  std::vector<PieceId> pieces(const Layout&) const {
    std::vector<PieceId> pieces;
    for (std::uint32_t i = 0; i < block.count; ++i)
      if (block.first + i != without) pieces.push_back(block.first + i);
    return pieces;
  }
};

Block all_ranks(const Layout& layout) { return {0, layout.ranks}; }

std::uint32_t halving_distance(const Layout& layout, std::uint32_t round) { return 1U << (layout.rounds - 1 - round); }

// What a corner gives away in a halving round: the half of its block that its partner keeps.
Block given_half(const Layout& layout, std::uint32_t corner, std::uint32_t round) {
  const std::uint32_t distance = halving_distance(layout, round);
  return cube::corners_around(corner ^ distance, distance);
}

// What a corner has before a doubling round.
Block gathered(std::uint32_t corner, std::uint32_t round) { return cube::corners_around(corner, 1U << round); }

// A folded rank keeps its own part of its own piece, to which the sum of all others is added in the end.
struct ReduceScatter {
  static std::uint32_t rounds(const Layout& layout) { return layout.rounds; }
  static std::uint32_t distance(const Layout& layout, std::uint32_t round) { return halving_distance(layout, round); }
  static Run fold(const Layout& layout, std::uint32_t rank) { return {all_ranks(layout), Combine::kReduce, rank}; }
  static Run unfold(const Layout&, std::uint32_t rank) { return {{rank, 1}, Combine::kReduce}; }
  static Run exchange(const Layout& layout, std::uint32_t corner, std::uint32_t round) {
    return {cube::ranks_of(layout, given_half(layout, corner, round)), Combine::kReduce};
  }
};

struct AllGather {
  static std::uint32_t rounds(const Layout& layout) { return layout.rounds; }
  static std::uint32_t distance(const Layout&, std::uint32_t round) { return 1U << round; }
  static Run fold(const Layout&, std::uint32_t rank) { return {{rank, 1}, Combine::kCopy}; }
  static Run unfold(const Layout& layout, std::uint32_t rank) { return {all_ranks(layout), Combine::kCopy, rank}; }
  static Run exchange(const Layout& layout, std::uint32_t corner, std::uint32_t round) {
    return {cube::ranks_of(layout, gathered(corner, round)), Combine::kCopy};
  }
};

// All-reduce cuts the buffer into one piece per corner.
struct AllReduce {
  static std::uint32_t rounds(const Layout& layout) { return 2 * layout.rounds; }
  static std::uint32_t distance(const Layout& layout, std::uint32_t round) {
    return round < layout.rounds ? halving_distance(layout, round) : 1U << (round - layout.rounds);
  }
  static Run fold(const Layout& layout, std::uint32_t) { return {{0, layout.parts}, Combine::kReduce}; }
  static Run unfold(const Layout& layout, std::uint32_t) { return {{0, layout.parts}, Combine::kCopy}; }
  static Run exchange(const Layout& layout, std::uint32_t corner, std::uint32_t round) {
    if (round < layout.rounds) return {given_half(layout, corner, round), Combine::kReduce};
    return {gathered(corner, round - layout.rounds), Combine::kCopy};
  }
};

using enum CollectiveKind;
constexpr std::array kPrograms = {
    cube::program<AllReduce>(kAllReduce,
                             "2 log2(n)a + 2(n-1)c/b for n = 2^k; "
                             "else, with m = 2^k < n and c = ceil(S/m), at most 2(log2(m) + 1)a + (4m-2)c/b"),
    cube::program<AllGather>(kAllGather,
                             "log2(n)a + (n-1)S/b for n = 2^k; else at most (floor(log2(n)) + 2)a + 3nS/b"),
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

}  // namespace orrery
