// SPDX-License-Identifier: MIT
#include "tests/workload/graph/grid_job.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "workload/graph/builder.h"
#include "workload/graph/content_pool.h"

namespace orrery::testing {
namespace {

using Random = std::mt19937_64;

std::uint32_t below(Random& random, std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); }

// What all ranks do: a collective on the world, their row or their column, or a send to one rank and a receive from
// another, which may be the same one, or themselves.
struct Operation {
  bool is_collective = false;
  std::uint32_t slot = 0;  // communicator: world, row, column
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::uint32_t root = 0;         // position in the row or column; 0: not given
  std::vector<std::uint32_t> to;  // whom each rank sends to
  std::int64_t tag = 0;
  std::int64_t bytes = 1;
};

// Ranks of a grid that run one program; some have a node more than others, and one may do something wrong.
class GridJob {
 public:
  explicit GridJob(Random& random)
      : random_(random), rows_(1 + below(random, 4)), columns_(1 + below(random, 4)), is_odd_(rows_ * columns_) {
    const std::uint32_t operations = 1 + below(random, 7);
    for (std::uint32_t i = 0; i < operations; ++i) operations_.push_back(random_operation());
    for (std::uint32_t i = 0; i < 3; ++i) edges_.emplace_back(below(random, operations), below(random, operations));
    for (std::uint32_t rank = 0; rank < ranks(); ++rank) is_odd_[rank] = below(random, 3) == 0;
    add_communicators();
    std::vector<workload::NodeLabel> labels;
    for (std::uint64_t id = 0; id < 64; ++id) labels.push_back({id, "node"});
    job_.labels.emplace_back(labels);
  }

  workload::Job build() && {
    const std::uint32_t wrong = below(random_, 3) == 0 ? below(random_, ranks()) : ranks();
    for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
      std::vector<Operation> operations = operations_;
      if (rank == wrong) spoil(operations);
      add_rank(rank, operations);
    }
    job_.graphs = graphs_.take();
    return std::move(job_);
  }

 private:
  std::uint32_t ranks() const { return rows_ * columns_; }

  Operation random_operation() {
    constexpr CollectiveKind kKinds[] = {CollectiveKind::kAllReduce, CollectiveKind::kAllToAll,
                                         CollectiveKind::kBroadcast, CollectiveKind::kGather};
    Operation operation;
    operation.is_collective = below(random_, 2) == 0;
    operation.slot = below(random_, 3);
    operation.kind = kKinds[below(random_, 4)];
    const bool has_root = operation.kind == CollectiveKind::kBroadcast || operation.kind == CollectiveKind::kGather;
    if (has_root) operation.root = below(random_, operation.slot == 1 ? columns_ : operation.slot == 2 ? rows_ : 1);
    const std::uint32_t distance = below(random_, std::min(ranks(), 3U));
    for (std::uint32_t rank = 0; rank < ranks(); ++rank) operation.to.push_back((rank + distance) % ranks());
    if (below(random_, 6) == 0) std::ranges::shuffle(operation.to, random_);
    operation.tag = below(random_, 2);
    operation.bytes = 1 + below(random_, 2);
    return operation;
  }

  void spoil(std::vector<Operation>& operations) {
    Operation& operation = operations[below(random_, static_cast<std::uint32_t>(operations.size()))];
    switch (below(random_, 4)) {
      case 0:
        operation.bytes += 7;
        break;
      case 1:
        operation.tag += 1;
        break;
      case 2:
        operation.is_collective = !operation.is_collective;
        break;
      default:
        operation.kind = CollectiveKind::kAllGather;
    }
  }

