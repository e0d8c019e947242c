// SPDX-License-Identifier: MIT
// The link-sharing models by name, and how each is made.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/engine.h"
#include "network/fabric/fabric.h"
#include "network/network.h"

namespace orrery::system {

enum class NetworkModel : std::uint8_t { kAlphaBeta, kFifo, kFlow };

inline constexpr NetworkModel kDefaultNetworkModel = NetworkModel::kFlow;

// "alpha-beta", "fifo", "flow", in the order of the enumeration.
std::vector<std::string> network_model_names();

// All arguments outlive the network.
std::unique_ptr<network::Network> make_network(NetworkModel model, Engine& engine, const network::Fabric& fabric);

}  // namespace orrery::system
