// Ranks that share graphs share what was matched; it must be what each of them would get by itself.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "workload/collective_job.h"
#include "workload/content_pool.h"
#include "workload/graph_builder.h"
#include "workload/matching.h"

using namespace orrery;

namespace {

using Random = std::mt19937_64;

std::uint32_t below(Random& random, std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); }

// What all ranks do: a collective on the world, their row or their column, or a send to the rank `distance` further
// and a receive from the one before.
struct Operation {
  bool is_collective = false;
  std::uint32_t slot = 0;  // communicator: world, row, column
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::uint32_t root = 0;      // position in the row or column; 0: not given
  std::uint32_t distance = 0;  // of a transfer; 0: to itself
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
    std::vector<NodeLabel> labels;
    for (std::uint64_t id = 0; id < 64; ++id) labels.push_back({id, "node"});
    job_.labels.emplace_back(labels);
  }

  Job build() && {
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
    operation.distance = below(random_, std::min(ranks(), 3U));
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
    Communicator world{"world", {}};
    for (std::uint32_t rank = 0; rank < ranks(); ++rank) world.members.push_back(RankId{rank});
    job_.communicators.push_back(world);
    for (std::uint32_t row = 0; row < rows_; ++row) {
      Communicator& group = job_.communicators.emplace_back(Communicator{fmt::format("row{}", row), {}});
      // From right to left.
      for (std::uint32_t i = columns_; i-- > 0;) group.members.push_back(RankId{row * columns_ + i});
    }
    for (std::uint32_t column = 0; column < columns_; ++column) {
      Communicator& group = job_.communicators.emplace_back(Communicator{fmt::format("column{}", column), {}});
      for (std::uint32_t row = 0; row < rows_; ++row) group.members.push_back(RankId{row * columns_ + column});
    }
  }

  void add_rank(std::uint32_t rank, const std::vector<Operation>& operations) {
    RankBinding binding;
    GraphBuilder graph;
    binding.communicators = {GroupId{0}, GroupId{1 + rank / columns_}, GroupId{1 + rows_ + rank % columns_}};
    std::vector<NodeId> first;
    for (const Operation& operation : operations)
      first.push_back(operation.is_collective ? add_collective(operation, rank, graph, binding)
                                              : add_transfers(operation, rank, graph, binding));
    for (const auto& [a, b] : edges_)
      if (a != b) graph.depend(first[std::min(a, b)], first[std::max(a, b)]);
    if (is_odd_[rank]) graph.add({.kind = NodeKind::kCompute, .duration = Duration(5)});
    if (std::ranges::all_of(binding.tags, [](std::int64_t tag) { return tag == 0; })) binding.tags.clear();
    if (std::ranges::all_of(binding.roots, [](std::int64_t root) { return root < 0; })) binding.roots.clear();
    binding.graph = graphs_.intern(std::move(graph).build());
    job_.ranks.push_back(std::move(binding));
  }

  // Odd ranks put more into an all-to-all.
  NodeId add_collective(const Operation& operation, std::uint32_t rank, GraphBuilder& graph, RankBinding& binding) {
    const bool is_more = is_odd_[rank] && operation.kind == CollectiveKind::kAllToAll;
    const Communicator& group = job_.communicators[index_of(binding.communicators[operation.slot])];
    binding.roots.push_back(operation.root > 0 ? std::int64_t{index_of(group.members[operation.root])} : -1);
    return graph.add({.kind = NodeKind::kCollective,
                      .bytes = Bytes(operation.bytes + (is_more ? 10 : 0)),
                      .collective = operation.kind,
                      .slot = operation.slot});
  }

  // Each has slots of its own, so that peers are listed more than once.
  NodeId add_transfers(const Operation& operation, std::uint32_t rank, GraphBuilder& graph, RankBinding& binding) {
    const auto slot = static_cast<std::uint32_t>(binding.peers.size());
    binding.peers.push_back(RankId{(rank + operation.distance) % ranks()});
    binding.peers.push_back(RankId{(rank + ranks() - operation.distance) % ranks()});
    binding.tags.insert(binding.tags.end(), 2, operation.tag);
    const NodeId send = graph.add({.kind = NodeKind::kSend, .bytes = Bytes(operation.bytes), .slot = slot});
    graph.add({.kind = NodeKind::kReceive, .bytes = Bytes(operation.bytes), .slot = slot + 1});
    return send;
  }

  Random& random_;
  std::uint32_t rows_;
  std::uint32_t columns_;
  std::vector<Operation> operations_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;  // operations: the earlier waits for the later
  std::vector<bool> is_odd_;                                    // by rank
  ContentPool<ExecutionGraph> graphs_;
  Job job_;
};

