// SPDX-License-Identifier: MIT
// The product's solver goes on from what it found before; the plain one (max_min.h) starts from nothing. After any
// changes both come to the same rates, to the last byte per second.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "network/flow/ends.h"
#include "network/flow/graph.h"
#include "network/flow/solver.h"
#include "tests/network/flow/max_min.h"
#include "tests/network/flow/probe.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::test;

namespace {

// Links of any bandwidth, and flows that cross any of them.
class Sharing final : EventSink {
 public:
  explicit Sharing(std::mt19937& random)
      : random_(random), fabric_(compose(std::vector{dimension("switch", 2 + below(9), 1, 0)})), graph_(fabric_) {
    // Many links fill at one rate, have fewer bytes per second than flows, or leave much to the floor.
    const std::uint32_t kind = below(4);
    for (std::uint32_t link = 0; link < fabric_.link_count(); ++link) {
      const std::int64_t step = kind == 0 ? 1 : kind == 1 ? 1'000'003 : 25'000'000'000;
      fabric_.set_bandwidth(LinkId(link), Bandwidth(step * (1 + below(kind == 3 ? 1 : 12))));
    }
  }

  void change() {
    const bool is_emptied = below(20) == 0;
    for (auto leaving = is_emptied ? flows_.size() : below(4); leaving > 0 && !flows_.empty(); --leaving) remove();
    for (auto joining = below(below(5) == 0 ? 30 : 4); joining > 0; --joining) add();
    solver_.solve();
  }

  void check() {
    MaxMin expected;
    for (std::uint32_t link = 0; link < fabric_.link_count(); ++link)
      expected.add_link(fabric_.link(LinkId(link)).bandwidth);
    for (const std::uint32_t flow : flows_) {
      expected.add_flow();
      for (const FlowCrossing& crossing : graph_.route(flow))
        expected.cross(index_of(graph_.link(crossing.link).id), crossing.weight);
    }
    expected.solve();
    for (std::uint32_t i = 0; i < flows_.size(); ++i) {
      REQUIRE(graph_.rate(flows_[i]) == expected.rate(i));
      const FlowLink& bottleneck = graph_.link(graph_.bottleneck(flows_[i]));
      REQUIRE(bottleneck.level == expected.rate(i));
      REQUIRE(std::ranges::count(graph_.route(flows_[i]), graph_.bottleneck(flows_[i]), &FlowCrossing::link) == 1);
    }
  }

 private:
  void on_event(std::uint64_t /*payload*/) override {}
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }

  void add() {
    const std::uint32_t flow = graph_.create(work_of(Bytes(1 + below(1'000'000))));
    const bool is_heavy = below(3) == 0;
    for (std::uint32_t hops = 1 + below(4); hops > 0; --hops)
      graph_.cross(flow, LinkId(below(fabric_.link_count())), is_heavy ? 1 + below(100) : 1);
    bool is_alone = true;
    for (const FlowCrossing& crossing : graph_.flow(flow).crossings)
      is_alone &= graph_.link(crossing.link).users.empty() && graph_.link(crossing.link).bound == 0;
    graph_.link_up(flow, engine_.now());
    // As a flow does that had its links to itself when another comes to them.
    if (is_alone && below(2) == 0)
      solver_.solve_alone(flow);
    else
      solver_.join(flow);
    flows_.push_back(flow);
  }

  void remove() {
    std::swap(flows_[below(static_cast<std::uint32_t>(flows_.size()))], flows_.back());
    solver_.leave(flows_.back());
    ends_.unbind(flows_.back());
    graph_.remove(flows_.back(), engine_.now());
    flows_.pop_back();
  }

  std::mt19937& random_;
  Engine engine_;
  Fabric fabric_;
  FlowGraph graph_;
  FlowEnds ends_{engine_, *this, 0, graph_};
  FlowSolver solver_{graph_, ends_};
  std::vector<std::uint32_t> flows_;  // on links
};

}  // namespace

TEST_CASE("after each of 40,000 changes of random networks, rates are those of a solver that knows nothing") {
  std::mt19937 random(36);
  for (int instance = 0; instance < 1'000; ++instance) {
    Sharing sharing(random);
    for (int change = 0; change < 40; ++change) {
      INFO("instance " << instance << ", change " << change);
      sharing.change();
      sharing.check();
    }
  }
}
