// SPDX-License-Identifier: MIT
// Pairwise exchange: an all-to-all in n - 1 rounds, each a send and a receive that both end before the next begins. Of
// 2^k ranks, round i exchanges with rank ^ i; of others, it sends i ahead and receives from i behind.
#include <array>
#include <bit>

#include "collectives/program.h"

namespace orrery::collectives {

const Program* pairwise(CollectiveKind kind);

namespace {

std::uint32_t to_all(const Layout& layout, std::uint32_t) { return layout.ranks - 1; }

std::uint32_t peer(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  return std::has_single_bit(layout.ranks) ? rank ^ (index + 1) : ahead(layout, rank, index + 1);
}

Step all_to_all(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  Step step = make_step(peer(layout, rank, index), index, 1, layout.weight_of(rank), Combine::kCopy);
  if (index > 0) step.needs = one_slot(index - 1);
  step.after_send = earlier(index, 1);
  return step;
}

std::vector<PieceId> pieces(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  return {PieceId{rank} * layout.ranks + peer(layout, rank, index)};
}

constexpr std::array kPrograms = {
    Program{CollectiveKind::kAllToAll, Split::kPerRank, to_all, to_all, all_to_all, pieces, "(n-1)(a + c/b)"},
};

}  // namespace

const Program* pairwise(CollectiveKind kind) { return program_of(kPrograms, kind); }

}  // namespace orrery::collectives