Job with_own_graphs(const Job& job) {
  Job own = job;
  own.graphs.clear();
  for (RankBinding& binding : own.ranks) {
    own.graphs.push_back(job.graphs[binding.graph]);
    binding.graph = static_cast<std::uint32_t>(own.graphs.size() - 1);
  }
  return own;
}

struct Outcome {
  std::optional<Matching> matching;
  std::string disagreement;
};

Outcome outcome_of(const Job& job) {
  try {
    return {match(job), ""};
  } catch (const StuckError& error) {
    return {std::nullopt, error.what()};
  }
}

// The rule itself: the k-th send of a source, destination and tag meets the k-th receive.
std::map<std::pair<RankId, NodeId>, TransferEnd> ends_by_definition(const Job& job) {
  std::map<std::tuple<RankId, RankId, std::int64_t, NodeKind>, std::vector<TransferEnd>> all;
  for (std::uint32_t i = 0; i < job.ranks.size(); ++i) {
    const RankId rank{i};
    for (const NodeId node : job.graph(rank).order()) {
      const NodeKind kind = job.graph(rank).kind(node);
      if (kind == NodeKind::kSend) all[{rank, job.peer(rank, node), job.tag(rank, node), kind}].push_back({rank, node});
      if (kind == NodeKind::kReceive)
        all[{job.peer(rank, node), rank, job.tag(rank, node), kind}].push_back({rank, node});
    }
  }
  std::map<std::pair<RankId, NodeId>, TransferEnd> ends;
  for (const auto& [channel, here] : all) {
    const auto& [source, destination, tag, kind] = channel;
    const NodeKind other = kind == NodeKind::kSend ? NodeKind::kReceive : NodeKind::kSend;
    const std::vector<TransferEnd>& there = all.at({source, destination, tag, other});
    for (std::size_t k = 0; k < here.size(); ++k) ends[{here[k].rank, here[k].node}] = there.at(k);
  }
  return ends;
}

void check_calls(const Matching& matching, const Matching& by_itself) {
  REQUIRE(matching.communicators() == by_itself.communicators());
  for (std::uint32_t a = 0; a < matching.communicators(); ++a) {
    CHECK(std::ranges::equal(matching.calls(GroupId{a}), by_itself.calls(GroupId{a})));
    CHECK(by_itself.call_list(GroupId{a}) == matching.call_list(GroupId{a}));
    for (std::uint32_t b = 0; b < a; ++b)
      CHECK((matching.call_list(GroupId{a}) == matching.call_list(GroupId{b})) ==
            std::ranges::equal(matching.calls(GroupId{a}), matching.calls(GroupId{b})));
  }
}

void check_ends(const Job& job, const Matching& matching, const Matching& by_itself) {
  const auto expected = ends_by_definition(job);
  for (std::uint32_t i = 0; i < job.ranks.size(); ++i) {
    const RankId rank{i};
    for (const NodeId node : job.graph(rank).transfers()) {
      const std::uint32_t index = job.graph(rank).transfer_index(node);
      CHECK(matching.end(rank, index) == expected.at({rank, node}));
      CHECK(by_itself.end(rank, index) == expected.at({rank, node}));
    }
  }
}

}  // namespace

TEST_CASE("ranks that share graphs meet whom they would meet with graphs of their own") {
  Random random(11);
  std::uint32_t agreed = 0, disagreed = 0;
  std::uint32_t lists = 0, lists_by_itself = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    INFO("trial " << trial);
    const Job job = GridJob(random).build();
    const Outcome shared = outcome_of(job);
    const Outcome by_itself = outcome_of(with_own_graphs(job));
    CHECK(shared.disagreement == by_itself.disagreement);
    REQUIRE(shared.matching.has_value() == by_itself.matching.has_value());
    ++(shared.matching ? agreed : disagreed);
    if (!shared.matching) continue;
    check_calls(*shared.matching, *by_itself.matching);
    check_ends(job, *shared.matching, *by_itself.matching);
    lists += shared.matching->end_lists();
    lists_by_itself += by_itself.matching->end_lists();
  }
  // Both happen, and there was something to share: grids have six ranks on average, of two graphs.
  CHECK(agreed > 500);
  CHECK(disagreed > 200);
  CHECK(lists * 2 < lists_by_itself);
}

