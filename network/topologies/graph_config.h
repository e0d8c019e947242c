// SPDX-License-Identifier: MIT
// Explicit graphs in configurations: `links` between named vertices.
#pragma once

#include <cstdint>
#include <optional>

#include "core/config/config.h"
#include "network/fabric/routed_graph.h"
#include "network/fabric/topology.h"

namespace orrery::network {

// Number of members that a graph must have.
struct GraphMembers {
  std::uint32_t devices = 0;
  std::uint32_t nics = 0;
  std::uint32_t rails = 1;  // as Members::rails
};

// Reads `links`, a list of {from, to, bandwidth, efficiency, link, latency, count, class, directed}. Vertices are
// devices `gpu<i>`, NICs `nic<i>`, and switches, bridges or sockets of any other name. Empty after an error.
RoutedGraph read_graph(Section& section, const GraphMembers& members);
// Reads a graph with members of one kind, as many as `links` names; those beyond the count, if that is known, are
// refused.
RoutedGraph read_graph(Section& section, const Members& members);

// The graph with its routes; empty, and reported at `key`, where members that may talk have no route. `rails` as
// Members::rails.
RoutedGraph routed(GraphSpec spec, Section& section, std::string_view key, std::uint32_t rails = 1);

}  // namespace orrery::network
