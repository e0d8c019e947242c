// SPDX-License-Identifier: MIT
// What holds for every topology under every routing.
#include <catch2/catch.hpp>
#include <map>
#include <string_view>
#include <vector>

#include "network/fabric/routed_graph.h"
#include "tests/network/fabric_ways.h"
#include "tests/network/topology_examples.h"

using namespace orrery;
using namespace orrery::network;

namespace {

constexpr Routing kSpray{};
constexpr Routing kDeterministic{RoutingKind::kDeterministic, 0};
constexpr Routing kEcmp{RoutingKind::kEcmp, 0};

}  // namespace

TEST_CASE("every topology under every routing: routes lead there, over no more links than under spray") {
  for (const Topology& topology : topologies()) {
    for (TopologyParameters p : topology_examples(topology, gb(25), Duration(700'001))) {
      const TopologyParameters sprayed = p;
      for (const Routing& routing : {kSpray, kDeterministic, kEcmp, Routing{RoutingKind::kEcmp, 7}}) {
        p.routing = routing;
        INFO(topology.name << " of " << p.size << ", " << routing_names()[static_cast<std::size_t>(routing.kind)]);
        const std::uint32_t vertices = p.size + topology.shape->switches(p);
        for (std::uint32_t from = 0; from < p.size; ++from) {
          for (std::uint32_t to = 0; to < p.size; ++to) {
            if (from == to) continue;
            std::uint32_t at = from;
            Duration latency{};
            const std::vector<std::uint32_t> links = route(topology, p, from, to);
            for (const std::uint32_t i : links) {
              REQUIRE(i < topology.shape->links(p));
              const TopologyLink link = topology.shape->link(p, i);
              REQUIRE(link.from == at);
              REQUIRE(link.to < vertices);
              at = link.to;
              latency += link.latency;
            }
            REQUIRE(at == to);
            const std::vector<std::uint32_t> plain = route(topology, sprayed, from, to);
            REQUIRE(links.size() == plain.size());
            for (const std::uint32_t i : plain) latency -= topology.shape->link(sprayed, i).latency;
            REQUIRE(latency == Duration::zero());
          }
        }
      }
    }
  }
}

TEST_CASE("every topology: enumerated links have the capacity of the trunks that they make up") {
  for (const Topology& topology : topologies()) {
    for (TopologyParameters p : topology_examples(topology, gb(25), Duration(1))) {
      INFO(topology.name << " of " << p.size);
      const auto capacity = [&] {
        std::map<std::uint32_t, std::int64_t> sums;  // by class
        for (std::uint32_t i = 0; i < topology.shape->links(p); ++i)
          sums[topology.shape->link(p, i).link_class] += topology.shape->link(p, i).bandwidth.count();
        return sums;
      };
      const auto trunks = capacity();
      p.routing = kDeterministic;
      const auto links = static_cast<std::int64_t>(topology.shape->links(p));
      const auto singles = capacity();
      REQUIRE(singles.size() == trunks.size());
      for (const auto& [link_class, sum] : trunks) {
        REQUIRE(singles.at(link_class) <= sum);
        REQUIRE(singles.at(link_class) >
                sum - links);  // what a trunk's bandwidth leaves over is less than 1 B/s a link
      }
    }
  }
}

TEST_CASE("topologies without a choice are the same under every routing") {
  for (const std::string_view name : {"switch", "ring", "fully-connected", "mesh", "torus"}) {
    const Topology& topology = *topology_named(name);
    for (TopologyParameters p : topology_examples(topology, gb(25), Duration(7))) {
      const TopologyParameters sprayed = p;
      for (const Routing& routing : {kDeterministic, kEcmp}) {
        p.routing = routing;
        INFO(name << " of " << p.size);
        REQUIRE(topology.shape->links(p) == topology.shape->links(sprayed));
        for (std::uint32_t from = 0; from < p.size; ++from)
          for (std::uint32_t to = 0; to < p.size; ++to)
            if (from != to) REQUIRE(route(topology, p, from, to) == route(topology, sprayed, from, to));
      }
    }
  }
}
