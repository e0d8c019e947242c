// SPDX-License-Identifier: MIT
// Recursive doubling on the hypercube of cube.h: in round k every corner exchanges the whole buffer with the corner 2^k
// away, and both add what they get: log2(n) rounds, for small messages. The all-gather, and the barrier that is an
// all-gather of tokens, are those of `halving-doubling`.
#include <array>

#include "collectives/algorithms/cube.h"

namespace orrery::collectives {

const Program* halving_doubling(CollectiveKind kind);
const Program* recursive_doubling(CollectiveKind kind);

namespace {

struct WholeBuffer {
  Combine combine = Combine::kReduce;

  static std::uint32_t piece_count(const Layout&) { return 1; }
  static Bytes bytes(const Layout& layout) { return layout.piece; }
  static std::vector<PieceId> pieces(const Layout&) { return {0}; }
};

struct AllReduce {
  static std::uint32_t rounds(const Layout& layout) { return layout.rounds; }
  static std::uint32_t partner(const Layout&, std::uint32_t corner, std::uint32_t round) {
    return corner ^ (1U << round);
  }
  static WholeBuffer fold(const Layout&, std::uint32_t) { return {}; }
  static WholeBuffer unfold(const Layout&, std::uint32_t) { return {Combine::kCopy}; }
  static WholeBuffer exchange(const Layout&, std::uint32_t, std::uint32_t) { return {}; }
};

constexpr std::array kPrograms = {
    cube::program<AllReduce>(CollectiveKind::kAllReduce,
                             "log2(n)(a + S/b) for n = 2^k; else at most (floor(log2(n)) + 2)(a + S/b)", Split::kWhole),
};

}  // namespace

const Program* recursive_doubling(CollectiveKind kind) {
  if (const Program* program = program_of(kPrograms, kind)) return program;
  const bool has_same = kind == CollectiveKind::kAllGather || kind == CollectiveKind::kBarrier;
  return has_same ? halving_doubling(kind) : nullptr;
}

}  // namespace orrery::collectives
