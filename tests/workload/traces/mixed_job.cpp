// SPDX-License-Identifier: MIT
#include "tests/workload/traces/mixed_job.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "workload/graph/builder.h"
#include "workload/graph/content_pool.h"

namespace orrery::testing {
namespace {

using Random = std::mt19937_64;

std::uint32_t below(Random& random, std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); }

// Of any order of magnitude up to `limit`.
std::int64_t any_size(Random& random, int bits) {
  return static_cast<std::int64_t>(random() >> (64 - 1 - static_cast<int>(random() % static_cast<unsigned>(bits))));
}

std::optional<Duration> any_duration(Random& random) {
  switch (below(random, 4)) {
    case 0:
      return std::nullopt;
    case 1:
      return Duration(1 + any_size(random, 62));
    case 2:
      return Duration(1'000'000 * std::int64_t{1 + below(random, 1000)});
    default:
      return Duration(std::int64_t{1 + below(random, 3'000'000)});
  }
}

// A node that reads back as itself: what a kind does not have is left out, and nothing is without work.
workload::GraphNode any_node(Random& random) {
  workload::GraphNode node;
  node.kind = static_cast<workload::NodeKind>(below(random, workload::kNodeKindCount - 2));
  if (workload::is_on_device(node.kind)) node.stream = below(random, 3) * 5;
  if (node.kind == workload::NodeKind::kNoOp) return node;
  node.duration = any_duration(random);
  switch (node.kind) {
    case workload::NodeKind::kHostCompute:
      if (!node.duration) node.duration = Duration(7);
      return node;
    case workload::NodeKind::kCompute:
      if (below(random, 2) == 0) node.flops = Flops(any_size(random, 62));
      [[fallthrough]];
    case workload::NodeKind::kMemoryLoad:
    case workload::NodeKind::kMemoryStore:
      node.bytes = Bytes(1 + any_size(random, 50));
      return node;
    default:
      node.bytes = Bytes(any_size(random, 50));
      node.collective = kAllCollectiveKinds[below(random, kAllCollectiveKinds.size())];
      if (below(random, 3) == 0) node.priority = below(random, 2) == 0 ? UINT32_MAX : 3;
      return node;
  }
}

class MixedJob {
 public:
  MixedJob(Random& random, std::uint32_t ranks, std::uint32_t nodes) : random_(random), ranks_(ranks) {
    workload::Communicator world{"world", {}};
    for (std::uint32_t rank = 0; rank < ranks; ++rank) world.members.push_back(RankId{rank});
    job_.communicators = {world, {"tensor \"0\"", world.members}, {"pipe\n\xC3\xA9", world.members}};
    job_.communicators[1].members = {};
    for (std::uint32_t rank = ranks; rank-- > 0;) job_.communicators[1].members.push_back(RankId{rank});
    for (std::uint32_t i = 0; i < nodes; ++i) nodes_.push_back(any_node(random));
    for (std::uint32_t i = 1; i < nodes; ++i)
      for (std::uint32_t k = below(random, 4); k > 0; --k) edges_.push_back({NodeId{below(random, i)}, NodeId{i}});
  }

  workload::Job build() && {
    workload::ContentPool<workload::ExecutionGraph> graphs;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      // Odd ranks have a node more.
      std::vector<workload::GraphNode> nodes = nodes_;
      if (rank % 2 == 1) nodes.push_back({.kind = workload::NodeKind::kCompute, .duration = Duration(1)});
      workload::RankBinding binding = bind(rank, nodes);
      workload::GraphBuilder builder;
      for (const workload::GraphNode& node : nodes) builder.add(node);
      for (const workload::Edge& edge : edges_) builder.depend(edge.after, edge.before);
      binding.graph = graphs.intern(std::move(builder).build());
      binding.labels = rank % 2;
      job_.ranks.push_back(std::move(binding));
    }
    job_.graphs = graphs.take();
    for (const std::size_t more : {std::size_t{0}, std::size_t{1}}) add_labels(nodes_.size() + more);
    return std::move(job_);
  }

 private:
  // Slots of their own for every other use.
  workload::RankBinding bind(std::uint32_t rank, std::vector<workload::GraphNode>& nodes) {
    workload::RankBinding binding;
    binding.communicators = {GroupId{2}, GroupId{0}, GroupId{1}};
    for (std::uint32_t peer = 0; peer < ranks_; ++peer)
      if (peer != rank) binding.peers.push_back(RankId{peer});
    const auto slots = static_cast<std::uint32_t>(binding.peers.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const workload::NodeKind kind = nodes[i].kind;
      if (kind == workload::NodeKind::kCollective) {
        nodes[i].slot = static_cast<std::uint32_t>(i % 3);
        binding.own_details().roots.push_back(i % 4 == 0 ? -1 : std::int64_t{rank % ranks_});
      } else if (kind == workload::NodeKind::kSend || kind == workload::NodeKind::kReceive) {
        nodes[i].slot = static_cast<std::uint32_t>(i) % slots;
        binding.own_details().tags.push_back(i % 3 == 0 ? 0 : static_cast<std::int64_t>(i) * -3'000'000'000 + rank);
      }
    }
    return binding;
  }

  void add_labels(std::size_t count) {
    std::vector<std::string> names;
    std::vector<workload::NodeLabel> labels;
    for (std::size_t i = 0; i < count; ++i) names.push_back(i % 3 == 0 ? "aten::mm" : fmt::format("node\t{}", i));
    for (std::size_t i = 0; i < count; ++i) labels.push_back({i * i * 10'000'000'000, names[i]});
    job_.labels.emplace_back(labels);
  }

  Random& random_;
  std::uint32_t ranks_;
  std::vector<workload::GraphNode> nodes_;
  std::vector<workload::Edge> edges_;
  workload::Job job_;
};

}  // namespace

workload::Job random_mixed_job(Random& random, std::uint32_t ranks, std::uint32_t nodes) {
  return MixedJob(random, ranks, nodes).build();
}

}  // namespace orrery::testing
