// SPDX-License-Identifier: MIT
// The order in which ASTRA-sim 1.0 goes through a table of layers, as an execution graph of one rank.
//
// One flow of control computes and communicates, layer by layer: forwards, then backwards. A blocking communication
// holds it up; any other runs beside it until somebody waits for it. After a communication comes the layer's update
// time, a delay beside the flow of control: a compute node on a stream of its own (1 for weight gradients, 2 for input
// gradients, 3 for the forward pass). The rules of each parallelism are in schedule.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/units.h"
#include "workload/graph/execution_graph.h"
#include "workload/graph/node_labels.h"
#include "workload/import/layers/text.h"

namespace orrery::workload {

// Exchange of a pipeline stage with its neighbours: micro-batches are runs of layers of equal length, one behind the
// other. Peer slot 0 is the next stage where there is one, then comes the previous stage.
struct PlannedPipeline {
  bool has_previous = false;
  bool has_next = false;
  Bytes message{};
  std::uint32_t first_layer = 0;
  std::uint32_t layers_per_micro_batch = 1;
  std::uint32_t micro_batches = 1;
};

struct LayerSchedule {
  TextParallelism parallelism = TextParallelism::kData;
  std::span<const TextLayer> layers;  // planned; at least one
  std::uint32_t iterations = 1;
  std::uint32_t last_bottom_layer = 0;        // HYBRID_DLRM*: below the last layer
  std::optional<PlannedPipeline> pipeline{};  // HYBRID_TRANSFORMER*
};

struct LayerGraph {
  ExecutionGraph graph;
  NodeLabels labels;
};

// An upper bound of the number of nodes, saturating: so that nobody asks for a graph that does not fit.
std::uint64_t most_nodes(const LayerSchedule& schedule);

LayerGraph graph_of(const LayerSchedule& schedule);

}  // namespace orrery::workload
