// SPDX-License-Identifier: MIT
// In-network reduction: switches add up what comes from below on its way up, and copy the sum on its way down, as SHARP
// does. Every rank sends its buffer up once and receives the result once, both at a time, however many ranks there are.
//
// A program has one message from a rank to another, up to the switches and down from them, for every pair that the data
// must join; which is whose does not matter, since a link carries what its messages share once
// (Schedule::is_in_network). Around the ring of ranks each rank sends one message and receives one.
#include <array>

#include "collectives/program.h"

namespace orrery::collectives {
namespace {

std::uint32_t one(const Layout&, std::uint32_t) { return 1; }
std::uint32_t one_elsewhere(const Layout& layout, std::uint32_t rank) { return rank == layout.root ? 0 : 1; }
std::uint32_t all_at_root(const Layout& layout, std::uint32_t rank) {
  return rank == layout.root ? layout.ranks - 1 : 0;
}

Step around(const Layout& layout, std::uint32_t rank, std::uint32_t) {
  return make_step(ahead(layout, rank, 1), 0, 1, layout.piece, Combine::kCopy);
}

Step to_root(const Layout& layout, std::uint32_t rank, std::uint32_t) {
  return make_step(layout.root, behind(layout, layout.root, rank) - 1, 1, layout.piece, Combine::kReduce);
}

Step from_root(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  return make_step(ahead(layout, rank, index + 1), 0, 1, layout.piece, Combine::kCopy);
}

std::vector<PieceId> whole(const Layout&, std::uint32_t, std::uint32_t) { return {0}; }
std::vector<PieceId> own(const Layout&, std::uint32_t rank, std::uint32_t) { return {rank}; }

using enum CollectiveKind;
constexpr std::array kPrograms = {
    Program{.kind = kAllReduce,
            .split = Split::kWhole,
            .sends = one,
            .receives = one,
            .step = around,
            .pieces = whole,
            .cost = "a + S/b",
            .is_in_network = true},
    Program{.kind = kReduce,
            .split = Split::kWhole,
            .sends = one_elsewhere,
            .receives = all_at_root,
            .step = to_root,
            .pieces = whole,
            .cost = "a + S/b",
            .is_in_network = true},
    Program{.kind = kBroadcast,
            .split = Split::kWhole,
            .sends = all_at_root,
            .receives = one_elsewhere,
            .step = from_root,
            .pieces = whole,
            .cost = "a + S/b",
            .is_in_network = true},
    Program{.kind = kBarrier,
            .split = Split::kPerRank,
            .sends = one,
            .receives = one,
            .step = around,
            .pieces = own,
            .cost = "a",
            .is_in_network = true},
};

}  // namespace

const Program* in_network(CollectiveKind kind) { return program_of(kPrograms, kind); }

}  // namespace orrery::collectives
