// SPDX-License-Identifier: MIT
#include "workload/import/layers/schedule.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/assert.h"
#include "workload/graph/builder.h"

namespace orrery::workload {
namespace {

std::uint32_t update_stream(LayerPass pass) {
  if (pass == LayerPass::kWeightGradient) return 1;
  return pass == LayerPass::kInputGradient ? 2 : 3;
}

// "all-reduce"
std::string spoken(CollectiveKind kind) {
  std::string name(name_of(kind));
  std::ranges::replace(name, '_', '-');
  return name;
}

GraphNode compute_node(Duration duration, std::uint32_t stream = 0) {
  return {.kind = NodeKind::kCompute, .duration = duration, .stream = stream};
}

// A rank's flow of control while its graph is written: what the next step waits for.
class LayerFlow {
 public:
  // The flow computes; nothing where the pass takes no time.
  void compute(const TextLayer& layer, LayerPass pass) {
    const Duration duration = layer.pass(pass).compute;
    if (duration == Duration::zero()) return;
    const NodeId node = add(compute_node(duration), fmt::format("{} {}", layer.name, name_of(pass)));
    for (const NodeId before : front_) builder_.depend(node, before);
    front_ = {node};
  }

  // Starts the call of the pass, then the update, beside the flow. What to wait for; nothing without a call.
  std::optional<NodeId> communicate(const TextLayer& layer, LayerPass pass) {
    const std::optional<TextCall>& call = layer.pass(pass).call;
    if (!call) return std::nullopt;
    const GraphNode node{
        .kind = NodeKind::kCollective, .bytes = call->bytes, .collective = call->kind, .slot = call->slot};
    const NodeId done = fork(node, fmt::format("{} {} {}", layer.name, name_of(pass), spoken(call->kind)));
    if (layer.update == Duration::zero()) return done;
    const NodeId updated =
        add(compute_node(layer.update, update_stream(pass)), fmt::format("{} {} update", layer.name, name_of(pass)));
    builder_.depend(updated, done);
    return updated;
  }

  // The flow goes on when `node` is done too.
  void wait(std::optional<NodeId> node) {
    if (node) front_.push_back(*node);
  }

  // The flow goes on when `node`, which began where the flow stands, is done.
  void block_on(std::optional<NodeId> node) {
    if (node) front_ = {*node};
  }

  // Sends beside the flow.
  void send(Bytes bytes, std::uint32_t peer, std::string name) {
    fork({.kind = NodeKind::kSend, .bytes = bytes, .slot = peer}, std::move(name));
  }

  void receive(Bytes bytes, std::uint32_t peer, std::string name) {
    block_on(fork({.kind = NodeKind::kReceive, .bytes = bytes, .slot = peer}, std::move(name)));
  }

  LayerGraph finish() && {
    std::vector<NodeLabel> labels;
    labels.reserve(names_.size());
    for (const std::string& name : names_) labels.push_back({labels.size(), name});
    return {std::move(builder_).build(), NodeLabels(labels)};
  }

 private:
  NodeId add(const GraphNode& node, std::string name) {
    names_.push_back(std::move(name));
    return builder_.add(node);
  }

  // A node that begins where the flow stands. Many of them may begin at one place, so that is made one node.
  NodeId fork(const GraphNode& node, std::string name) {
    if (front_.size() > 1) {
      const NodeId joined = add(GraphNode{}, "join");
      for (const NodeId before : front_) builder_.depend(joined, before);
      front_ = {joined};
    }
    const NodeId forked = add(node, std::move(name));
    for (const NodeId before : front_) builder_.depend(forked, before);
    return forked;
  }

  GraphBuilder builder_;
  std::vector<std::string> names_;  // by NodeId
  std::vector<NodeId> front_;       // what the next step waits for
};

// The state machines of ASTRA-sim 1.0's workload layer (astra-sim/workload/Workload.cc), each one member.
class ScheduleWriter {
 public:
  explicit ScheduleWriter(const LayerSchedule& schedule)
      : schedule_(schedule), layers_(schedule.layers), weights_(schedule.layers.size()) {}

  LayerGraph write() {
    for (std::uint32_t i = 0; i < schedule_.iterations; ++i) write_iteration();
    return std::move(flow_).finish();
  }

 private:
  void write_iteration() {
    switch (rules_of(schedule_.parallelism).order) {
      case LayerOrder::kMicro:
        flow_.communicate(layers_[0], LayerPass::kWeightGradient);
        return;
      case LayerOrder::kData:
        return data_parallel();
      case LayerOrder::kHybrid:
        return hybrid();
      case LayerOrder::kDlrm:
        return dlrm();
      case LayerOrder::kTransformer:
        return transformer();
      case LayerOrder::kForward:
        return forward_pass();
    }
    ORRERY_ASSERT(false);
  }

  // A layer's weights must be up to date before it is used again.
  void wait_for_weights(std::size_t layer) { flow_.wait(std::exchange(weights_[layer], std::nullopt)); }

  void communicate_weights(std::size_t layer) {
    weights_[layer] = flow_.communicate(layers_[layer], LayerPass::kWeightGradient);
  }

  void forward(std::size_t layer, LayerPass pass) {
    wait_for_weights(layer);
    flow_.compute(layers_[layer], pass);
    flow_.block_on(flow_.communicate(layers_[layer], pass));
  }

  void forward_pass() {
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
      receive_at(layer, true);
      forward(layer, LayerPass::kForward);
      send_at(layer, true);
    }
  }

