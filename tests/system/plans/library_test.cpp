// SPDX-License-Identifier: MIT
// Jobs whose collectives a library runs, each call as one whole.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "tests/system/folding/folded.h"
#include "tests/system/plans/fake_library.h"
#include "tests/system/random_jobs.h"
#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::collectives;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::workload;
using namespace orrery::test;
using enum CollectiveKind;

namespace {

// The same transfer whatever is asked.
class FixedTransfer final : public GroupLibrary {
 public:
  explicit FixedTransfer(const Aggregate& transfer, const PointToPoint& added = {})
      : transfer_(transfer), added_(added) {}

  Aggregate transfer(CollectiveKind, Bytes, std::uint32_t, const GroupLayout&) const override { return transfer_; }
  PointToPoint point_to_point(Bytes bytes, bool, Duration) const override {
    return {added_.latency, bytes + added_.bytes};
  }

 private:
  Aggregate transfer_;
  PointToPoint added_;
};

// Two nodes of four devices, two of which share a NIC of 10 GB/s.
Fabric two_nodes() {
  return read_machine_text(R"(
cluster:
  node:
    device: a40
    devices: 4
    fabric: {name: nvlink, topology: switch, bandwidth: 100 GB/s, latency: 1 us}
    nics: {count: 2, bandwidth: 80 Gb/s, host_bandwidth: 20 GB/s, host_latency: 500 ns}
  scale_out: {topology: switch, latency: 600 ns}
nodes: 2
)")
      .fabric;
}

SimulationOptions by(const GroupLibrary& library) {
  SimulationOptions options;
  options.collectives.granularity = Granularity::kPhase;
  options.collectives.library = &library;
  options.collectives.chunks = 4;  // which it does not heed
  return options;
}

// Classes come apart when they have to, not at the start, as where ranks run ahead of the clock.
SimulationOptions by_events(const GroupLibrary& library) {
  SimulationOptions options = by(library);
  options.fast_forward = false;
  return options;
}

}  // namespace

