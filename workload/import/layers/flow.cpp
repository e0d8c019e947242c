#include "workload/import/layers/flow.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/assert.h"

namespace orrery {

std::string_view name_of(LayerPass pass) {
  constexpr std::array<std::string_view, 4> kNames = {"forward", "recomputed forward", "input gradient",
                                                      "weight gradient"};
  return kNames[static_cast<std::size_t>(pass)];
}

namespace {

const PlannedPass& pass_of(const PlannedLayer& layer, LayerPass pass) {
  switch (pass) {
    case LayerPass::kForward:
    case LayerPass::kRecomputed:
      return layer.forward;
    case LayerPass::kInputGradient:
      return layer.input_gradient;
    case LayerPass::kWeightGradient:
      return layer.weight_gradient;
  }
  ORRERY_ASSERT(false);
}

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
  GraphNode node;
  node.kind = NodeKind::kCompute;
  node.duration = duration;
  node.stream = stream;
  return node;
}

}  // namespace

void LayerFlow::compute(const PlannedLayer& layer, LayerPass pass) {
  const Duration duration = pass_of(layer, pass).compute;
  if (duration == Duration::zero()) return;
  const NodeId node = add(compute_node(duration), fmt::format("{} {}", layer.name, name_of(pass)));
  for (const NodeId before : front_) builder_.depend(node, before);
  front_ = {node};
}

std::optional<NodeId> LayerFlow::communicate(const PlannedLayer& layer, LayerPass pass) {
  const std::optional<PlannedCall>& call = pass_of(layer, pass).call;
  if (!call) return std::nullopt;
  GraphNode node;
  node.kind = NodeKind::kCollective;
  node.collective = call->kind;
  node.bytes = call->bytes;
  node.slot = call->slot;
  const NodeId done = fork(node, fmt::format("{} {} {}", layer.name, name_of(pass), spoken(call->kind)));
  if (layer.update == Duration::zero()) return done;
  const NodeId updated =
      add(compute_node(layer.update, update_stream(pass)), fmt::format("{} {} update", layer.name, name_of(pass)));
  builder_.depend(updated, done);
  return updated;
}

void LayerFlow::wait(std::optional<NodeId> node) {
  if (node) front_.push_back(*node);
}

void LayerFlow::block_on(std::optional<NodeId> node) {
  if (node) front_ = {*node};
}

void LayerFlow::send(Bytes bytes, std::uint32_t peer, std::string name) {
  GraphNode node;
  node.kind = NodeKind::kSend;
  node.bytes = bytes;
  node.slot = peer;
  fork(node, std::move(name));
}

void LayerFlow::receive(Bytes bytes, std::uint32_t peer, std::string name) {
  GraphNode node;
  node.kind = NodeKind::kReceive;
  node.bytes = bytes;
  node.slot = peer;
  block_on(fork(node, std::move(name)));
}

LayerGraph LayerFlow::finish() && {
  std::vector<NodeLabel> labels;
  labels.reserve(names_.size());
  for (const std::string& name : names_) labels.push_back({labels.size(), name});
  return {std::move(builder_).build(), NodeLabels(labels)};
}

NodeId LayerFlow::add(const GraphNode& node, std::string name) {
  names_.push_back(std::move(name));
  return builder_.add(node);
}

NodeId LayerFlow::fork(const GraphNode& node, std::string name) {
  if (front_.size() > 1) {
    const NodeId joined = add(GraphNode{}, "join");
    for (const NodeId before : front_) builder_.depend(joined, before);
    front_ = {joined};
  }
  const NodeId forked = add(node, std::move(name));
  for (const NodeId before : front_) builder_.depend(forked, before);
  return forked;
}

}  // namespace orrery
