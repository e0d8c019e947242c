// SPDX-License-Identifier: MIT
// The links of members that hang on switches.
#pragma once

#include <cstdint>

#include "network/fabric/topology.h"

namespace orrery::network {

// Link i < size leads up from member i to its switch, link size + i down again; every switch has `ports` members, half
// of the latency is on each. The odd picosecond is on the way down.
inline TopologyLink member_link(const TopologyParameters& p, std::uint32_t link, std::uint32_t ports) {
  const Duration half = p.latency / 2;
  if (link < p.size) return {link, p.size + link / ports, 0, p.bandwidth, half};
  return {p.size + (link - p.size) / ports, link - p.size, 1, p.bandwidth, p.latency - half};
}

}  // namespace orrery::network
