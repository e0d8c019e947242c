// SPDX-License-Identifier: MIT
// The `cluster` and `nodes` of an experiment: a real cluster of nodes, or an abstract fabric of dimensions.
#pragma once

#include <functional>
#include <optional>

#include "core/config/config.h"
#include "network/fabric/cluster.h"
#include "network/fabric/fabric.h"
#include "network/fabric/routed_graph.h"

namespace orrery::network {

// Parts of a cluster that other layers read; each is called with the section, wherever that stands.
struct ClusterReaders {
  std::function<void(Section&)> device;
  std::function<void(Section&)> nccl;    // constants of the `nccl` library that were measured on this cluster
  std::function<void(Section&)> node{};  // more keys of a node, whose device was read before; may be empty
};

// Reads `cluster` (a name or path of configs/clusters, or inline) and `nodes` of an experiment. A cluster has either
// `node` and `scale_out`, or `device` and `dims`. Nothing comes back after an error, all of which are in the section's
// diagnostics.
std::optional<Fabric> read_cluster(Section& experiment, const ClusterReaders& readers, const Routing& routing = {});

// Reads a node, whose devices are joined by `fabric` (a topology), by `links` (an explicit graph that has the NICs too)
// or as `topology_matrix` says (the same, in the words of nvidia-smi).
NodeSpec read_node(Section& section, const ClusterReaders& readers);

// Reads `routing` and `ecmp_seed` of an experiment's `network`.
Routing read_routing(Section& network);

}  // namespace orrery::network
