// SPDX-License-Identifier: MIT
#include "report/breakdown.h"

#include <catch2/catch.hpp>

#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::report;
using namespace orrery::workload;
using namespace orrery::test;
using std::chrono::microseconds;

namespace {

// 1 GB/s, 10 us: 1 MB takes 1 ms and 10 us to arrive.
Fabric fabric(std::uint32_t ranks) {
  return one_dimension("switch", ranks, Bandwidth(1'000'000'000), microseconds(10));
}
constexpr Bytes kMegabyte{1'000'000};

Breakdown of(const Job& job, const Outcome& outcome, std::uint32_t rank) {
  return TimeAccount(job).of(RankId(rank), outcome.log.of(RankId(rank)), outcome.totals.finish);
}

}  // namespace

TEST_CASE("communication behind computing is hidden, the rest is exposed under the communicator's name") {
  JobBuilder builder(2);
  const GroupId tensor = builder.group("tensor", {0, 1});
  for (const std::uint32_t rank : {0u, 1u}) {
    builder.compute(rank, microseconds(300));
    builder.collective(rank, CollectiveKind::kAllReduce, kMegabyte, tensor);
  }
  const Job job = builder.build();
  const Breakdown b = of(job, simulate(job, fabric(2)), 0);
  // The all-reduce takes 2 * (500 + 10) us, the first 300 us of it hidden.
  CHECK(b.compute == microseconds(300));
  CHECK(b.exposed == std::map<std::string, Duration>{{"tensor", microseconds(720)}});
  CHECK(b.wait + b.bubble + b.idle == Duration::zero());
}

TEST_CASE("a member that comes early waits until the last has come") {
  JobBuilder builder(2);
  builder.collective(0, CollectiveKind::kAllReduce, kMegabyte, kWorld);
  const NodeId late = builder.compute(1, microseconds(400));
  builder.collective(1, CollectiveKind::kAllReduce, kMegabyte, kWorld, {late});
  const Job job = builder.build();
  const Outcome outcome = simulate(job, fabric(2));
  const Breakdown early = of(job, outcome, 0);
  CHECK(early.wait == microseconds(400));
  CHECK(early.exposed.at("world") == outcome.totals.rank_finish[0] - at(microseconds(400)));
  CHECK(of(job, outcome, 1).wait == Duration::zero());
}

TEST_CASE("a receive is a bubble until its sender starts, then exposed; after the last operation a rank is idle") {
  JobBuilder builder(2);
  const NodeId work = builder.compute(0, microseconds(250));
  builder.send(0, 1, kMegabyte, {work});
  const NodeId arrived = builder.receive(1, 0, kMegabyte);
  builder.compute(1, microseconds(100), {arrived});
  const Job job = builder.build();
  const Outcome outcome = simulate(job, fabric(2));
  const Breakdown receiver = of(job, outcome, 1);
  CHECK(receiver.bubble == microseconds(250));
  CHECK(receiver.exposed == std::map<std::string, Duration>{{"p2p", microseconds(1010)}});
  CHECK(receiver.compute == microseconds(100));
  CHECK(receiver.idle == Duration::zero());
  const Breakdown sender = of(job, outcome, 0);
  CHECK(sender.exposed.at("p2p") == microseconds(1000));  // to its last byte
  CHECK(sender.idle == microseconds(110));
}

TEST_CASE("host time counts as compute and is told apart where nothing else computes") {
  JobBuilder builder(1);
  builder.host(0, microseconds(100));
  builder.compute(0, microseconds(60));
  builder.memory(0, Bytes(90'000'000));  // 90 us at the test device's 1 TB/s
  const Job job = builder.build();
  const Breakdown b = of(job, simulate(job, fabric(1)), 0);
  CHECK(b.compute == microseconds(100));
  CHECK(b.memory == microseconds(30));  // 60 to 90 us: memory, no device node
  CHECK(b.host == microseconds(10));    // 90 to 100 us: the host alone
}

TEST_CASE("the first unfinished operation in program order is blamed") {
  JobBuilder builder(2);
  for (const std::uint32_t rank : {0u, 1u}) {
    builder.send(rank, 1 - rank, Bytes(200'000));  // 200 us
    builder.receive(rank, 1 - rank, Bytes(200'000));
    builder.collective(rank, CollectiveKind::kAllReduce, kMegabyte, kWorld);  // 1020 us
  }
  const Job job = builder.build();
  const Breakdown b = of(job, simulate(job, fabric(2)), 0);
  CHECK(b.exposed.at("p2p") == microseconds(210));
  CHECK(b.exposed.at("world") == microseconds(810));
}
