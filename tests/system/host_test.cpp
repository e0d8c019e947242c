// SPDX-License-Identifier: MIT
// A host launches kernels ahead of its device, which waits where it has not.
#include <catch2/catch.hpp>
#include <vector>

#include "report/breakdown.h"
#include "report/path/slack.h"
#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::workload;
using namespace orrery::test;
using std::chrono::microseconds;

namespace {

Fabric on_switch(std::uint32_t ranks) {
  return one_dimension("switch", ranks, Bandwidth(1'000'000'000), microseconds(10));
}

// One kernel of `time`, launched in 10 us.
HostWork one_launch(Duration time, bool synchronises = false) {
  return {microseconds(10), microseconds(10) + time, synchronises};
}

NodeId kernel(JobBuilder& builder, Duration time, const std::vector<NodeId>& after = {}, bool synchronises = false) {
  return builder.launched(0, time, one_launch(time, synchronises), after);
}

}  // namespace

TEST_CASE("a device that is faster than its host waits for every launch") {
  JobBuilder builder(1);
  NodeId last = kernel(builder, microseconds(1));
  for (int i = 0; i < 3; ++i) last = kernel(builder, microseconds(1), {last});
  const Job job = builder.build();
  const Outcome outcome = simulate(job, on_switch(1));
  // The first is launched when the step begins, the others 10, 20 and 30 us later.
  CHECK(outcome.end(0, NodeId(0)) == at(microseconds(1)));
  CHECK(outcome.end(0, NodeId(1)) == at(microseconds(11)));
  CHECK(outcome.end(0, NodeId(2)) == at(microseconds(21)));
  CHECK(outcome.totals.finish == at(microseconds(31)));
  CHECK(outcome.record(0, NodeId(1)).start == at(microseconds(1)));
  CHECK(outcome.record(0, NodeId(1)).moving == at(microseconds(10)));
  const report::Breakdown parts =
      report::TimeAccount(job).of(RankId(0), outcome.log.of(RankId(0)), outcome.totals.finish);
  CHECK(parts.compute == microseconds(31));
  CHECK(parts.host == microseconds(27));
}

TEST_CASE("a host that runs ahead of a busy device costs nothing") {
  JobBuilder builder(1);
  NodeId last = kernel(builder, microseconds(100));
  for (int i = 0; i < 9; ++i) last = kernel(builder, microseconds(2), {last});
  // Nine launches are done 90 us after the first.
  CHECK(simulate(builder.build(), on_switch(1)).totals.finish == at(microseconds(118)));
}

TEST_CASE("behind a synchronisation the host begins anew") {
  JobBuilder builder(1);
  const NodeId read = kernel(builder, microseconds(100), {}, true);
  const NodeId next = kernel(builder, microseconds(5), {read});
  kernel(builder, microseconds(5), {next});
  const Outcome outcome = simulate(builder.build(), on_switch(1));
  CHECK(outcome.end(0, next) == at(microseconds(115)));
  CHECK(outcome.totals.finish == at(microseconds(125)));
}

TEST_CASE("behind work of its own that synchronises the host begins anew, and none of that may take longer") {
  JobBuilder builder(1);
  const NodeId read = kernel(builder, microseconds(100));
  const NodeId step = builder.host(0, microseconds(50), {read}, true);
  const NodeId next = kernel(builder, microseconds(5), {step});
  kernel(builder, microseconds(5), {next});
  const Job job = builder.build();
  const Outcome outcome = simulate(job, on_switch(1));
  CHECK(outcome.end(0, step) == at(microseconds(150)));
  CHECK(outcome.end(0, next) == at(microseconds(165)));
  CHECK(outcome.totals.finish == at(microseconds(175)));
  const Matching matching = match(job);
  const report::Slack slack =
      report::find_slack(job, matching, outcome.log, outcome.totals.acting, outcome.totals.finish);
  REQUIRE(slack.operations.size() == 4);
  CHECK(slack.operations[1].slack == Duration::zero());
  CHECK(slack.operations[2].slack == microseconds(5));
}

TEST_CASE("what comes behind a synchronisation in the program is not launched before it") {
  JobBuilder builder(1);
  const NodeId slow = builder.host(0, microseconds(50));
  const NodeId read = kernel(builder, microseconds(5), {slow}, true);
  const NodeId independent = kernel(builder, microseconds(5));
  const Outcome outcome = simulate(builder.build(), on_switch(1));
  CHECK(outcome.end(0, read) == at(microseconds(55)));
  CHECK(outcome.end(0, independent) == at(microseconds(70)));
}

TEST_CASE("a computation of several kernels waits for the one that is launched last") {
  // Kernels of 20, 1 and 1 us: the last begins after three launches.
  JobBuilder builder(1);
  const NodeId first = kernel(builder, microseconds(1));
  builder.launched(0, microseconds(22), {microseconds(30), microseconds(32)}, {first});
  CHECK(simulate(builder.build(), on_switch(1)).totals.finish == at(microseconds(32)));
}

TEST_CASE("what a rank may compute slower by takes in how long it waits for its host") {
  JobBuilder builder(1);
  NodeId last = kernel(builder, microseconds(1));
  for (int i = 0; i < 2; ++i) last = kernel(builder, microseconds(1), {last});
  const Job job = builder.build();
  const Outcome outcome = simulate(job, on_switch(1));
  const Matching matching = match(job);
  const report::Slack slack =
      report::find_slack(job, matching, outcome.log, outcome.totals.acting, outcome.totals.finish);
  REQUIRE(slack.operations.size() == 3);
  CHECK(slack.operations[0].slack == microseconds(18));
  CHECK(slack.operations[1].slack == microseconds(9));
  CHECK(slack.operations[2].slack == Duration::zero());
}

TEST_CASE("what comes behind work of the host is launched when that is done, whether it depends on it or not") {
  JobBuilder builder(1);
  const NodeId read = builder.host(0, microseconds(6), {}, true);
  const NodeId first = kernel(builder, microseconds(30));
  const NodeId next = kernel(builder, microseconds(5));
  for (const bool ahead : {true, false}) {
    JobBuilder same = builder;
    SimulationOptions options;
    options.fast_forward = ahead;
    const Outcome outcome = simulate(same.build(), on_switch(1), options);
    CHECK(outcome.totals.why_by_events.empty() == ahead);
    CHECK(outcome.end(0, read) == at(microseconds(6)));
    CHECK(outcome.end(0, first) == at(microseconds(36)));
    CHECK(outcome.end(0, next) == at(microseconds(41)));
  }
}

TEST_CASE("a host waits for one node after the other, whichever is done first") {
  JobBuilder builder(1);
  const NodeId slow = kernel(builder, microseconds(1000), {}, true);
  const NodeId quick = builder.host(0, microseconds(1), {}, true);
  const NodeId behind_both = kernel(builder, microseconds(5));
  const Outcome outcome = simulate(builder.build(), on_switch(1));
  CHECK(outcome.end(0, quick) == at(microseconds(1)));
  CHECK(outcome.start(0, behind_both) == outcome.end(0, slow));
  CHECK(outcome.end(0, behind_both) == at(microseconds(1015)));
}

TEST_CASE("a host that waits for what is done before it comes there has not launched what it has not come to") {
  // The first three of these are launched until 10, 20 and 30 us; the host is at the quick one at 30 us.
  JobBuilder builder(1);
  const NodeId send_of_input = builder.host(0, microseconds(2));
  NodeId last = kernel(builder, microseconds(1));
  last = kernel(builder, microseconds(1), {send_of_input});
  const NodeId third = kernel(builder, microseconds(1), {last});
  const NodeId quick = builder.host(0, microseconds(1), {}, true);
  const NodeId fourth = kernel(builder, microseconds(1));
  const Outcome outcome = simulate(builder.build(), on_switch(1));
  CHECK(outcome.end(0, quick) == at(microseconds(3)));
  CHECK(outcome.end(0, third) == at(microseconds(21)));
  CHECK(outcome.end(0, fourth) == at(microseconds(31)));
}

TEST_CASE("a stream that runs in order waits for the host, too") {
  JobBuilder builder(1);
  kernel(builder, microseconds(1), {builder.host(0, microseconds(50), {}, true)});
  const NodeId on_stream = builder.compute(0, microseconds(5), {}, 1);
  CHECK(simulate(builder.build(), on_switch(1)).start(0, on_stream) == at(microseconds(50)));
}
