// SPDX-License-Identifier: MIT
// Shape of a group: its distribution over nodes and the speed of traffic among its ranks, by which a library of
// collectives chooses.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "collectives/aggregate.h"
#include "core/units.h"

namespace orrery::collectives {

// Time per byte on a link, in seconds: for bytes of Aggregate::within, and for bytes of `between`.
struct LinkCost {
  double within = 0;
  double between = 0;

  auto operator<=>(const LinkCost&) const = default;
};

struct GroupShape {
  std::uint32_t ranks = 0;
  std::uint32_t nodes = 0;
  std::uint32_t fullest = 0;           // ranks of the fullest node
  std::uint32_t nics = 0;              // of that node that the group uses; 0: of one node
  std::vector<std::uint32_t> types{};  // of the nodes that they are on, ascending; of a cluster of one type: none
  // The longest route of a ring or a double tree within a node and between two; zero where there is none.
  Duration within_latency{};
  Duration between_latency{};
  // Paces by NodePattern: the links that may be the slowest, for some ratio of within to between.
  std::array<std::vector<LinkCost>, 3> paces;

  auto operator<=>(const GroupShape&) const = default;
};

// Time of a transfer's bytes on links that nothing else uses, without latency: those within the nodes alone, those
// between nodes alone, and both at once.
struct TransferSeconds {
  double within = 0;
  double between = 0;
  double together = 0;
};
TransferSeconds lone_seconds(const Aggregate& transfer, const GroupShape& shape);

}  // namespace orrery::collectives
