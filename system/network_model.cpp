#include "system/network_model.h"

#include "core/assert.h"
#include "network/flow/flow.h"
#include "network/models/alpha_beta.h"
#include "network/models/fifo.h"

namespace orrery {

std::vector<std::string> network_model_names() { return {"alpha-beta", "fifo", "flow"}; }

std::unique_ptr<Network> make_network(NetworkModel model, Engine& engine, const Fabric& fabric,
                                      MessageListener& listener) {
  switch (model) {
    case NetworkModel::kAlphaBeta:
      return std::make_unique<AlphaBetaNetwork>(engine, fabric, listener);
    case NetworkModel::kFifo:
      return std::make_unique<FifoNetwork>(engine, fabric, listener);
    case NetworkModel::kFlow:
      return std::make_unique<FlowNetwork>(engine, fabric, listener);
  }
  ORRERY_ASSERT(false);
}

}  // namespace orrery
