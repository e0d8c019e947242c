// `topology_matrix` of a node: a file with the output of `nvidia-smi topo -m`, and `capacities` beside it.
#pragma once

#include "core/config.h"
#include "network/graph_config.h"
#include "network/link_type.h"
#include "network/routed_graph.h"

namespace orrery {

// The graph of the node; without its NICs if `members` has none. What `capacities` leaves out, the generations of the
// device's `links` say. Empty after an error and in description mode.
RoutedGraph read_matrix(Section& section, const GraphMembers& members, const DeviceLinks& links);

}  // namespace orrery
