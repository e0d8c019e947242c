// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "system/folding/colour_refinement.h"

using namespace orrery;
using namespace orrery::system;

namespace {

struct Edge {
  std::uint32_t a, b;
  std::uint64_t label_at_a, label_at_b;
};

struct Graph {
  std::vector<std::uint64_t> own;
  std::vector<Edge> edges;
};

// The definition: compare everybody with everybody until nothing changes. Classes are numbered by their first vertex.
std::vector<std::uint32_t> by_definition(const Graph& graph) {
  std::vector<std::uint32_t> colours(graph.own.size());
  for (std::size_t round = 0; round <= graph.own.size(); ++round) {
    using Neighbours = std::vector<std::pair<std::uint64_t, std::uint32_t>>;
    std::vector<Neighbours> seen(graph.own.size());
    if (round > 0)
      for (const Edge& edge : graph.edges) {
        seen[edge.a].emplace_back(edge.label_at_a, colours[edge.b]);
        seen[edge.b].emplace_back(edge.label_at_b, colours[edge.a]);
      }
    std::map<std::tuple<std::uint64_t, std::uint32_t, Neighbours>, std::uint32_t> classes;
    std::vector<std::uint32_t> next;
    for (std::size_t v = 0; v < graph.own.size(); ++v) {
      std::ranges::sort(seen[v]);
      next.push_back(classes.try_emplace({graph.own[v], colours[v], seen[v]}, classes.size()).first->second);
    }
    colours = next;
  }
  return colours;
}

std::vector<std::uint32_t> renumbered(const ColourRefinement& refinement) {
  std::map<std::uint32_t, std::uint32_t> numbers;
  std::vector<std::uint32_t> colours;
  for (std::uint32_t v = 0; v < refinement.vertex_count(); ++v)
    colours.push_back(
        numbers.try_emplace(refinement.colour(v), static_cast<std::uint32_t>(numbers.size())).first->second);
  return colours;
}

Graph random_graph(std::mt19937_64& random) {
  Graph graph;
  const std::size_t vertices = 2 + random() % 30;
  for (std::size_t v = 0; v < vertices; ++v) graph.own.push_back(random() % 8 == 0 ? 1 : 0);
  const std::size_t edges = random() % 50;
  for (std::size_t e = 0; e < edges; ++e) {
    const auto end = [&] { return static_cast<std::uint32_t>(random() % vertices); };
    graph.edges.push_back({end(), end(), random() % 2, random() % 2});
  }
  // Few of them are regular by chance: copy the graph, with some of the copies joined in a ring.
  const std::size_t copies = 1 + random() % 4;
  const Graph one = graph;
  for (std::size_t copy = 1; copy < copies; ++copy) {
    const auto shift = static_cast<std::uint32_t>(copy * vertices);
    for (const std::uint64_t own : one.own) graph.own.push_back(own);
    for (const Edge& edge : one.edges)
      graph.edges.push_back({edge.a + shift, edge.b + shift, edge.label_at_a, edge.label_at_b});
  }
  for (std::size_t copy = 0; copy < copies; ++copy)
    graph.edges.push_back({static_cast<std::uint32_t>(copy * vertices),
                           static_cast<std::uint32_t>((copy + 1) % copies * vertices), 7, 8});
  return graph;
}

}  // namespace

TEST_CASE("the classes of random graphs are those of the definition") {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    const Graph graph = random_graph(random);
    ColourRefinement refinement;
    for (const std::uint64_t own : graph.own) refinement.add_vertex(own);
    for (const Edge& edge : graph.edges) refinement.add_edge(edge.a, edge.b, edge.label_at_a, edge.label_at_b);
    refinement.refine();
    CHECK(refinement.is_equitable());
    CHECK(renumbered(refinement) == by_definition(graph));
  }
}

TEST_CASE("a graph that grows has at least the classes of the whole, and they stay equitable") {
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 500; ++trial) {
    const Graph graph = random_graph(random);
    ColourRefinement refinement;
    for (const std::uint64_t own : graph.own) refinement.add_vertex(own);
    std::vector<std::uint32_t> before;
    for (std::size_t e = 0; e <= graph.edges.size(); ++e) {
      if (random() % 4 == 0 || e == graph.edges.size()) {
        refinement.refine();
        CHECK(refinement.is_equitable());
        // It only gets finer: who were told apart stay apart.
        const std::vector<std::uint32_t> now = renumbered(refinement);
        std::map<std::uint32_t, std::uint32_t> parent;
        for (std::size_t v = 0; v < before.size(); ++v)
          CHECK(parent.try_emplace(now[v], before[v]).first->second == before[v]);
        before = now;
      }
      if (e == graph.edges.size()) break;
      const Edge& edge = graph.edges[e];
      refinement.add_edge(edge.a, edge.b, edge.label_at_a, edge.label_at_b);
    }
    // Everything of one class is also of one class of the whole.
    const std::vector<std::uint32_t> whole = by_definition(graph);
    std::map<std::uint32_t, std::uint32_t> of;
    for (std::uint32_t v = 0; v < graph.own.size(); ++v)
      CHECK(of.try_emplace(refinement.colour(v), whole[v]).first->second == whole[v]);
  }
}

