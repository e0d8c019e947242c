// SPDX-License-Identifier: MIT
#include "system/network_model.h"

#include "core/assert.h"
#include "network/flow/flow.h"
#include "network/models/alpha_beta.h"
#include "network/models/fifo.h"

namespace orrery::system {

std::vector<std::string> network_model_names() { return {"alpha-beta", "fifo", "flow"}; }

std::unique_ptr<network::Network> make_network(NetworkModel model, Engine& engine, const network::Fabric& fabric) {
  switch (model) {
    case NetworkModel::kAlphaBeta:
      return std::make_unique<network::AlphaBetaNetwork>(engine, fabric);
    case NetworkModel::kFifo:
      return std::make_unique<network::FifoNetwork>(engine, fabric);
    case NetworkModel::kFlow:
      return std::make_unique<network::FlowNetwork>(engine, fabric);
  }
  ORRERY_ASSERT(false);
}

}  // namespace orrery::system
