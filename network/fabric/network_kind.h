// What joins the nodes of a cluster (configs/networks): what the NICs speak, what share of their bandwidth messages
// get, and, where the host's processors move the data, what that costs.
#pragma once

#include <optional>

#include "core/config/config.h"
#include "core/machine_kind.h"
#include "core/units.h"

namespace orrery {

// Software between a device and its NICs: a pair of links of each device, out and in. Each message between nodes
// crosses one of the sender's and one of the receiver's.
struct HostStack {
  Bandwidth bandwidth{1};  // of a device, per direction
  Duration latency{};      // on the way out, and again on the way in
};

struct NetworkSpec {
  NetworkKind kind = NetworkKind::kOther;
  Efficiency efficiency = kFullEfficiency;  // of the NICs, where the node does not say otherwise
  std::optional<HostStack> stack{};
};

// Reads a network, a file of configs/networks.
NetworkSpec read_network(Section& section);

}  // namespace orrery
