// SPDX-License-Identifier: MIT
// A whole multi-dimensional plan written out as one exchange over all ranks of the cuboid, so that the oracle can judge
// phases together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/oracle/exchange.h"
#include "collectives/phase_plan.h"
#include "core/units.h"

namespace orrery {

struct Cuboid {
  std::vector<std::uint32_t> sizes;            // the first axis varies fastest
  std::vector<std::uint32_t> dimensions = {};  // of each axis; empty: one each
  bool both_ways = false;                      // all axes
  std::vector<std::uint32_t> order = {};       // of the dimensions, as plan_phases() takes it

  std::uint32_t ranks() const;
  std::vector<collectives::PlanAxis> axes() const;
  std::vector<std::uint32_t> coordinates(std::uint32_t rank) const;
  std::uint32_t rank_at(const std::vector<std::uint32_t>& coordinates) const;
};

struct PhaseExchange {
  collectives::Exchange exchange;
  std::string wrong_size;  // the first message whose bytes are not those of its units; "" if none
};

// The parts that a plan cuts the data into are made of slices, each of which goes through a chain of phases.
std::uint32_t slices_of(CollectiveKind kind, const Cuboid& cuboid);

// What becomes of one slice in the collective over `cuboid`, with one algorithm name per axis. A piece of the exchange
// is a unit of kUnitBytes; the messages of a rank wait for all its messages of the phases that theirs comes after.
inline constexpr Bytes kUnitBytes{7};
PhaseExchange expand_plan(CollectiveKind kind, const Cuboid& cuboid, std::uint32_t root,
                          const std::vector<std::string>& algorithm_of_axis, std::uint32_t slice = 0);

}  // namespace orrery