  void add_communicators() {
    workload::Communicator world{"world", {}};
    for (std::uint32_t rank = 0; rank < ranks(); ++rank) world.members.push_back(RankId{rank});
    job_.communicators.push_back(world);
    for (std::uint32_t row = 0; row < rows_; ++row) {
      workload::Communicator& group =
          job_.communicators.emplace_back(workload::Communicator{fmt::format("row{}", row), {}});
      // From right to left.
      for (std::uint32_t i = columns_; i-- > 0;) group.members.push_back(RankId{row * columns_ + i});
    }
    for (std::uint32_t column = 0; column < columns_; ++column) {
      workload::Communicator& group =
          job_.communicators.emplace_back(workload::Communicator{fmt::format("column{}", column), {}});
      for (std::uint32_t row = 0; row < rows_; ++row) group.members.push_back(RankId{row * columns_ + column});
    }
  }

  void add_rank(std::uint32_t rank, const std::vector<Operation>& operations) {
    workload::RankBinding binding;
    workload::GraphBuilder graph;
    binding.communicators = {GroupId{0}, GroupId{1 + rank / columns_}, GroupId{1 + rows_ + rank % columns_}};
    std::vector<NodeId> first;
    for (const Operation& operation : operations)
      first.push_back(operation.is_collective ? add_collective(operation, rank, graph, binding)
                                              : add_transfers(operation, rank, graph, binding));
    for (const auto& [a, b] : edges_)
      if (a != b) graph.depend(first[std::min(a, b)], first[std::max(a, b)]);
    if (is_odd_[rank]) graph.add({.kind = workload::NodeKind::kCompute, .duration = Duration(5)});
    workload::RankDetails& details = binding.own_details();
    if (std::ranges::all_of(details.tags, [](std::int64_t tag) { return tag == 0; })) details.tags.clear();
    if (std::ranges::all_of(details.roots, [](std::int64_t root) { return root < 0; })) details.roots.clear();
    binding.graph = graphs_.intern(std::move(graph).build());
    job_.ranks.push_back(std::move(binding));
  }

  // Odd ranks put more into an all-to-all.
  NodeId add_collective(const Operation& operation, std::uint32_t rank, workload::GraphBuilder& graph,
                        workload::RankBinding& binding) {
    const bool is_more = is_odd_[rank] && operation.kind == CollectiveKind::kAllToAll;
    const workload::Communicator& group = job_.communicators[index_of(binding.communicators[operation.slot])];
    binding.own_details().roots.push_back(operation.root > 0 ? std::int64_t{index_of(group.members[operation.root])}
                                                             : -1);
    return graph.add({.kind = workload::NodeKind::kCollective,
                      .bytes = Bytes(operation.bytes + (is_more ? 10 : 0)),
                      .collective = operation.kind,
                      .slot = operation.slot});
  }

  // Each has slots of its own, so that peers are listed more than once.
  NodeId add_transfers(const Operation& operation, std::uint32_t rank, workload::GraphBuilder& graph,
                       workload::RankBinding& binding) {
    const auto slot = static_cast<std::uint32_t>(binding.peers.size());
    const auto from = std::ranges::find(operation.to, rank) - operation.to.begin();
    binding.peers.push_back(RankId{operation.to[rank]});
    binding.peers.push_back(RankId{static_cast<std::uint32_t>(from)});
    std::vector<std::int64_t>& tags = binding.own_details().tags;
    tags.insert(tags.end(), 2, operation.tag);
    const NodeId send = graph.add({.kind = workload::NodeKind::kSend, .bytes = Bytes(operation.bytes), .slot = slot});
    graph.add({.kind = workload::NodeKind::kReceive, .bytes = Bytes(operation.bytes), .slot = slot + 1});
    return send;
  }

  Random& random_;
  std::uint32_t rows_;
  std::uint32_t columns_;
  std::vector<Operation> operations_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;  // operations: the earlier waits for the later
  std::vector<bool> is_odd_;                                    // by rank
  workload::ContentPool<workload::ExecutionGraph> graphs_;
  workload::Job job_;
};

}  // namespace

workload::Job random_grid_job(Random& random) { return GridJob(random).build(); }

}  // namespace orrery::testing