TEST_CASE("what a refinement changed is told class by class, with what each was part of") {
  std::mt19937_64 random(3);
  const auto sorted_members = [](const ColourRefinement& refinement, std::uint32_t colour) {
    const auto members = refinement.members(colour);
    std::vector<std::uint32_t> sorted(members.begin(), members.end());
    std::ranges::sort(sorted);
    return sorted;
  };
  for (int trial = 0; trial < 500; ++trial) {
    const Graph graph = random_graph(random);
    ColourRefinement refinement;
    for (const std::uint64_t own : graph.own) refinement.add_vertex(own);
    std::vector<std::vector<std::uint32_t>> before;  // members, by class
    for (std::size_t e = 0; e <= graph.edges.size(); ++e) {
      if (random() % 4 == 0 || e == graph.edges.size()) {
        refinement.forget_changes();
        refinement.refine();
        std::vector<std::vector<std::uint32_t>> now;
        std::size_t changed = 0;
        for (std::uint32_t colour = 0; colour < refinement.class_count(); ++colour) {
          now.push_back(sorted_members(refinement, colour));
          CHECK(now.back().size() == refinement.class_size(colour));
          for (const std::uint32_t vertex : now.back()) CHECK(refinement.colour(vertex) == colour);
          const bool is_as_before = colour < before.size() && now.back() == before[colour];
          CHECK(refinement.has_changed(colour) == !is_as_before);
          changed += is_as_before ? 0 : 1;
          const auto parent = refinement.before(colour);
          CHECK(parent.has_value() == !before.empty());
          if (parent) CHECK(std::ranges::includes(before[*parent], now.back()));
        }
        CHECK(refinement.changed().size() == changed);
        before = now;
      }
      if (e == graph.edges.size()) break;
      const Edge& edge = graph.edges[e];
      refinement.add_edge(edge.a, edge.b, edge.label_at_a, edge.label_at_b);
    }
  }
}

TEST_CASE("one different vertex tells a ring apart by distance") {
  ColourRefinement refinement;
  constexpr std::uint32_t kSize = 1001;
  for (std::uint32_t v = 0; v < kSize; ++v) refinement.add_vertex(0);
  for (std::uint32_t v = 0; v < kSize; ++v) refinement.add_edge(v, (v + 1) % kSize, 1);
  refinement.refine();
  CHECK(refinement.class_count() == 1);
  const std::uint32_t mark = refinement.add_vertex(5);
  refinement.add_edge(mark, 0, 2);
  refinement.refine();
  CHECK(refinement.class_count() == 1 + 501);  // the mark, distances 0 .. 500
  CHECK(refinement.is_equitable());
}

TEST_CASE("a vertex may have tens of thousands of neighbours, each of which it sees once") {
  constexpr std::uint32_t kNeighbours = 50'000;
  ColourRefinement refinement;
  const std::uint32_t centre = refinement.add_vertex(0);
  for (std::uint32_t v = 1; v <= kNeighbours; ++v) refinement.add_edge(centre, refinement.add_vertex(0), 1);
  refinement.refine();
  std::vector<std::uint32_t> seen;
  refinement.for_each_neighbour(centre, [&](std::uint32_t neighbour, std::uint32_t) { seen.push_back(neighbour); });
  std::ranges::sort(seen);
  std::vector<std::uint32_t> all(kNeighbours);
  std::iota(all.begin(), all.end(), 1U);
  CHECK(seen == all);
  CHECK(refinement.class_count() == 2);
}

// Any equitable partition will do in place of the vertices: here one that also heeds a mark on some of them.
TEST_CASE("500 random graphs have the classes of their quotients") {
  std::mt19937_64 random(29);
  int smaller = 0;
  for (int trial = 0; trial < 500; ++trial) {
    Graph graph = random_graph(random);
    for (Edge& edge : graph.edges) edge.label_at_b = edge.label_at_a;
    Graph marked = graph;
    for (std::uint64_t& own : marked.own) own += random() % 40 == 0 ? std::uint64_t{2} : 0;
    const std::vector<std::uint32_t> plain = by_definition(graph), kinds = by_definition(marked);
    std::map<std::uint32_t, std::uint32_t> weight;
    for (const std::uint32_t kind : kinds) ++weight[kind];
    ColourRefinement quotient;
    std::map<std::uint32_t, std::uint32_t> vertex_of;  // by kind, which is numbered by its first vertex
    for (std::uint32_t v = 0; v < graph.own.size(); ++v)
      if (!vertex_of.contains(kinds[v])) vertex_of[kinds[v]] = quotient.add_vertex(graph.own[v], weight[kinds[v]]);
    std::map<std::array<std::uint64_t, 3>, std::uint32_t> ends;  // by kinds, here and there, and label
    for (const Edge& edge : graph.edges) {
      ++ends[{kinds[edge.a], kinds[edge.b], edge.label_at_a}];
      ++ends[{kinds[edge.b], kinds[edge.a], edge.label_at_a}];
    }
    for (const auto& [end, count] : ends) {
      const auto a = static_cast<std::uint32_t>(end[0]), b = static_cast<std::uint32_t>(end[1]);
      REQUIRE(count % weight[a] == 0);
      const std::uint32_t times = count / weight[a];
      if (a < b) quotient.add_edge(vertex_of[a], vertex_of[b], {end[2], times}, {end[2], count / weight[b]});
      if (a == b) quotient.add_edge(vertex_of[a], vertex_of[a], {end[2], times - times / 2}, {end[2], times / 2});
    }
    quotient.refine();
    REQUIRE(quotient.is_equitable());
    std::map<std::uint32_t, std::uint32_t> colour_of, size_of;  // by plain class
    for (const std::uint32_t colour : plain) ++size_of[colour];
    REQUIRE(quotient.class_count() == size_of.size());
    for (std::uint32_t v = 0; v < graph.own.size(); ++v) {
      const std::uint32_t colour = quotient.colour(vertex_of[kinds[v]]);
      REQUIRE(colour_of.try_emplace(plain[v], colour).first->second == colour);
      REQUIRE(quotient.class_size(colour) == size_of[plain[v]]);
    }
    smaller += vertex_of.size() < graph.own.size() ? 1 : 0;
  }
  CHECK(smaller > 200);
}
