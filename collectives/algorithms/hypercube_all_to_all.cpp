// SPDX-License-Identifier: MIT
// All-to-all on the hypercube of cube.h: round j hands everything whose destination differs in bit j to the partner
// 2^j away. Before it, a corner holds what the corners that agree in all bits from j on sent to those that agree in all
// bits below j. With n = 2^k that is n/2 pieces per round.
#include <array>

#include "collectives/algorithms/cube.h"

namespace orrery::collectives {

const Program* hypercube_all_to_all(CollectiveKind kind);

namespace {

using cube::Block;
using cube::Comb;

constexpr std::uint32_t kNobody = UINT32_MAX;

// The pieces from each of the sources to each of the destinations, but none from `folded` to itself.
struct Parcel {
  Block sources;
  Comb destinations;
  std::uint32_t folded = kNobody;
  bool only_to_folded = false;  // which then is the one destination
  Combine combine = Combine::kCopy;

  std::uint32_t destination_count(const Layout& layout) const {
    return only_to_folded ? 1 : destinations.rank_count(layout);
  }
  std::uint32_t piece_count(const Layout& layout) const {
    return sources.count * destination_count(layout) - (folded == kNobody ? 0 : 1);
  }
  Bytes bytes(const Layout& layout) const {
    const Bytes all = layout.weight(sources.first, sources.count) * destination_count(layout);
    return folded == kNobody ? all : all - layout.weight_of(folded);
  }
  std::vector<PieceId> pieces(const Layout& layout) const {
    const auto to = only_to_folded ? std::vector<std::uint32_t>{folded} : destinations.ranks(layout);
    std::vector<PieceId> pieces;
    for (std::uint32_t source = sources.first; source < sources.first + sources.count; ++source)
      for (const std::uint32_t destination : to)
        if (source != folded || destination != folded) pieces.push_back(PieceId{source} * layout.ranks + destination);
    return pieces;
  }
};

struct AllToAll {
  static std::uint32_t rounds(const Layout& layout) { return layout.rounds; }
  static std::uint32_t partner(const Layout&, std::uint32_t corner, std::uint32_t round) {
    return corner ^ (1U << round);
  }
  static Parcel fold(const Layout& layout, std::uint32_t rank) { return {{rank, 1}, cube::all_corners(layout), rank}; }
  static Parcel unfold(const Layout& layout, std::uint32_t rank) { return {{0, layout.ranks}, {}, rank, true}; }
  static Parcel exchange(const Layout& layout, std::uint32_t corner, std::uint32_t round) {
    const std::uint32_t bit = 1U << round;
    return {cube::ranks_of(layout, cube::corners_around(corner, bit)),
            cube::corners_like(layout, corner ^ bit, 2 * bit)};
  }
};

constexpr std::array kPrograms = {
    cube::program<AllToAll>(CollectiveKind::kAllToAll,
                            "log2(n)(a + n/2 c/b) for n = 2^k; else at most 2(a + nc/b) + floor(log2(n))(a + 2nc/b)"),
};

}  // namespace

const Program* hypercube_all_to_all(CollectiveKind kind) { return program_of(kPrograms, kind); }

}  // namespace orrery::collectives
