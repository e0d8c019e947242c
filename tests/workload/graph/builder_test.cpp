// SPDX-License-Identifier: MIT
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <utility>

#include "workload/graph/builder.h"
#include "workload/graph/graph_pool.h"
#include "workload/graph/node_labels.h"

using namespace orrery;
using namespace orrery::workload;

namespace {

GraphNode timed(std::int64_t picoseconds) { return {.kind = NodeKind::kCompute, .duration = Duration(picoseconds)}; }
GraphNode call(std::uint32_t slot, std::int64_t bytes) {
  return {.kind = NodeKind::kCollective, .bytes = Bytes(bytes), .slot = slot};
}
NodeId n(std::uint32_t i) { return NodeId{i}; }

// The order by its definition: look for the smallest ready node again and again.
std::vector<NodeId> order_by_definition(std::uint32_t nodes,
                                        const std::set<std::pair<std::uint32_t, std::uint32_t>>& edges) {
  std::vector<NodeId> order;
  std::vector<bool> done(nodes, false);
  while (order.size() < nodes) {
    for (std::uint32_t i = 0; i < nodes; ++i) {
      const bool waits = std::ranges::any_of(edges, [&](const auto& e) { return e.second == i && !done[e.first]; });
      if (done[i] || waits) continue;
      done[i] = true;
      order.push_back(n(i));
      break;
    }
  }
  return order;
}

}  // namespace