  // Weight gradients first; only they are communicated, beside the computation.
  void data_parallel() {
    forward_pass();
    for (std::size_t layer = layers_.size(); layer-- > 0;) {
      flow_.compute(layers_[layer], LayerPass::kWeightGradient);
      communicate_weights(layer);
      if (layer > 0) flow_.compute(layers_[layer], LayerPass::kInputGradient);
    }
  }

  // Input gradients first, communicated beside the computation of the weight gradients.
  void hybrid() {
    forward_pass();
    for (std::size_t layer = layers_.size(); layer-- > 0;) {
      flow_.compute(layers_[layer], LayerPass::kInputGradient);
      std::optional<NodeId> gradients;
      if (layer > 0) gradients = flow_.communicate(layers_[layer], LayerPass::kInputGradient);
      flow_.compute(layers_[layer], LayerPass::kWeightGradient);
      communicate_weights(layer);
      flow_.wait(gradients);
    }
  }

  // Input gradients first; their communication holds everything up.
  void transformer() {
    forward_pass();
    for (std::size_t layer = layers_.size(); layer-- > 0;) {
      receive_at(layer, false);
      if (layers_[layer].recomputes_from)
        for (std::size_t again = *layers_[layer].recomputes_from; again < layer; ++again)
          forward(again, LayerPass::kRecomputed);
      flow_.compute(layers_[layer], LayerPass::kInputGradient);
      flow_.block_on(flow_.communicate(layers_[layer], LayerPass::kInputGradient));
      flow_.compute(layers_[layer], LayerPass::kWeightGradient);
      communicate_weights(layer);
      send_at(layer, false);
    }
  }

  // Layer 0 is the embedding table. Its all-to-all runs beside the bottom layers of the perceptron, that of its
  // gradients beside their backward pass, from when the last bottom layer gets its own.
  void dlrm() {
    const std::size_t last_bottom = schedule_.last_bottom_layer;
    std::optional<NodeId> embedding;
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
      wait_for_weights(layer);
      flow_.compute(layers_[layer], LayerPass::kForward);
      if (layer == 0) embedding = flow_.communicate(layers_[0], LayerPass::kForward);
      if (layer == last_bottom) flow_.wait(embedding);
    }
    std::optional<NodeId> gradients;
    for (std::size_t layer = layers_.size(); layer-- > 0;) {
      flow_.compute(layers_[layer], LayerPass::kWeightGradient);
      communicate_weights(layer);
      if (layer > 0) flow_.compute(layers_[layer], LayerPass::kInputGradient);
      if (layer == last_bottom + 1) gradients = flow_.communicate(layers_[0], LayerPass::kInputGradient);
    }
    if (schedule_.parallelism == TextParallelism::kHybridDlrm) flow_.wait(gradients);
  }

  // The micro-batch that `layer` begins, or ends.
  std::optional<std::uint32_t> micro_batch_at(std::size_t layer, bool first) const {
    const PlannedPipeline& pipeline = *schedule_.pipeline;
    if (layer < pipeline.first_layer) return std::nullopt;
    const std::size_t offset = layer - pipeline.first_layer;
    const auto micro_batch = static_cast<std::uint32_t>(offset / pipeline.layers_per_micro_batch);
    const std::size_t edge = first ? 0 : pipeline.layers_per_micro_batch - 1;
    if (micro_batch >= pipeline.micro_batches || offset % pipeline.layers_per_micro_batch != edge) return std::nullopt;
    return micro_batch;
  }

  // Activations come from the previous stage, gradients from the next.
  void receive_at(std::size_t layer, bool forward) {
    if (!schedule_.pipeline || !(forward ? schedule_.pipeline->has_previous : schedule_.pipeline->has_next)) return;
    if (const auto micro_batch = micro_batch_at(layer, forward))
      flow_.receive(schedule_.pipeline->message, peer_slot(!forward),
                    fmt::format("micro-batch {} receive {}", *micro_batch, forward ? "activations" : "gradients"));
  }

  void send_at(std::size_t layer, bool forward) {
    if (!schedule_.pipeline || !(forward ? schedule_.pipeline->has_next : schedule_.pipeline->has_previous)) return;
    if (const auto micro_batch = micro_batch_at(layer, !forward))
      flow_.send(schedule_.pipeline->message, peer_slot(forward),
                 fmt::format("micro-batch {} send {}", *micro_batch, forward ? "activations" : "gradients"));
  }

  std::uint32_t peer_slot(bool next) const { return next || !schedule_.pipeline->has_next ? 0 : 1; }

  const LayerSchedule& schedule_;
  std::span<const TextLayer> layers_;
  LayerFlow flow_;
  std::vector<std::optional<NodeId>> weights_;  // by layer: its last weight update that nobody has waited for
};

}  // namespace

std::uint64_t most_nodes(const LayerSchedule& schedule) {
  // A pass: compute, join, call, update. At the ends of a micro-batch: join and message.
  constexpr std::uint64_t kNodesPerPass = 4;
  constexpr std::uint64_t kNodesPerLayer = 3 * kNodesPerPass + 4;
  std::uint64_t nodes = schedule.layers.size() * kNodesPerLayer;
  for (std::size_t layer = 0; layer < schedule.layers.size(); ++layer)
    if (const auto from = schedule.layers[layer].recomputes_from) nodes += (layer - *from) * kNodesPerPass;
  const bool overflows = nodes > std::numeric_limits<std::uint64_t>::max() / std::max(1u, schedule.iterations);
  return overflows ? std::numeric_limits<std::uint64_t>::max() : nodes * schedule.iterations;
}

LayerGraph graph_of(const LayerSchedule& schedule) { return ScheduleWriter(schedule).write(); }

}  // namespace orrery::workload
