// SPDX-License-Identifier: MIT
// `topology_matrix` of a node: a file with the output of `nvidia-smi topo -m`, and `capacities` beside it.
#pragma once

#include "core/config/config.h"
#include "network/fabric/link_type.h"
#include "network/fabric/routed_graph.h"
#include "network/topologies/graph_config.h"

namespace orrery::network {

// The graph of the node; without its NICs if `members` has none. What `capacities` leaves out, the generations of the
// device's `links` say. Empty after an error and in description mode.
RoutedGraph read_matrix(Section& section, const GraphMembers& members, const DeviceLinks& links);

}  // namespace orrery::network