TEST_CASE("the canonical order always takes the smallest ready node") {
  std::mt19937 random(1);
  const auto below = [&](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
  for (int round = 0; round < 100; ++round) {
    const std::uint32_t nodes = 1 + below(25);
    // Acyclic, because edges follow a random permutation.
    std::vector<std::uint32_t> rank(nodes);
    for (std::uint32_t i = 0; i < nodes; ++i) rank[i] = i;
    std::ranges::shuffle(rank, random);
    std::set<std::pair<std::uint32_t, std::uint32_t>> edges;
    GraphBuilder builder;
    for (std::uint32_t i = 0; i < nodes; ++i) builder.add(timed(1));
    for (std::uint32_t e = 0; e < nodes * 2; ++e) {
      const std::uint32_t a = below(nodes);
      const std::uint32_t b = below(nodes);
      if (rank[a] >= rank[b]) continue;
      edges.insert({a, b});
      builder.depend(n(b), n(a));
    }
    const ExecutionGraph graph = std::move(builder).build();
    CHECK(graph.edge_count() == edges.size());
    CHECK(std::ranges::equal(graph.order(), order_by_definition(nodes, edges)));
  }
}

TEST_CASE("calls on a communicator are numbered in canonical order, not by id") {
  // 0 waits for 3, so on slot 0 the order is 2, 3, 0; on slot 1 it is 1.
  GraphBuilder builder;
  builder.add(call(0, 10));
  builder.add(call(1, 11));
  builder.add(call(0, 12));
  builder.add(call(0, 13));
  builder.depend(n(0), n(3));
  const ExecutionGraph graph = std::move(builder).build();
  CHECK(std::ranges::equal(graph.calls(0), std::vector{n(2), n(3), n(0)}));
  CHECK(std::ranges::equal(graph.calls(1), std::vector{n(1)}));
  CHECK(graph.call_index(n(0)) == 2);
  CHECK(graph.call_index(n(1)) == 0);
  CHECK(graph.communicator_slots() == 2);
}

TEST_CASE("graphs that differ in anything a simulation sees are not equal") {
  const GraphNode base{.kind = NodeKind::kCompute, .duration = Duration(5), .flops = Flops(6), .bytes = Bytes(7)};
  const auto graph_of = [](const GraphNode& node, bool edge) {
    GraphBuilder builder;
    builder.add(node);
    builder.add(node);
    if (edge) builder.depend(n(1), n(0));
    return std::move(builder).build();
  };
  std::vector<GraphNode> variants(7, base);
  variants[1].kind = NodeKind::kHostCompute;
  variants[2].duration = Duration(8);
  variants[3].flops = Flops(8);
  variants[4].bytes = Bytes(8);
  variants[5].stream = 1;
  variants[6].priority = 1;
  std::vector<ExecutionGraph> graphs;
  for (const GraphNode& node : variants)
    for (const bool edge : {false, true}) graphs.push_back(graph_of(node, edge));
  for (const auto& [kind, slot] :
       {std::pair{CollectiveKind::kAllReduce, 0U}, {CollectiveKind::kAllGather, 0U}, {CollectiveKind::kAllReduce, 1U}})
    graphs.push_back(graph_of({.kind = NodeKind::kCollective, .collective = kind, .slot = slot}, false));
  for (const std::uint32_t slot : {0U, 1U}) graphs.push_back(graph_of({.kind = NodeKind::kSend, .slot = slot}, false));

  for (std::size_t i = 0; i < graphs.size(); ++i)
    for (std::size_t j = 0; j < graphs.size(); ++j) {
      CHECK((graphs[i] == graphs[j]) == (i == j));
      CHECK((graphs[i].content_hash() == graphs[j].content_hash()) == (i == j));
    }
  CHECK(graph_of(base, true) == graphs[1]);
}

TEST_CASE("a node comes back as it was added") {
  const std::vector<GraphNode> nodes = {
      {.kind = NodeKind::kSend, .bytes = Bytes(3), .slot = 2, .priority = 9},
      {.kind = NodeKind::kCollective,
       .bytes = Bytes(4),
       .collective = CollectiveKind::kAllToAll,
       .slot = 1,
       .stream = 3},
      {.kind = NodeKind::kCompute, .duration = Duration(5), .flops = Flops(6), .bytes = Bytes(7)},
      {.kind = NodeKind::kReceive, .bytes = Bytes(8)},
      {}};
  GraphBuilder builder;
  for (const GraphNode& node : nodes) builder.add(node);
  const ExecutionGraph graph = std::move(builder).build();
  for (std::uint32_t i = 0; i < nodes.size(); ++i) CHECK(graph.node(n(i)) == nodes[i]);
  CHECK(graph.stream_count() == 4);
  CHECK(graph.peer_slots() == 3);
  CHECK(std::ranges::equal(graph.transfers(), std::vector{n(0), n(3)}));
}

TEST_CASE("other amounts go to all nodes that were added like one, and nothing else changes") {
  const auto compute = [](std::int64_t duration, std::int64_t bytes) {
    return GraphNode{.kind = NodeKind::kCompute, .duration = Duration(duration), .bytes = Bytes(bytes)};
  };
  // Nodes 0 and 2 are alike; node 1 has the same amounts, but is apart.
  GraphBuilder apart;
  apart.add_apart(compute(5, 7));
  apart.add_apart(compute(5, 7));
  apart.add_like(n(0));
  apart.depend(n(2), n(0));
  const ExecutionGraph graph = std::move(apart).build();
  CHECK(graph.amount_number(n(0)) == graph.amount_number(n(2)));
  CHECK(graph.amount_number(n(0)) != graph.amount_number(n(1)));
  CHECK(graph.nodes_of(graph.amount_number(n(0))) == 2);
  CHECK(graph.first_node(graph.amount_number(n(1))) == n(1));
  const std::vector<ChangedNode> changed = {{n(2), compute(9, 0)}};
  const ExecutionGraph other = graph.with_amounts(changed);
  CHECK(other.form() == graph.form());
  CHECK(other != graph);
  // The same as if it had been built so, though there all that is equal has one number.
  GraphBuilder builder;
  for (const GraphNode& node : {compute(9, 0), compute(5, 7), compute(9, 0)}) builder.add(node);
  builder.depend(n(2), n(0));
  const ExecutionGraph built = std::move(builder).build();
  CHECK(other == built);
  CHECK(other.content_hash() == built.content_hash());
  for (std::uint32_t i = 0; i < 3; ++i) CHECK(other.node(n(i)) == (i == 1 ? compute(5, 7) : compute(9, 0)));
}

TEST_CASE("graphs that differ in amounts alone share their form in a pool") {
  const auto build = [](std::int64_t first, std::int64_t second, bool has_edge) {
    GraphBuilder builder;
    builder.add(timed(first));
    builder.add(timed(second));
    if (has_edge) builder.depend(n(1), n(0));
    return std::move(builder).build();
  };
  GraphPool pool;
  CHECK(pool.intern(build(5, 6, true)) == 0);
  CHECK(pool.intern(build(7, 7, true)) == 1);  // nodes of one amount number
  CHECK(pool.intern(build(5, 6, false)) == 2);
  CHECK(pool.intern(build(5, 6, true)) == 0);
  CHECK(pool[0].form() == pool[1].form());
  CHECK_FALSE(pool[0].has_numbers_of(pool[1]));
  CHECK(pool[0].form() != pool[2].form());
  CHECK((pool[0].node(n(1)) == timed(6) && pool[1].node(n(1)) == timed(7)));
}

TEST_CASE("the host's times follow from other amounts") {
  const auto compute = [](std::int64_t launches, std::int64_t span, std::int64_t duration) {
    return GraphNode{.kind = NodeKind::kCompute,
                     .duration = Duration(duration),
                     .host = {.launches = Duration(launches), .span = Duration(span)}};
  };
  GraphBuilder builder;
  builder.add_apart(compute(2, 8, 5));
  builder.add_apart(compute(3, 9, 6));
  builder.add_like(n(0));
  const ExecutionGraph graph = std::move(builder).build();
  const std::vector<ChangedNode> changed = {{n(0), compute(4, 12, 5)}};
  const ExecutionGraph other = graph.with_amounts(changed);
  // The host is busy for 2, then 3 more; or 4, then 3 more. It runs ahead by the span less the duration: 3; 7.
  for (const auto& [of, before, ahead] : {std::tuple(&graph, std::array{0, 2, 5}, 3), {&other, {0, 4, 7}, 7}}) {
    for (std::uint32_t i = 0; i < 3; ++i) CHECK(of->host_before(n(i)) == Duration(before[i]));
    CHECK(of->host_ahead(0) == Duration(ahead));
  }
}

TEST_CASE("labels with numbers of names are those with names") {
  const std::vector<std::string_view> texts = {"unused", "b", "a"};
  for (const std::uint64_t second : {7U, 9U}) {  // ids that follow one another, or do not
    const std::vector<NodeLabel> by_text = {{6, "a"}, {second, "b"}, {second + 1, "a"}};
    const NodeLabels labels({6, second, second + 1}, {2, 1, 2}, texts), expected(by_text);
    CHECK(labels == expected);
    CHECK(labels.content_hash() == expected.content_hash());
    CHECK((labels.name(n(0)) == "a" && labels.name(n(1)) == "b" && labels.trace_id(n(2)) == second + 1));
  }
  const std::vector<NodeLabel> from_0 = {{0, "b"}, {1, "b"}};
  CHECK(NodeLabels({}, {1, 1}, texts) == NodeLabels(from_0));
}

TEST_CASE("merged communicator slots count their calls together") {
  GraphBuilder builder;
  builder.add(call(0, 1));
  builder.add(call(1, 1));
  builder.add(call(0, 1));
  builder.depend(n(1), n(0));
  const std::vector<std::uint32_t> together = {0, 0};
  const ExecutionGraph merged = with_communicator_slots(std::move(builder).build(), together);
  CHECK(std::ranges::equal(merged.calls(0), std::vector{n(0), n(1), n(2)}));
  CHECK(merged.edge_count() == 1);
}

TEST_CASE("a chain of a million nodes is ordered without recursion") {
  constexpr std::uint32_t kNodes = 1'000'000;
  GraphBuilder builder;
  builder.reserve(kNodes, kNodes);
  for (std::uint32_t i = 0; i < kNodes; ++i) builder.add(timed(1));
  for (std::uint32_t i = 1; i < kNodes; ++i) builder.depend(n(i - 1), n(i));
  const ExecutionGraph graph = std::move(builder).build();
  CHECK(graph.order().front() == n(kNodes - 1));
  CHECK(graph.order().back() == n(0));
}
