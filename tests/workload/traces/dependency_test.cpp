// SPDX-License-Identifier: MIT
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "tests/workload/traces/trace_builder.h"
#include "workload/traces/dependency_check.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;
using Catch::Matchers::Contains;

namespace {

TraceNodeBuilder named(std::uint64_t id, std::string_view name) {
  return TraceNodeBuilder(id, name, chakra::COMP_NODE).duration(1);
}

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("nodes are numbered by id, whatever the order in the file") {
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 40;
  const RankTrace trace = read({named(kHuge, "last").data({3, 7}), named(7, "middle").data({3}), named(3, "first")});
  REQUIRE(trace.graph);
  CHECK(trace.labels.trace_id(NodeId{0}) == 3);
  CHECK(trace.labels.trace_id(NodeId{2}) == kHuge);
  CHECK(trace.labels.name(NodeId{1}) == "middle");
  CHECK(trace.graph->successors(NodeId{0}).size() == 2);
  CHECK(trace.graph->predecessor_count(NodeId{2}) == 2);
}

TEST_CASE("repeated dependencies, and the same id in ctrl and data, count once") {
  const RankTrace trace = read({named(1, "a"), named(2, "b").data({1, 1}).ctrl({1, 1})});
  CHECK(trace.graph->edge_count() == 1);
  CHECK(trace.graph->predecessor_count(NodeId{1}) == 1);
  CHECK(problems_of(trace).empty());
}

TEST_CASE("an unknown dependency is an error that names the node and the missing id") {
  const std::string problems = problems_of({named(1, "aten::add").data({99})});
  CHECK_THAT(problems,
             Contains("error: dependency on an id that no node of the file has: node 1 \"aten::add\" on 99 (data)"));
  // There are no others to choose.
  CHECK_THAT(problems, Contains("hint: nodes are missing: the file was cut, or they were removed from it"));
  CHECK_THAT(problems, !Contains("dependencies: ctrl"));
}

TEST_CASE("an unknown dependency of one kind has the other for advice, where the trace has that") {
  const Trace trace = {named(1, "a").data({99}), named(2, "b").ctrl({1})};
  CHECK_THAT(problems_of(trace),
             Contains("hint: `ctrl` dependencies alone are free") && Contains("workload.chakra.dependencies: ctrl"));
}

TEST_CASE("a choice of dependencies that the trace has none of is a warning with the number of the others") {
  const Trace trace = {named(1, "a"), named(2, "b").data({1}), named(3, "c").data({1, 2}), named(4, "d").data({3})};
  const std::string problems = problems_of(trace, Dependencies::kCtrl);
  CHECK_THAT(problems, Contains("warning: no node waits for another: the trace has no `ctrl` dependencies, and its "
                                "`data` dependencies are ignored: node 2 \"b\" on 1, node 3 \"c\" on 1, node 3 "
                                "\"c\" on 2 (4 in all)"));
  CHECK_THAT(problems, Contains("hint: choose them: workload.chakra.dependencies: data"));
  CHECK(problems_of(trace, Dependencies::kData).empty());
  CHECK(problems_of({named(1, "a"), named(2, "b")}, Dependencies::kCtrl).empty());
}

TEST_CASE("many unknown dependencies are one problem with the first examples and the count") {
  Trace trace;
  for (std::uint64_t id = 0; id < 1277; ++id) trace.push_back(named(id, "n").ctrl({5000 + id}));
  const std::string problems = problems_of(trace);
  CHECK_THAT(problems,
             Contains("on 5000 (ctrl), node 1 \"n\" on 5001 (ctrl), node 2 \"n\" on 5002 (ctrl) (1277 in all)"));
  CHECK_THAT(problems, Contains("nodes are missing"));
  CHECK(std::count(problems.begin(), problems.end(), '\n') == 2);
}

TEST_CASE("a self dependency is an error in the chosen kinds and ignored in the others") {
  const Trace trace = {named(1, "a").ctrl({1}), named(2, "b").data({1})};
  CHECK_THAT(problems_of(trace),
             Contains("dependency of a node on itself: node 1 \"a\" (ctrl)") && Contains("dependencies: data"));
  CHECK(problems_of(trace, Dependencies::kData).empty());
  CHECK_THAT(problems_of(trace, Dependencies::kCtrl), Contains("itself"));
}

TEST_CASE("only the chosen kinds order the nodes") {
  const Trace trace = {named(1, "a"), named(2, "b").ctrl({1}), named(3, "c").data({2})};
  CHECK(read(trace, Dependencies::kBoth).graph->edge_count() == 2);
  CHECK(read(trace, Dependencies::kData).graph->predecessor_count(NodeId{1}) == 0);
  CHECK(read(trace, Dependencies::kCtrl).graph->predecessor_count(NodeId{2}) == 0);
}

TEST_CASE("a cycle is shown node by node with the kind of each edge, and which choice has none") {
  // 12 <- 15 by data, 15 <- 12 by ctrl; 20 only waits behind the cycle, 1 is free of it.
  const Trace trace = {named(12, "aten::mm").ctrl({15}), named(15, "aten::t").data({12}), named(20, "late").data({15}),
                       named(1, "root")};
  const std::string problems = problems_of(trace);
  CHECK_THAT(problems, Contains("12 \"aten::mm\" -> 15 \"aten::t\" (data) -> 12 (ctrl)"));
  CHECK_THAT(problems, Contains("3 of 4 nodes are unreachable because of cycles"));
  CHECK_THAT(problems, Contains("`data` dependencies alone are free of unknown, self and cyclic dependencies: "
                                "workload.chakra.dependencies: data"));
  CHECK(read(trace, Dependencies::kData).graph.has_value());
}

TEST_CASE("when neither kind alone helps, the hint says so") {
  const std::string problems = problems_of({named(1, "a").data({2}).ctrl({2}), named(2, "b").data({1}).ctrl({1})});
  CHECK_THAT(problems, Contains("1 \"a\" -> 2 \"b\" (ctrl and data) -> 1 (ctrl and data)"));
  CHECK_THAT(problems, Contains("neither `data` nor `ctrl` dependencies alone are free"));
  const Trace with_ctrl = {named(1, "a").data({2}), named(2, "b").data({1}), named(3, "c").ctrl({1})};
  CHECK_THAT(problems_of(with_ctrl, Dependencies::kData), Contains("`ctrl` dependencies alone are free"));
  const Trace data_only = {named(1, "a").data({2}), named(2, "b").data({1})};
  CHECK_THAT(problems_of(data_only, Dependencies::kData),
             Contains("cycle") && !Contains("dependencies alone") && Contains("without the dependency of node 1"));
}

TEST_CASE("the cycle shown is the shortest through a node of the first cycle found") {
  // A ring of 30 and, through node 0, a short cut 0 -> 1 -> 2 -> 0.
  Trace trace;
  for (std::uint64_t id = 0; id < 30; ++id) trace.push_back(named(id, "n").data({(id + 29) % 30}));
  trace[0].add_data_deps(2);
  CHECK_THAT(problems_of(trace), Contains("0 \"n\" -> 1 \"n\" (data) -> 2 \"n\" (data) -> 0 (data)"));
}

TEST_CASE("a long cycle is shown with its middle left out") {
  Trace trace;
  for (std::uint64_t id = 0; id < 1000; ++id) trace.push_back(named(id, "n").data({(id + 999) % 1000}));
  // Ten entries: the first eight nodes, what is left out, the last one.
  CHECK_THAT(problems_of(trace), Contains("0 \"n\" -> 1 \"n\"") &&
                                     Contains("-> 7 \"n\" (data) -> ... (991 more) -> 999 \"n\" (data) -> 0 (data)"));
}

TEST_CASE("a cycle that is found is one, on random graphs") {
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  int with_cycle = 0;
  for (int round = 0; round < 300; ++round) {
    const std::uint32_t nodes = 2 + below(12);
    std::vector<Edge> edges;
    for (std::uint32_t e = 0; e < nodes + below(nodes); ++e) {
      const Edge edge{NodeId{below(nodes)}, NodeId{below(nodes)}};
      if (edge.before != edge.after) edges.push_back(edge);
    }
    std::ranges::sort(edges);
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    std::vector<std::uint32_t> offsets(nodes + 1, 0), waiting(nodes, 0);
    std::vector<NodeId> successors;
    for (const Edge& edge : edges) {
      ++offsets[index_of(edge.before) + 1];
      ++waiting[index_of(edge.after)];
      successors.push_back(edge.after);
    }
    for (std::uint32_t i = 0; i < nodes; ++i) offsets[i + 1] += offsets[i];
    const std::vector<NodeId> order = canonical_order(offsets, successors, waiting);
    if (order.size() == nodes) continue;
    ++with_cycle;
    const std::vector<NodeId> cycle = short_cycle(nodes, edges, order);
    REQUIRE(cycle.size() >= 2);
    for (std::size_t i = 0; i < cycle.size(); ++i)
      CHECK(std::ranges::binary_search(edges, Edge{cycle[i], cycle[(i + 1) % cycle.size()]}));
  }
  CHECK(with_cycle > 50);
}

TEST_CASE("two nodes with one id are an error with both positions") {
  // Message 0 is the metadata.
  CHECK_THAT(problems_of({named(5, "a"), named(6, "b"), named(5, "c")}),
             Contains("error: two nodes with the same id: node 5 \"a\" (message 1) and \"c\" (message 3)"));
}

TEST_CASE("all kinds of wrong dependencies are reported together with the advice once") {
  const std::string problems =
      problems_of({named(1, "a").ctrl({1, 77}), named(2, "b").data({3}), named(3, "c").ctrl({2})});
  CHECK_THAT(problems, Contains("on 77 (ctrl)") && Contains("itself") && Contains("cycle"));
  CHECK(count_of(problems, "hint:") == 1);
}

TEST_CASE("names of nodes are safe to print and cut") {
  const std::string problems = problems_of({named(1, "evil\n\x1b[31m" + std::string(500, 'x')).data({9})});
  CHECK_THAT(problems, Contains("evil\\x0A\\x1B[31mxxx") && Contains("...\""));
  CHECK(problems.size() < 400);
}

TEST_CASE("a cycle through 200,000 nodes is found without recursion and in time") {
  Trace trace;
  constexpr std::uint64_t kNodes = 200'000;
  for (std::uint64_t id = 0; id < kNodes; ++id) trace.push_back(named(id, "n").data({(id + kNodes - 1) % kNodes}));
  CHECK_THAT(problems_of(trace), Contains("200000 of 200000 nodes are unreachable"));
}

TEST_CASE("a hub with a hundred thousand dependencies keeps them all") {
  Trace trace;
  constexpr std::uint64_t kNodes = 100'000;
  chakra::Node hub = named(kNodes, "hub");
  for (std::uint64_t id = 0; id < kNodes; ++id) {
    trace.push_back(named(id, "n"));
    hub.add_data_deps(id);
  }
  trace.push_back(hub);
  const RankTrace result = read(trace);
  REQUIRE(result.graph);
  CHECK(result.graph->predecessor_count(NodeId{kNodes}) == kNodes);
}
