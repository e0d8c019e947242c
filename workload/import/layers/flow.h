// A rank's flow of control while its graph is written: what the next step waits for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workload/graph/builder.h"
#include "workload/import/layers/schedule.h"

namespace orrery {

enum class LayerPass : std::uint8_t { kForward, kRecomputed, kInputGradient, kWeightGradient };

// "input gradient", as nodes are named.
std::string_view name_of(LayerPass pass);

class LayerFlow {
 public:
  // The flow computes; nothing where the pass takes no time.
  void compute(const PlannedLayer& layer, LayerPass pass);
  // Starts the call of the pass, then the update, beside the flow. What to wait for; nothing without a call.
  std::optional<NodeId> communicate(const PlannedLayer& layer, LayerPass pass);
  // The flow goes on when `node` is done too.
  void wait(std::optional<NodeId> node);
  // The flow goes on when `node`, which began where the flow stands, is done.
  void block_on(std::optional<NodeId> node);
  // Sends beside the flow.
  void send(Bytes bytes, std::uint32_t peer, std::string name);
  void receive(Bytes bytes, std::uint32_t peer, std::string name);

  LayerGraph finish() &&;

 private:
  NodeId add(const GraphNode& node, std::string name);
  // A node that begins where the flow stands. Many of them may begin at one place, so that is made one node.
  NodeId fork(const GraphNode& node, std::string name);

  GraphBuilder builder_;
  std::vector<std::string> names_;  // by NodeId
  std::vector<NodeId> front_;       // what the next step waits for
};

}  // namespace orrery