TEST_CASE("what is matched does not grow with the ranks of a graph") {
  // Every rank sends to the next and receives from the one before: a list for each of the two slots.
  for (const std::uint32_t ranks : {2U, 3U, 1000U}) CHECK(match(neighbour_job(Bytes(8), ranks)).end_lists() == 2);
  CHECK(match(collective_job(CollectiveKind::kAllToAll, Bytes(8), 1000)).call_lists() == 1);

  // 100 groups of ten ranks of one graph: their list, and the empty one of the world.
  Job job = collective_job(CollectiveKind::kAllReduce, Bytes(8), 1000);
  for (std::uint32_t group = 0; group < 100; ++group) {
    Communicator& ten = job.communicators.emplace_back(Communicator{fmt::format("group{}", group), {}});
    for (std::uint32_t rank = group * 10; rank < group * 10 + 10; ++rank) {
      ten.members.push_back(RankId{rank});
      job.ranks[rank].communicators = {GroupId{group + 1}};
    }
  }
  const Matching matching = match(job);
  CHECK(matching.call_lists() == 2);
  CHECK(matching.call_list(GroupId{1}) == matching.call_list(GroupId{100}));
  CHECK(matching.calls(GroupId{0}).empty());
  CHECK(matching.calls(GroupId{100}).size() == 1);
}

TEST_CASE("groups whose roots are at the same position share their calls though the ranks differ") {
  // Pairs (0, 1), (2, 3), (4, 5); a broadcast from the second member, but in the last pair from the first.
  Job job = collective_job(CollectiveKind::kBroadcast, Bytes(8), 6);
  for (std::uint32_t pair = 0; pair < 3; ++pair) {
    const std::uint32_t first = 2 * pair;
    job.communicators.push_back({fmt::format("pair{}", pair), {RankId{first}, RankId{first + 1}}});
    for (const std::uint32_t rank : {first, first + 1}) {
      job.ranks[rank].communicators = {GroupId{pair + 1}};
      job.ranks[rank].roots = {pair < 2 ? first + 1 : first};
    }
  }
  const Matching matching = match(job);
  CHECK(matching.call_list(GroupId{1}) == matching.call_list(GroupId{2}));
  CHECK(matching.call_list(GroupId{1}) != matching.call_list(GroupId{3}));
  CHECK(matching.calls(GroupId{2})[0].root == 1);
  CHECK(matching.calls(GroupId{3})[0].root == 0);
}

TEST_CASE("ranks of equal tags share their ends and ranks of other tags do not") {
  // Three pairs: each rank sends twice to its partner and receives twice; the last pair crosses the tags of its sends
  // and receives, so that the first send meets the second receive.
  GraphBuilder builder;
  for (const NodeKind kind : {NodeKind::kSend, NodeKind::kSend, NodeKind::kReceive, NodeKind::kReceive})
    builder.add({.kind = kind, .bytes = Bytes(8)});
  Job job = collective_job(CollectiveKind::kAllReduce, Bytes(8), 6);
  job.graphs = {std::move(builder).build()};
  for (std::uint32_t rank = 0; rank < 6; ++rank) {
    job.ranks[rank].communicators.clear();
    job.ranks[rank].peers = {RankId{rank ^ 1U}};
    job.ranks[rank].tags = rank < 4 ? std::vector<std::int64_t>{7, 9, 7, 9} : std::vector<std::int64_t>{7, 9, 9, 7};
  }
  const Matching matching = match(job);
  CHECK(matching.end_lists() == 2);
  CHECK(matching.end(RankId{2}, 0) == TransferEnd{RankId{3}, NodeId{2}});
  CHECK(matching.end(RankId{4}, 0) == TransferEnd{RankId{5}, NodeId{3}});
}
