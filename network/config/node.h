// SPDX-License-Identifier: MIT
// The `node` of a cluster: its device, what joins the devices, and the NICs.
#pragma once

#include <functional>

#include "core/config/config.h"
#include "network/fabric/cluster.h"

namespace orrery::network {

using ReadDevice = std::function<void(Section&)>;

// Reads a node, whose devices are joined by `fabric` (a topology), by `links` (an explicit graph that has the NICs too)
// or as `topology_matrix` says (the same, in the words of nvidia-smi).
NodeSpec read_node(Section& section, const ReadDevice& read_device);

}  // namespace orrery::network