TEST_CASE("a call takes as long as its slowest link and its latency, and ends for all at once") {
  // 4 MB between nodes for each of two devices on a NIC of 10 GB/s: 800 us, longer than 40 MB at 100 GB/s.
  const FixedTransfer library({NodePattern::kRing, Bytes(40'000'000), Bytes(4'000'000), Duration(5'000'000)});
  JobBuilder builder(8);
  std::vector<NodeId> calls;
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    const NodeId late = builder.compute(rank, Duration(1'000'000 * (rank + 1)));
    calls.push_back(builder.collective(rank, kAllReduce, Bytes(8'000), kWorld, {late}));
  }
  const Job job = builder.build();
  for (const NetworkModel model : {NetworkModel::kAlphaBeta, NetworkModel::kFlow}) {
    const Outcome outcome = fold_and_compare(job, two_nodes(), by(library), model);
    for (std::uint32_t rank = 0; rank < 8; ++rank)
      CHECK(outcome.end(rank, calls[rank]) == at(Duration(8'000'000 + 800'000'000 + 5'000'000)));
    CHECK(outcome.totals.messages == 1);
  }
}

TEST_CASE("two groups that share a NIC contend") {
  // The k-th devices of both nodes are group k: 4 MB each at 10 GB/s take 400 us. Groups 0 and 1 share a NIC, or, if
  // devices take NICs in turn, another pair does.
  const FixedTransfer library({NodePattern::kRing, Bytes(0), Bytes(4'000'000), Duration::zero()});
  const Fabric fabric = two_nodes();
  const auto run = [&](const std::vector<std::uint32_t>& places) {
    JobBuilder builder(8);
    for (const std::uint32_t place : places) {
      const GroupId group = builder.group(std::to_string(place), {place, place + 4});
      for (const std::uint32_t rank : {place, place + 4}) builder.collective(rank, kAllReduce, Bytes(8), group);
    }
    const Outcome outcome = fold_and_compare(builder.build(), fabric, by(library), NetworkModel::kFlow);
    return outcome.totals.finish.time_since_epoch();
  };
  CHECK(run({0}) == Duration(400'000'000));
  CHECK(run({0, 1, 2, 3}) == Duration(800'000'000));
  std::vector<Duration> pairs;
  for (const std::uint32_t other : {1u, 2u, 3u}) pairs.push_back(run({0, other}));
  CHECK(std::ranges::count(pairs, Duration(800'000'000)) == 1);
  CHECK(std::ranges::count(pairs, Duration(400'000'000)) == 2);
}

TEST_CASE("groups that lie differently are planned differently, and those that lie alike share their plans") {
  // Both of two members: within a node and across nodes; then the latter again, and with a slow NIC.
  Fabric fabric = two_nodes();
  JobBuilder builder(8);
  const std::vector<std::vector<std::uint32_t>> members = {{0, 1}, {2, 3}, {0, 4}, {1, 5}, {2, 6}};
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    const GroupId group = builder.group(std::to_string(i), members[i]);
    for (const std::uint32_t rank : members[i]) builder.collective(rank, kAllReduce, Bytes(8'000'000), group);
  }
  const Job job = builder.build();
  const Matching matching = match(job);
  std::vector<LinkId> route;
  fabric.route(DeviceId(2), DeviceId(6), route);
  fabric.set_bandwidth(route[0], Bandwidth(1'000'000));
  std::vector<DeviceId> placement;
  for (std::uint32_t rank = 0; rank < 8; ++rank) placement.push_back(DeviceId(rank));
  const FakeLibrary library;
  const CollectiveOptions options = by(library).collectives;
  CollectivePlans plans(job, matching, fabric, placement, options);
  std::vector<const CollectivePlan*> plan;
  for (const char name : {'0', '1', '2', '3', '4'})
    for (std::uint32_t group = 0; group < job.communicators.size(); ++group)
      if (job.communicators[group].name == std::string(1, name)) plan.push_back(&plans.plan(GroupId(group), 0));
  REQUIRE(plan.size() == 5);
  CHECK(plan[0] == plan[1]);
  CHECK(plan[2] == plan[3]);
  CHECK(plan[0] != plan[2]);
  CHECK(plan[2] != plan[4]);
}

TEST_CASE("a library delays sends and widens them on the wire") {
  // 10 GB/s to the other node: 1,000,000 B and 1,000,000 B more take 200 us, after 3 us, and arrive 1.6 us later.
  const FixedTransfer library({}, {Duration(3'000'000), Bytes(1'000'000)});
  JobBuilder builder(8);
  const NodeId send = builder.send(0, 4, Bytes(1'000'000)), receive = builder.receive(4, 0, Bytes(1'000'000));
  const Outcome outcome = fold_and_compare(builder.build(), two_nodes(), by(library), NetworkModel::kFlow);
  CHECK(outcome.end(0, send) == at(Duration(203'000'000)));
  CHECK(outcome.end(4, receive) == at(Duration(204'600'000)));
}

TEST_CASE("classes that come apart while a send is delayed go on as they would have") {
  // All run the same: they send to a neighbour, and 20 us before the first bytes leave they call a collective, which
  // four of them are in on one node, and two and two on the other.
  const FixedTransfer library({NodePattern::kRing, Bytes(1'000'000), Bytes(0), Duration(1'000)},
                              {Duration(30'000'000), Bytes(0)});
  JobBuilder builder(8);
  const std::vector<std::vector<std::uint32_t>> groups = {{0, 1, 2, 3}, {4, 5}, {6, 7}};
  for (std::uint32_t i = 0; i < groups.size(); ++i) {
    const GroupId group = builder.group(std::to_string(i), groups[i]);
    for (const std::uint32_t rank : groups[i]) {
      builder.send(rank, rank ^ 1, Bytes(1'000'000));
      builder.receive(rank, rank ^ 1, Bytes(1'000'000));
      builder.collective(rank, kAllReduce, Bytes(8), group, {builder.compute(rank, Duration(10'000'000))});
    }
  }
  const Outcome outcome = fold_and_compare(builder.build(), two_nodes(), by_events(library), NetworkModel::kFlow);
  REQUIRE(outcome.steps.size() == 1);
  CHECK(outcome.steps.front().time == at(Duration(10'000'000)));
}

TEST_CASE("a call takes no less than its senders do, and its links carry no more for that") {
  // 40 MB at 100 GB/s take 400 us.
  const Fabric fabric = two_nodes();
  const auto run = [&](Duration least) {
    const FixedTransfer library({NodePattern::kRing, Bytes(40'000'000), Bytes(0), Duration(5'000'000), least});
    JobBuilder builder(8);
    const GroupId group = builder.group("0", {0, 1, 2, 3});
    for (const std::uint32_t rank : {0u, 1u, 2u, 3u}) builder.collective(rank, kAllReduce, Bytes(8'000), group);
    return fold_and_compare(builder.build(), fabric, by(library), NetworkModel::kFlow);
  };
  for (const Duration least : {Duration(0), Duration(100'000'000), Duration(1'000'000'000)}) {
    const Outcome outcome = run(least);
    CHECK(outcome.totals.finish == at(std::max(least, Duration(400'000'000)) + Duration(5'000'000)));
    for (const LinkUsage& link : outcome.usage) {
      CHECK((link.bytes == Bytes(0) || link.bytes == Bytes(40'000'000)));
      CHECK((link.busy == Duration(0) || link.busy == Duration(400'000'000)));
    }
  }
}

TEST_CASE("classes come apart while calls wait for their senders") {
  // The links are through after 10 us, the senders after 50; at 20 us all ranks first send, over other distances.
  const FixedTransfer library({NodePattern::kRing, Bytes(1'000'000), Bytes(0), Duration(1'000), Duration(50'000'000)});
  JobBuilder builder(8);
  const std::vector<std::uint32_t> peer = {1, 0, 6, 7, 5, 4, 2, 3};
  std::vector<GroupId> groups;
  for (std::uint32_t pair = 0; pair < 4; ++pair)
    groups.push_back(builder.group(std::to_string(pair), {2 * pair, 2 * pair + 1}));
  std::vector<NodeId> calls;
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    calls.push_back(builder.collective(rank, kAllReduce, Bytes(8), groups[rank / 2]));
    builder.send(rank, peer[rank], Bytes(1'000'000), {builder.compute(rank, Duration(20'000'000))});
    builder.receive(rank, peer[rank], Bytes(1'000'000));
  }
  const Outcome outcome = fold_and_compare(builder.build(), two_nodes(), by_events(library), NetworkModel::kFlow);
  REQUIRE(outcome.steps.size() == 1);
  CHECK(outcome.steps.front().time == at(Duration(20'000'000)));
  for (const RankId acting : outcome.totals.acting)
    CHECK(outcome.end(index_of(acting), calls[index_of(acting)]) == at(Duration(50'001'000)));
}

TEST_CASE("a library is refused at granularity step") {
  const FakeLibrary library;
  SimulationOptions options = by(library);
  options.collectives.granularity = Granularity::kStep;
  JobBuilder builder(8);
  for (std::uint32_t rank = 0; rank < 8; ++rank) builder.collective(rank, kAllReduce, Bytes(8), kWorld);
  CHECK_THROWS_AS(simulate(builder.build(), two_nodes(), options), InputError);
}

TEST_CASE("a library tells sends within a node from those between nodes") {
  // Nodes of 2 devices, joined by links of the same speed as inside. Within a node the fake library makes a small send
  // twice as large and delays it by 300 ns; between nodes a sixteenth larger, and by 1 us more than the route takes.
  const Fabric fabric = compose(std::vector{dimension("ring", 2, Bandwidth(10'000'000'000), Duration(1'000'000)),
                                            dimension("ring", 4, Bandwidth(10'000'000'000), Duration(1'000'000))});
  const FakeLibrary library;
  JobBuilder builder(8);
  const NodeId inside = builder.send(0, 1, Bytes(100'000));
  builder.receive(1, 0, Bytes(100'000));
  const NodeId outside = builder.send(2, 4, Bytes(100'000));
  builder.receive(4, 2, Bytes(100'000));
  const Outcome outcome = fold_and_compare(builder.build(), fabric, by(library), NetworkModel::kFlow);
  CHECK(outcome.end(0, inside) == at(Duration(300'000) + Bytes(200'000) / Bandwidth(10'000'000'000)));
  CHECK(outcome.end(2, outside) == at(Duration(2'000'000) + Bytes(106'250) / Bandwidth(10'000'000'000)));
}
