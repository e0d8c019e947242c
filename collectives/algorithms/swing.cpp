// SPDX-License-Identifier: MIT
// Swing (De Sensi, Bonato, Saam and Hoefler, NSDI 2024): recursive halving and doubling whose partners are near on a
// ring. In round s an even corner exchanges with the one d(s) ahead, an odd one with that d(s) back, where d(s) =
// (1 - (-2)^(s+1)) / 3 = 1, -1, 3, -5, 11, ...: the k-th partner is some 2^k/3 away, where it is 2^k along bits.
//
// Since d(s+1) = d(s) - (-2)^(s+1), the share of corner r before round s is the corners that are r or its partner of
// that round, modulo 2^(s+1).
#include "collectives/algorithms/halving.h"

namespace orrery::collectives {

const Program* swing(CollectiveKind kind);

namespace {

struct NearOnRing {
  static std::uint32_t partner(const Layout& layout, std::uint32_t corner, std::uint32_t round) {
    const std::int64_t power = std::int64_t{2} << round;  // 2^(s+1)
    const std::int64_t distance = (1 - (round % 2 == 1 ? power : -power)) / 3;
    const std::int64_t corners = std::int64_t{1} << layout.rounds;
    const std::int64_t to = corner + (corner % 2 == 0 ? distance : -distance);
    return static_cast<std::uint32_t>((to + corners) % corners);
  }
  static halving::Share share(const Layout& layout, std::uint32_t corner, std::uint32_t round) {
    if (round == layout.rounds) return {{corner, corner + 1, 1}};
    const std::uint32_t stride = 2U << round;
    return {cube::corners_like(layout, corner, stride),
            cube::corners_like(layout, partner(layout, corner, round), stride)};
  }
};

}  // namespace

const Program* swing(CollectiveKind kind) { return program_of(halving::kPrograms<NearOnRing>, kind); }

}  // namespace orrery::collectives
