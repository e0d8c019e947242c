// SPDX-License-Identifier: MIT
// What a rank does when: streams, order, matching, chunks, stuck jobs.
#include "system/simulation.h"

#include <catch2/catch.hpp>
#include <random>

#include "core/error.h"
#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::collectives;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::workload;
using namespace orrery::test;
using std::chrono::microseconds;

namespace {

constexpr Bandwidth kBandwidth{1'000'000'000};  // 1 MB takes 1 ms
constexpr Duration kLatency = microseconds(10);
constexpr Bytes kMegabyte{1'000'000};

Fabric switched(std::uint32_t ranks) { return one_dimension("switch", ranks, kBandwidth, kLatency); }

}  // namespace

TEST_CASE("the compute stream takes the ready node with the smallest id") {
  JobBuilder builder(1);
  const NodeId gate = builder.compute(0, microseconds(5));
  const NodeId late = builder.compute(0, microseconds(1), {gate});
  const NodeId early = builder.compute(0, microseconds(20));
  const NodeId last = builder.compute(0, microseconds(3));
  const Outcome outcome = simulate(builder.build(), switched(1));
  // gate 0-5 (smallest ready id), then `late` has become ready and comes before `early`.
  CHECK(outcome.start(0, late) == at(microseconds(5)));
  CHECK(outcome.start(0, early) == at(microseconds(6)));
  CHECK(outcome.start(0, last) == at(microseconds(26)));
  CHECK(outcome.totals.finish == at(microseconds(29)));
}

TEST_CASE("host, compute, communicators, sends and receives run beside one another") {
  JobBuilder builder(2);
  const GroupId other = builder.group("other", {0, 1});
  for (const std::uint32_t rank : {0u, 1u}) {
    builder.host(rank, microseconds(1000));
    builder.compute(rank, microseconds(1500));
    builder.collective(rank, CollectiveKind::kAllReduce, kMegabyte, kWorld);
    builder.collective(rank, CollectiveKind::kAllReduce, kMegabyte, other);
    builder.send(rank, 1 - rank, kMegabyte);
    builder.receive(rank, 1 - rank, kMegabyte);
  }
  // All at once; the longest is the compute node. An all-reduce of two: 2 * (10 us + 500 us).
  const Outcome outcome = simulate(builder.build(), switched(2));
  CHECK(outcome.totals.finish == at(microseconds(1500)));
  CHECK(outcome.end(0, NodeId{2}) == at(microseconds(1020)));
  CHECK(outcome.end(0, NodeId{3}) == at(microseconds(1020)));
  CHECK(outcome.end(0, NodeId{4}) == at(microseconds(1000)));
  CHECK(outcome.end(0, NodeId{5}) == at(microseconds(1010)));
}

TEST_CASE("calls of one communicator and sends to one peer go one after the other, the smallest ready id first") {
  JobBuilder builder(2);
  const NodeId slow = builder.compute(0, microseconds(100));
  const NodeId last = builder.collective(0, CollectiveKind::kAllReduce, kMegabyte, kWorld, {slow});
  const NodeId first = builder.collective(0, CollectiveKind::kAllReduce, kMegabyte, kWorld);
  const NodeId slow_too = builder.compute(1, microseconds(100));
  builder.collective(1, CollectiveKind::kAllReduce, kMegabyte, kWorld, {slow_too});
  builder.collective(1, CollectiveKind::kAllReduce, kMegabyte, kWorld);
  const NodeId a = builder.send(0, 1, kMegabyte);
  const NodeId b = builder.send(0, 1, kMegabyte);
  builder.receive(1, 0, kMegabyte);
  const NodeId received = builder.receive(1, 0, kMegabyte);
  const Outcome outcome = simulate(builder.build(), switched(2));
  // Both become ready while the other runs: 1020 us each, one behind the other.
  CHECK(outcome.start(0, first) == at(microseconds(0)));
  CHECK(outcome.start(0, last) == at(microseconds(1020)));
  CHECK(outcome.start(0, a) == at(microseconds(0)));
  CHECK(outcome.start(0, b) == at(microseconds(1000)));  // released at the last byte, not at its arrival
  CHECK(outcome.end(1, received) == at(microseconds(2010)));
}

TEST_CASE("a rank that waits in a call joins another one that a peer has entered first") {
  JobBuilder builder(2);
  // Rank 0 comes to the second call first, rank 1 waits in the first. Matching is by canonical order all the same.
  const NodeId slow = builder.compute(0, microseconds(100));
  const NodeId first = builder.collective(0, CollectiveKind::kAllReduce, kMegabyte, kWorld, {slow});
  const NodeId second = builder.collective(0, CollectiveKind::kAllGather, kMegabyte, kWorld);
  builder.compute(1, microseconds(100));
  builder.collective(1, CollectiveKind::kAllReduce, kMegabyte, kWorld);
  const NodeId joined = builder.collective(1, CollectiveKind::kAllGather, kMegabyte, kWorld);
  const Outcome outcome = simulate(builder.build(), switched(2));
  CHECK(outcome.end(0, second) == at(microseconds(1010)));
  CHECK(outcome.start(1, joined) == at(microseconds(0)));
  // The second call has all its members by then and holds the communicator: rank 0 comes to the first when it is done.
  CHECK(outcome.start(0, first) == at(microseconds(1010)));
  CHECK(outcome.totals.finish == at(microseconds(2030)));
}

TEST_CASE("micro-batches that are ready overtake those that wait for a neighbour") {
  // Rank 1 gets two micro-batches from rank 0 and has a backward of the first, which needs rank 0 again and has smaller
  // ids than the second forward. Rank 2 shares its tensor communicator and program.
  JobBuilder builder(4);
  const GroupId tensor = builder.group("tensor", {1, 2});
  for (const std::uint32_t rank : {1u, 2u}) {
    const std::uint32_t source = rank == 1 ? 0 : 3;
    const NodeId in0 = builder.receive(rank, source, kMegabyte, {}, 0);
    builder.collective(rank, CollectiveKind::kAllReduce, kMegabyte, tensor, {in0});
    const NodeId back = builder.receive(rank, source, kMegabyte, {}, 1);
    builder.collective(rank, CollectiveKind::kAllReduce, kMegabyte, tensor, {back});
    const NodeId in1 = builder.receive(rank, source, kMegabyte, {}, 2);
    builder.collective(rank, CollectiveKind::kAllReduce, kMegabyte, tensor, {in1});
    builder.send(source, rank, kMegabyte, {}, 0);
    builder.send(source, rank, kMegabyte, {}, 2);
    const NodeId late = builder.compute(source, microseconds(9000));
    builder.send(source, rank, kMegabyte, {late}, 1);
  }
  const Outcome outcome = simulate(builder.build(), switched(4));
  CHECK(outcome.start(1, NodeId{5}) ==
        at(microseconds(2030)));  // its input came at 2010, the first all-reduce ran until 2030
  CHECK(outcome.start(1, NodeId{3}) == at(microseconds(10'010)));
}

TEST_CASE("a trace with several device streams keeps each in order, and they overlap") {
  JobBuilder builder(1);
  const NodeId gate = builder.compute(0, microseconds(10), {}, 0);
  const NodeId head = builder.compute(0, microseconds(5), {gate}, 1);
  const NodeId behind = builder.compute(0, microseconds(5), {}, 1);  // ready at once, but behind `head` in its stream
  const NodeId next = builder.compute(0, microseconds(7), {}, 0);
  const Outcome outcome = simulate(builder.build(), switched(1));
  CHECK(outcome.start(0, head) == at(microseconds(10)));
  CHECK(outcome.start(0, behind) == at(microseconds(15)));
  CHECK(outcome.start(0, next) == at(microseconds(10)));
}

TEST_CASE("a receive is done when it is posted and its message has arrived") {
  JobBuilder builder(2);
  builder.send(0, 1, kMegabyte, {}, 7);
  const NodeId busy = builder.compute(1, microseconds(5000));
  const NodeId late = builder.receive(1, 0, kMegabyte, {busy}, 7);
  builder.send(1, 0, kMegabyte, {busy}, 7);
  const NodeId early = builder.receive(0, 1, kMegabyte, {}, 7);
  const Outcome outcome = simulate(builder.build(), switched(2));
  CHECK(outcome.end(1, late) == at(microseconds(5000)));  // the message has been there since 1010 us
  CHECK(outcome.end(0, early) == at(microseconds(6010)));
  CHECK(outcome.record(0, early).moving == at(microseconds(5000)));  // until then: waiting for a sender
}

TEST_CASE("messages are matched by tag whatever the order of the receives") {
  JobBuilder builder(2);
  builder.send(0, 1, kMegabyte, {}, 1);
  builder.send(0, 1, Bytes(2'000'000), {}, 2);
  const NodeId two = builder.receive(1, 0, Bytes(2'000'000), {}, 2);
  const NodeId one = builder.receive(1, 0, kMegabyte, {}, 1);
  const Outcome outcome = simulate(builder.build(), switched(2));
  CHECK(outcome.end(1, one) == at(microseconds(1010)));
  CHECK(outcome.end(1, two) == at(microseconds(3010)));
}

TEST_CASE("no-ops, empty collectives and groups of one take no time") {
  JobBuilder builder(2);
  const GroupId alone = builder.group("alone", {0});
  NodeId last = builder.free(0);
  for (int i = 0; i < 10; ++i) last = builder.free(0, {last});
  last = builder.collective(0, CollectiveKind::kAllReduce, kMegabyte, alone, {last});
  const NodeId end = builder.compute(0, microseconds(3), {last});
  builder.compute(1, microseconds(1));
  const Outcome outcome = simulate(builder.build(), switched(2));
  CHECK(outcome.start(0, end) == at(microseconds(0)));
  CHECK(outcome.totals.rank_finish[0] == at(microseconds(3)));
  CHECK(outcome.totals.rank_finish[1] == at(microseconds(1)));
}

TEST_CASE("compute without a measured time takes the device's roofline") {
  JobBuilder builder(1);
  const NodeId bound_by_flops = builder.work(0, Flops(2'000'000'000'000'000), Bytes(1));  // 2 s at 1 PFLOP/s
  const NodeId bound_by_memory = builder.work(0, Flops(1), Bytes(3'000'000'000'000));     // 3 s at 1 TB/s
  const Outcome outcome = simulate(builder.build(), switched(1));
  CHECK(outcome.end(0, bound_by_flops) == at(std::chrono::seconds(2)));
  CHECK(outcome.end(0, bound_by_memory) == at(std::chrono::seconds(5)));
}

TEST_CASE("the roofline reaches the device's shares of its peaks, or the share that is asked for") {
  JobBuilder builder(1);
  builder.work(0, Flops(1'000'000'000'000), Bytes(1));
  builder.work(0, Flops(1), Bytes(1'000'000'000));
  const Job job = builder.build();
  DeviceSpec device;
  device.peaks.fill(FlopRate(1'000'000'000'000'000));      // 1 PFLOP/s: the first takes 1 ms
  device.memory_bandwidth = Bandwidth(1'000'000'000'000);  // 1 TB/s: so does the second
  device.compute.gemm = Efficiency(800'000);
  device.compute.clock = Efficiency(500'000);
  device.compute.memory = Efficiency(250'000);
  device.compute.fp8 = Efficiency(500'000);
  const auto times = [&](const ComputeOptions& options) { return compute_times(job.graphs[0], device, options); };
  using std::chrono::microseconds;
  // 1 ms / (0.8 x 0.5) and 1 ms / 0.25.
  CHECK(times({}) == std::vector<Duration>{microseconds(2500), microseconds(4000)});
  // Half of that where the operands are fp8.
  CHECK(times({.precision = Precision::kFp8})[0] == microseconds(5000));
  // A format of its own has its own share: 1 ms / (0.4 x 0.5).
  device.compute.formats[static_cast<std::size_t>(Precision::kFp16)] = Efficiency(400'000);
  CHECK(times({.precision = Precision::kFp16})[0] == microseconds(5000));
  CHECK(times({.efficiency = Efficiency(500'000)}) == std::vector<Duration>{microseconds(2000), microseconds(2000)});
  CHECK(times({.efficiency = kFullEfficiency}) == std::vector<Duration>{microseconds(1000), microseconds(1000)});
}

TEST_CASE("ranks that share a memory pool are served one after the other") {
  JobBuilder builder(2);
  const NodeId a = builder.memory(0, kMegabyte);
  const NodeId b = builder.memory(1, kMegabyte);
  const Job job = builder.build();
  SimulationOptions options;
  options.remote_memory = RemoteMemory{kBandwidth, microseconds(50), MemorySharing::kRank};
  CHECK(simulate(job, switched(2), options).end(1, b) == at(microseconds(1050)));
  options.remote_memory->shared = MemorySharing::kCluster;
  const Outcome shared = simulate(job, switched(2), options);
  CHECK(shared.end(0, a) == at(microseconds(1050)));
  CHECK(shared.end(1, b) == at(microseconds(2050)));  // busy for the transfer, not for the latency
}

TEST_CASE("a group that fills whole dimensions runs over them, any other is one ring in group order") {
  // 4 x 2: a switch of 4 at 1 GB/s, two of them joined at 0.1 GB/s.
  const std::vector<DimensionSpec> dimensions = {dimension("switch", 4, kBandwidth, kLatency),
                                                 dimension("switch", 2, Bandwidth(100'000'000), kLatency)};
  const Fabric fabric = compose(dimensions);
  JobBuilder builder(8);
  const GroupId whole = builder.group("whole", {5, 4, 7, 6});
  const GroupId part = builder.group("part", {0, 1, 2});
  std::vector<NodeId> calls;
  for (const std::uint32_t rank : {4u, 5u, 6u, 7u})
    calls.push_back(builder.collective(rank, CollectiveKind::kAllReduce, kMegabyte, whole));
  for (const std::uint32_t rank : {0u, 1u, 2u})
    calls.push_back(builder.collective(rank, CollectiveKind::kAllReduce, kMegabyte, part));
  builder.compute(3, microseconds(1));
  const Outcome outcome = simulate(builder.build(), fabric);
  // Halving-doubling on four: 500 + 250 us and back, 4 latencies. Ring of three: 4 * (10 + 333.334) us.
  CHECK(outcome.end(4, calls[0]) == at(2 * microseconds(750) + 4 * kLatency));
  CHECK(outcome.end(0, calls[4]) == at(4 * (Bytes(333'334) / kBandwidth + kLatency)));
}

TEST_CASE("chunks go through the dimensions one behind the other") {
  // Two dimensions of two, equal links, two chunks of 1 MB: reduce-scatter 500 us and 250 us, all-gather 250 us and 500
  // us, each with 10 us of latency. With one chunk at a time on a dimension (d0, d1):
  //   d0: RS0 0-510, RS1 510-1020, AG0 (ready 1030) 1030-1540, AG1 (ready 1540) 1540-2050
  //   d1: RS0 510-770, AG0 770-1030, RS1 (ready 1020) 1030-1290, AG1 1290-1550
  const std::vector<DimensionSpec> dimensions = {dimension("switch", 2, kBandwidth, kLatency),
                                                 dimension("switch", 2, kBandwidth, kLatency)};
  const Fabric fabric = compose(dimensions);
  JobBuilder builder(4);
  for (std::uint32_t rank = 0; rank < 4; ++rank)
    builder.collective(rank, CollectiveKind::kAllReduce, Bytes(2'000'000), kWorld);
  SimulationOptions options;
  options.collectives.chunks = 2;
  CHECK(simulate(builder.build(), fabric, options).totals.finish == at(microseconds(2060)));
}

TEST_CASE("a configured all-reduce algorithm is used in all of its phases") {
  const std::vector<DimensionSpec> dimensions = {dimension("switch", 4, kBandwidth, kLatency),
                                                 dimension("switch", 2, kBandwidth, kLatency)};
  const Fabric fabric = compose(dimensions);
  JobBuilder builder(8);
  for (std::uint32_t rank = 0; rank < 8; ++rank)
    builder.collective(rank, CollectiveKind::kAllReduce, kMegabyte, kWorld);
  const Job job = builder.build();
  SimulationOptions options;
  // direct: reduce-scatter of 4 sends 250 kB to all at once, then of 2 125 kB, and back: 2 * (250 + 125) us, 4
  // latencies.
  options.collectives.algorithms[static_cast<std::size_t>(CollectiveKind::kAllReduce)] = {*find_algorithm("direct"),
                                                                                          *find_algorithm("direct")};
  CHECK(simulate(job, fabric, options).totals.finish == at(microseconds(750) + 4 * kLatency));
  // ring: 3 steps of 250 kB on the four instead of one.
  options.collectives.algorithms[static_cast<std::size_t>(CollectiveKind::kAllReduce)] = {*find_algorithm("ring"),
                                                                                          *find_algorithm("ring")};
  CHECK(simulate(job, fabric, options).totals.finish == at(microseconds(2 * (750 + 125)) + 8 * kLatency));
}

TEST_CASE("a measured duration of a memory node wins over its bytes") {
  JobBuilder builder(1);
  const NodeId load = builder.memory(0, kMegabyte, {}, microseconds(77));
  CHECK(simulate(builder.build(), switched(1)).end(0, load) == at(microseconds(77)));
}

TEST_CASE("more chunks than can be kept are refused, many are not slow") {
  JobBuilder builder(64);
  for (std::uint32_t rank = 0; rank < 64; ++rank)
    builder.collective(rank, CollectiveKind::kAllReduce, Bytes(1'000'000'000), kWorld);
  const Job job = builder.build();
  SimulationOptions options;
  options.collectives.chunks = 1'000'000;
  CHECK_THROWS_AS(simulate(job, switched(64), options), InputError);
  JobBuilder pair(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    pair.collective(rank, CollectiveKind::kAllReduce, Bytes(65'536'000), kWorld);
  // 65,536 chunks of 1,000 bytes, one behind the other: 2 * (10 us + 500 ns) each.
  options.collectives.chunks = 65'536;
  CHECK(simulate(pair.build(), switched(2), options).totals.finish == at(65'536 * Duration(21'000'000)));
}

TEST_CASE("no mix of chunks, queues and late ranks gets stuck") {
  std::minstd_rand generator(3);
  const auto random = [&] { return static_cast<std::uint32_t>(generator()); };
  for (int trial = 0; trial < 60; ++trial) {
    const std::vector<DimensionSpec> dimensions = {
        dimension("switch", 2 + random() % 3, kBandwidth, kLatency),
        dimension("ring", 2 + random() % 3, Bandwidth(300'000'000), Duration(random() % 1'000'000'000)),
        dimension("fully-connected", 1 + random() % 2, kBandwidth, kLatency)};
    const Fabric fabric = compose(dimensions);
    JobBuilder builder(fabric.device_count());
    const auto kind = kAllCollectiveKinds[random() % kAllCollectiveKinds.size()];
    for (std::uint32_t rank = 0; rank < fabric.device_count(); ++rank) {
      const NodeId start = builder.compute(rank, Duration(1 + random() % 2'000'000'000));
      builder.collective(rank, kind, Bytes(1'000'003), kWorld, {start});
      builder.collective(rank, CollectiveKind::kAllReduce, Bytes(500'001), kWorld, {start});
    }
    SimulationOptions options;
    options.collectives.chunks = 1 + random() % 9;
    options.collectives.active_chunks = 1 + random() % 3;
    options.collectives.queue = static_cast<QueuePolicy>(random() % 3);
    CHECK_NOTHROW(simulate(builder.build(), fabric, options));
  }
}

TEST_CASE("ranks that call on two communicators in opposite order are stuck, and the report says who waits for whom") {
  JobBuilder builder(2);
  const GroupId a = builder.group("a", {0, 1});
  const GroupId b = builder.group("b", {0, 1});
  const NodeId first = builder.collective(0, CollectiveKind::kAllReduce, kMegabyte, a);
  builder.collective(0, CollectiveKind::kAllGather, kMegabyte, b, {first});
  const NodeId other = builder.collective(1, CollectiveKind::kAllGather, kMegabyte, b);
  builder.collective(1, CollectiveKind::kAllReduce, kMegabyte, a, {other});
  const Job job = builder.build();
  try {
    simulate(job, switched(2));
    FAIL("must be stuck");
  } catch (const StuckError& error) {
    const std::string text = error.what();
    CHECK(text.find("2 of 2 ranks can never finish") != std::string::npos);
    CHECK(text.find("call 1 of 'a', all_reduce of 976.6 KiB: rank 0 has come, rank 1 has not") != std::string::npos);
    CHECK(text.find("call 1 of 'b', all_gather of 976.6 KiB: rank 1 has come, rank 0 has not") != std::string::npos);
    CHECK(text.find("they wait for one another in a circle") != std::string::npos);
  }
}

TEST_CASE("a receive that comes before the send it makes possible is stuck") {
  JobBuilder builder(2);
  const NodeId r0 = builder.receive(0, 1, kMegabyte);
  builder.send(0, 1, kMegabyte, {r0});
  const NodeId r1 = builder.receive(1, 0, kMegabyte);
  builder.send(1, 0, kMegabyte, {r1});
  const Job job = builder.build();
  CHECK_THROWS_AS(simulate(job, switched(2)), StuckError);
}

TEST_CASE("equal input gives equal operations, whatever the number of the ranks that act at one instant") {
  std::minstd_rand generator(5);
  const auto random = [&] { return static_cast<std::uint32_t>(generator()); };
  JobBuilder builder(8);
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    NodeId last = builder.compute(rank, Duration(1 + random() % 1'000'000));
    for (int i = 0; i < 5; ++i)
      last = builder.collective(rank, CollectiveKind::kAllReduce, Bytes(100'000 + i), kWorld, {last});
  }
  const Job job = builder.build();
  const Outcome one = simulate(job, switched(8));
  const Outcome two = simulate(job, switched(8));
  for (std::uint32_t rank = 0; rank < 8; ++rank)
    for (std::uint32_t node = 0; node < 6; ++node) CHECK(one.end(rank, NodeId{node}) == two.end(rank, NodeId{node}));
}
