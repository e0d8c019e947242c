// The `cluster` section of an experiment: a real cluster of nodes, or an abstract fabric of dimensions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "core/config.h"
#include "network/cluster.h"
#include "network/compose.h"

namespace orrery {

// A count of nodes given elsewhere (`nodes` of the experiment, --nodes): it wins over the cluster's own.
struct NodeCount {
  std::int64_t count = 1;
  Location where;
};

using FabricSpec = std::variant<std::vector<DimensionSpec>, ClusterSpec>;

// Reads a cluster section: `node` and `scale_out`, or `device` and `dims`. `read_device` is called with the section of the
// device, inline or from a file of configs/devices. All problems go to the section's diagnostics; what comes back then is
// not to be built.
FabricSpec read_cluster(Section& cluster, const std::optional<NodeCount>& nodes, const std::function<void(Section&)>& read_device);

// Only after reading without errors.
Fabric build_fabric(const FabricSpec& spec);

}  // namespace orrery
