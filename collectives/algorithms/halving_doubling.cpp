// SPDX-License-Identifier: MIT
// Recursive halving and doubling (halving.h) along the bits of the corners. The largest messages go to the partners
// farthest away, n/2, so that pieces stay in one run; or, Request::nearest_first, to those next to each other. The
// all-to-all is that of hypercube_all_to_all.cpp, the rooted kinds are binomial trees.
#include "collectives/algorithms/halving.h"

namespace orrery::collectives {

const Program* hypercube_all_to_all(CollectiveKind kind);
const Program* halving_doubling(CollectiveKind kind);

namespace {

struct AlongBits {
  static std::uint32_t partner(const Layout& layout, std::uint32_t corner, std::uint32_t round) {
    return corner ^ (1U << (layout.nearest_first ? round : layout.rounds - 1 - round));
  }
  // Share that agrees with the corner in the bits of the rounds before.
  static halving::Share share(const Layout& layout, std::uint32_t corner, std::uint32_t round) {
    if (layout.nearest_first) return {cube::corners_like(layout, corner, 1U << round)};
    return {cube::comb_of(cube::corners_around(corner, 1U << (layout.rounds - round)))};
  }
};

}  // namespace

const Program* halving_doubling(CollectiveKind kind) {
  if (const Program* program = program_of(halving::kPrograms<AlongBits>, kind)) return program;
  if (const Program* program = hypercube_all_to_all(kind)) return program;
  return binomial_tree(kind);
}

}  // namespace orrery::collectives
