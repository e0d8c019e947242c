// SPDX-License-Identifier: MIT
#include "bench/stage_job.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "workload/graph/builder.h"

namespace orrery::bench {
namespace {

constexpr Bytes kActivations{6'291'456};
constexpr Bytes kBucket{456'000'000};
constexpr std::uint32_t kBuckets = 6;
constexpr std::chrono::microseconds kForwardHalf{450};  // of a layer
constexpr std::chrono::microseconds kBackwardHalf{900};

enum Slot : std::uint32_t { kTensor, kData };  // communicators; peers: before, then after

// The program of one stage, written down in the order in which it runs.
class StageProgram {
 public:
  StageProgram(const StageJob& shape, std::uint32_t stage, std::uint32_t percent)
      : shape_(shape), stage_(stage), percent_(percent) {
    const std::uint32_t warm = std::min(shape.pipeline - 1 - stage, shape.micro_batches);
    for (std::uint32_t m = 0; m < warm; ++m) forward();
    for (std::uint32_t m = warm; m < shape.micro_batches; ++m) {
      forward();
      backward(m - warm + 1 == shape.micro_batches);
    }
    for (std::uint32_t m = shape.micro_batches - warm; m < shape.micro_batches; ++m)
      backward(m + 1 == shape.micro_batches);
  }

  workload::ExecutionGraph build() && { return std::move(graph_).build(); }

 private:
  bool is_first() const { return stage_ == 0; }
  bool is_last() const { return stage_ + 1 == shape_.pipeline; }
  std::uint32_t after_slot() const { return is_first() ? 0 : 1; }

  void forward() {
    if (!is_first()) await(0);
    for (std::uint32_t layer = 0; layer < shape_.layers; ++layer) do_layer(kForwardHalf);
    if (!is_last()) send(after_slot());
  }

  void backward(bool is_last_one) {
    if (!is_last()) await(after_slot());
    for (std::uint32_t layer = 0; layer < shape_.layers; ++layer) {
      do_layer(kBackwardHalf);
      const bool fills_bucket = (layer + 1) * kBuckets / shape_.layers > layer * kBuckets / shape_.layers;
      if (is_last_one && fills_bucket && shape_.data > 1) all_reduce(kData, kBucket);
    }
    if (!is_first()) send(0);
  }

  void do_layer(Duration half) {
    for (int i = 0; i < 2; ++i) {
      workload::GraphNode compute;
      compute.kind = workload::NodeKind::kCompute;
      compute.duration = half * percent_ / 100;
      then(compute);
      last_ = all_reduce(kTensor, kActivations);
    }
  }

  NodeId then(const workload::GraphNode& node) {
    const NodeId id = graph_.add(node);
    if (last_) graph_.depend(id, *last_);
    last_ = id;
    return id;
  }

  // Nothing of the program waits for it unless `last_` is set to it.
  NodeId all_reduce(std::uint32_t slot, Bytes bytes) {
    workload::GraphNode node;
    node.kind = workload::NodeKind::kCollective;
    node.slot = slot;
    node.bytes = bytes;
    const NodeId id = graph_.add(node);
    graph_.depend(id, *last_);
    return id;
  }

  void send(std::uint32_t slot) {
    workload::GraphNode node;
    node.kind = workload::NodeKind::kSend;
    node.slot = slot;
    node.bytes = kActivations;
    graph_.depend(graph_.add(node), *last_);
  }

  void await(std::uint32_t slot) {
    workload::GraphNode node;
    node.kind = workload::NodeKind::kReceive;
    node.slot = slot;
    node.bytes = kActivations;
    then(node);
  }

  const StageJob& shape_;
  std::uint32_t stage_;
  std::uint32_t percent_;
  workload::GraphBuilder graph_;
  std::optional<NodeId> last_;
};

}  // namespace

workload::Job stage_job(const StageJob& shape) {
  workload::Job job;
  const std::uint32_t line = shape.tensor * shape.data, ranks = line * shape.pipeline;
  job.labels.emplace_back(std::vector<workload::NodeLabel>{});
  for (std::uint32_t stage = 0; stage < shape.pipeline; ++stage)
    job.graphs.push_back(StageProgram(shape, stage, 100).build());
  workload::Communicator world{"world", {}};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) world.members.push_back(RankId(rank));
  job.communicators.push_back(std::move(world));
  for (std::uint32_t first = 0; first < ranks; first += shape.tensor) {
    workload::Communicator& tensor = job.communicators.emplace_back();
    tensor.name = fmt::format("tensor{}", first / shape.tensor);
    for (std::uint32_t i = 0; i < shape.tensor; ++i) tensor.members.push_back(RankId(first + i));
  }
  const auto first_data = static_cast<std::uint32_t>(job.communicators.size());
  for (std::uint32_t stage = 0; stage < shape.pipeline; ++stage)
    for (std::uint32_t t = 0; t < shape.tensor; ++t) {
      workload::Communicator& data = job.communicators.emplace_back();
      data.name = fmt::format("data{}", stage * shape.tensor + t);
      for (std::uint32_t d = 0; d < shape.data; ++d)
        data.members.push_back(RankId(stage * line + d * shape.tensor + t));
    }
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    workload::RankBinding& binding = job.ranks.emplace_back();
    const std::uint32_t stage = rank / line;
    binding.graph = stage;
    binding.communicators = {GroupId(1 + rank / shape.tensor)};
    if (shape.data > 1)
      binding.communicators.push_back(GroupId(first_data + stage * shape.tensor + rank % shape.tensor));
    if (stage > 0) binding.peers.push_back(RankId(rank - line));
    if (stage + 1 < shape.pipeline) binding.peers.push_back(RankId(rank + line));
  }
  if (shape.slow_rank) {
    job.ranks[*shape.slow_rank].graph = static_cast<std::uint32_t>(job.graphs.size());
    job.graphs.push_back(StageProgram(shape, *shape.slow_rank / line, 110).build());
  }
  return job;
}

}  // namespace orrery::bench
