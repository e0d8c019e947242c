// SPDX-License-Identifier: MIT
// Clusters from configuration text, for tests.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "network/fabric/fabric.h"
#include "network/fabric/routed_graph.h"

namespace orrery {

struct ReadCluster {
  std::optional<network::Fabric> fabric;
  std::string errors;
  std::string device;  // its name
};

// An experiment's `cluster` and `nodes`, called x.yaml, with the shipped configurations.
ReadCluster read_cluster_text(const std::string& text, const std::vector<std::string>& settings = {},
                              const network::Routing& routing = {});

}  // namespace orrery
