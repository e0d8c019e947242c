// SPDX-License-Identifier: MIT
// Ways through a fabric, in words, for tests.
#pragma once

#include <string>

#include "network/fabric/fabric.h"
#include "network/fabric/routed_graph.h"

namespace orrery {

struct Way {
  std::string through;  // names of the vertices after the first
  std::size_t hops = 0;
  Bandwidth narrowest = Bandwidth::max();
  Duration latency{};
};

// The route between two devices; fails unless it leads, link by link, from the one to the other.
Way way(const network::Fabric& fabric, std::uint32_t from, std::uint32_t to);

// From configuration text that must be right, as read_cluster_text() reads it.
network::Fabric fabric_of(const std::string& text, const network::Routing& routing = {});

constexpr Bandwidth gb(std::int64_t gigabytes) { return Bandwidth(gigabytes * 1'000'000'000); }

}  // namespace orrery
