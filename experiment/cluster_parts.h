// SPDX-License-Identifier: MIT
// What of a cluster's configuration this layer reads: the device, and constants of a library measured on the cluster.
#pragma once

#include "collectives/nccl/constants_config.h"
#include "network/config/cluster.h"
#include "system/devices/device.h"

namespace orrery::experiment {

// Both are filled in while the cluster is read, and outlive the result.
network::ClusterReaders cluster_parts(system::DeviceSpec& device, collectives::NcclConstantList& measured);

// Checks the parts and forgets them.
network::ClusterReaders unused_cluster_parts();

}  // namespace orrery::experiment
