// A whole multi-dimensional plan written out as one exchange over all ranks of the cuboid, so that the oracle can judge
// phases together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/exchange.h"
#include "core/units.h"

namespace orrery {

struct Cuboid {
  std::vector<std::uint32_t> sizes;  // the first dimension varies fastest

  std::uint32_t ranks() const;
  std::vector<std::uint32_t> coordinates(std::uint32_t rank) const;
  std::uint32_t rank_at(const std::vector<std::uint32_t>& coordinates) const;
};

struct PhaseExchange {
  Exchange exchange;
  std::string wrong_size;  // the first message whose bytes are not those of its units; "" if none
};

// The collective over `cuboid`, with one algorithm name per dimension. A piece of the exchange is a unit of kUnitBytes;
// the messages of a rank wait for all its messages of earlier phases.
inline constexpr Bytes kUnitBytes{7};
PhaseExchange expand_plan(CollectiveKind kind, const Cuboid& cuboid, std::uint32_t root,
                          const std::vector<std::string>& algorithm_of_dimension);

}  // namespace orrery
