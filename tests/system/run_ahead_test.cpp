// SPDX-License-Identifier: MIT
// Ranks that compute and have nothing else under way: their computations are booked at once, at the times that they
// have one by one.
#include <catch2/catch.hpp>

#include "system/simulation.h"
#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::workload;
using namespace orrery::test;
using std::chrono::microseconds;

namespace {

constexpr Bandwidth kBandwidth{1'000'000'000};  // 1 MB takes 1 ms
constexpr Duration kLatency = microseconds(10);
constexpr Bytes kMegabyte{1'000'000};
// Least time of an all-reduce of 1 MB between two: two steps of half of it, each 500 us and the latency.
constexpr Duration kAllReduce = microseconds(1020);

Fabric switched(std::uint32_t ranks) { return one_dimension("switch", ranks, kBandwidth, kLatency); }

// Else whole programs run ahead of the clock (system/tape/tape.h).
SimulationOptions by_events() {
  SimulationOptions options;
  options.fast_forward = false;
  return options;
}

}  // namespace

TEST_CASE("a chain of computations is one event") {
  JobBuilder builder(1);
  const NodeId first = builder.compute(0, microseconds(3));
  const NodeId second = builder.compute(0, microseconds(4), {first});
  const NodeId third = builder.compute(0, microseconds(5), {second});
  const Outcome outcome = simulate(builder.build(), switched(1), by_events());
  CHECK(outcome.end(0, first) == at(microseconds(3)));
  CHECK(outcome.start(0, second) == at(microseconds(3)));
  CHECK(outcome.end(0, second) == at(microseconds(7)));
  CHECK(outcome.end(0, third) == at(microseconds(12)));
  CHECK(outcome.totals.finish == at(microseconds(12)));
  CHECK(outcome.totals.events == 2);  // that opens the first instant, and the end of the third
}

TEST_CASE("whoever has something else under way does not run ahead") {
  JobBuilder builder(1);
  const NodeId first = builder.compute(0, microseconds(3));
  builder.compute(0, microseconds(4), {first});
  const NodeId beside = builder.host(0, microseconds(5));
  const Outcome outcome = simulate(builder.build(), switched(1), by_events());
  CHECK(outcome.end(0, beside) == at(microseconds(5)));
  CHECK(outcome.totals.finish == at(microseconds(7)));
  // That opens the first instant, and the ends of `first` and `beside`. From 5 us on the second computation is alone,
  // but it began beside another: its end is an event too.
  CHECK(outcome.totals.events == 4);
}

TEST_CASE("a rank that ran ahead comes to its call when its computations are done") {
  JobBuilder builder(2);
  const NodeId first = builder.compute(0, microseconds(30));
  const NodeId second = builder.compute(0, microseconds(40), {first});
  const NodeId call = builder.collective(0, CollectiveKind::kAllReduce, kMegabyte, kWorld, {second});
  const NodeId early = builder.compute(1, microseconds(10));
  const NodeId waiting = builder.collective(1, CollectiveKind::kAllReduce, kMegabyte, kWorld, {early});
  const Outcome outcome = simulate(builder.build(), switched(2), by_events());
  // Rank 1 comes at 10 us and calls rank 0, which comes at 30 + 40 us.
  CHECK(outcome.start(0, call) == at(microseconds(70)));
  CHECK(outcome.record(0, call).moving == at(microseconds(70)));
  CHECK(outcome.start(1, waiting) == at(microseconds(10)));
  CHECK(outcome.record(1, waiting).moving == at(microseconds(70)));
  CHECK(outcome.end(1, waiting) > at(microseconds(70) + kAllReduce - microseconds(20)));
}

TEST_CASE("a call asked for while a rank runs ahead is joined beside one that still waits for members") {
  JobBuilder builder(3);
  const NodeId busy = builder.compute(0, microseconds(50));
  const NodeId first = builder.collective(0, CollectiveKind::kAllReduce, kMegabyte, kWorld, {busy});
  const NodeId second = builder.collective(0, CollectiveKind::kBarrier, Bytes(0), kWorld, {busy});
  // Rank 1 comes to the second call at 10 us and to the first at 500 us; rank 2 to both at 60 us.
  const NodeId late = builder.compute(1, microseconds(500));
  const NodeId soon = builder.host(1, microseconds(10));
  builder.collective(1, CollectiveKind::kAllReduce, kMegabyte, kWorld, {late});
  builder.collective(1, CollectiveKind::kBarrier, Bytes(0), kWorld, {soon});
  const NodeId between = builder.compute(2, microseconds(60));
  builder.collective(2, CollectiveKind::kAllReduce, kMegabyte, kWorld, {between});
  builder.collective(2, CollectiveKind::kBarrier, Bytes(0), kWorld, {between});
  const Outcome outcome = simulate(builder.build(), switched(3), by_events());
  // Rank 0 takes up both at 50 us, as the second was called at 10 us; rank 2 both at 60 us, when all are in the second.
  CHECK(outcome.start(0, first) == at(microseconds(50)));
  CHECK(outcome.start(0, second) == at(microseconds(50)));
  CHECK(outcome.record(0, second).moving == at(microseconds(60)));
  CHECK(outcome.record(0, first).moving == at(microseconds(500)));
}
