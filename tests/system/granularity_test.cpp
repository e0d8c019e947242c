// SPDX-License-Identifier: MIT
// Phase against step, and flow against alpha-beta, over collectives, topologies and sizes.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::collectives;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::test;
using enum CollectiveKind;

namespace {

// A byte takes a whole number of picoseconds, also at 2/3, 4/7 and 8/15 of the rate, which are the shares of the
// busiest pair of halving-doubling on 4, 8 and 16 ranks: nothing is rounded, neither bytes nor rates.
constexpr Bandwidth kBandwidth{8'000'000'000};
constexpr Duration kLatency{700'000};
const std::vector<std::int64_t> kSizes = {16 * 105, 16 * 105'000, 16 * 10'500'000};

Duration run(CollectiveKind kind, std::int64_t bytes, const Fabric& fabric, std::string_view algorithm,
             Granularity granularity, NetworkModel model) {
  CollectiveOptions options = always(algorithm, fabric.dimensions().size());
  options.granularity = granularity;
  return simulate_collective(kind, Bytes(bytes), fabric, options, model);
}

struct Symmetric {
  std::string topology;
  std::string algorithm;
  std::vector<CollectiveKind> kinds;
};

// In these every rank does the same in every step, and no two messages of a step are on one link.
const std::vector<Symmetric> kSymmetric = {
    {"ring", "ring", {kAllReduce, kReduceScatter, kAllGather, kBarrier}},
    {"ring", "bidirectional-ring", {kAllReduce, kReduceScatter, kAllGather, kBarrier}},
    {"switch", "ring", {kAllReduce, kReduceScatter, kAllGather, kBarrier}},
    {"fully-connected", "ring", {kAllReduce, kReduceScatter, kAllGather, kBarrier}},
    {"switch", "halving-doubling", {kAllReduce, kReduceScatter, kAllGather, kBarrier}},
    {"fully-connected", "direct", {kAllReduce, kReduceScatter, kAllGather, kAllToAll, kBarrier}},
};

}  // namespace

TEST_CASE("where steps are symmetric and nothing is shared, phase is step and flow is alpha-beta") {
  for (const Symmetric& symmetric : kSymmetric)
    for (const std::uint32_t n : {2u, 4u, 8u, 16u})
      for (const CollectiveKind kind : symmetric.kinds) {
        // A rank has at most 8 messages of a direct all-to-all in flight, so more peers take further rounds.
        if (kind == kAllToAll && n > 9) continue;
        const Fabric fabric = one_dimension(symmetric.topology, n, kBandwidth, kLatency);
        for (const std::int64_t size : kSizes) {
          INFO(symmetric.algorithm << ' ' << name_of(kind) << " of " << n << " on " << symmetric.topology << ", "
                                   << size);
          const auto of = [&](Granularity granularity, NetworkModel model) {
            return run(kind, size, fabric, symmetric.algorithm, granularity, model);
          };
          const Duration step = of(Granularity::kStep, NetworkModel::kAlphaBeta);
          CHECK(of(Granularity::kStep, NetworkModel::kFlow) == step);
          CHECK(of(Granularity::kPhase, NetworkModel::kFlow) == of(Granularity::kPhase, NetworkModel::kAlphaBeta));
          // A rate is rounded down to whole bytes per second, once a phase: up to 2^-32 of the time more.
          const Duration phase = of(Granularity::kPhase, NetworkModel::kFlow);
          CHECK(phase >= step);
          CHECK(phase - step <= Duration(1 + step.count() / (std::int64_t{1} << 32)));
          // Store and forward: the same where a message has one hop.
          if (symmetric.topology == "ring" || symmetric.algorithm == "direct") {
            CHECK(of(Granularity::kStep, NetworkModel::kFifo) == step);
            CHECK(of(Granularity::kPhase, NetworkModel::kFifo) == step);
          }
        }
      }
}

TEST_CASE("several dimensions: the phases of all lines go at once, one after the other") {
  const std::vector<DimensionSpec> dimensions = {dimension("switch", 4, kBandwidth, kLatency),
                                                 dimension("ring", 3, Bandwidth(1'000'000'000), Duration(2'000'000))};
  const Fabric fabric = compose(dimensions);
  for (const CollectiveKind kind : {kAllReduce, kReduceScatter, kAllGather, kBarrier})
    for (const std::int64_t size : {std::int64_t{12}, std::int64_t{12'000'000}})
      for (const NetworkModel model : {NetworkModel::kAlphaBeta, NetworkModel::kFlow})
        CHECK(run(kind, size, fabric, "ring", Granularity::kPhase, model) ==
              run(kind, size, fabric, "ring", Granularity::kStep, model));
}

TEST_CASE("an incast takes the sum of its bytes as a phase, whatever the model") {
  // Gather to rank 0 on a switch: 7 messages of S share the root's link. alpha-beta lets them pass all at once when
  // every message is simulated.
  const Bandwidth bandwidth(7'000'000'000);  // a seventh each: whole bytes per second
  const Fabric fabric = one_dimension("switch", 8, bandwidth, kLatency);
  const Bytes size(1'000'000);
  const Duration shared = size * 7 / bandwidth + kLatency;
  for (const NetworkModel model : {NetworkModel::kAlphaBeta, NetworkModel::kFlow})
    CHECK(run(kGather, size.count(), fabric, "direct", Granularity::kPhase, model) == shared);
  CHECK(run(kGather, size.count(), fabric, "direct", Granularity::kStep, NetworkModel::kFlow) == shared);
  CHECK(run(kGather, size.count(), fabric, "direct", Granularity::kStep, NetworkModel::kAlphaBeta) ==
        size / bandwidth + kLatency);
}

TEST_CASE("a chain as a phase leaves out the filling of its pipeline") {
  // n = 4 parts of c follow one another along 3 hops: (3 + 3) c / b and 3 a. As a phase: all n c = S on each link.
  const Fabric fabric = one_dimension("ring", 4, kBandwidth, kLatency);
  const Bytes part(1'000'000);
  CHECK(run(kBroadcast, 4 * part.count(), fabric, "ring", Granularity::kStep, NetworkModel::kFlow) ==
        6 * (part / kBandwidth) + 3 * kLatency);
  CHECK(run(kBroadcast, 4 * part.count(), fabric, "ring", Granularity::kPhase, NetworkModel::kFlow) ==
        4 * (part / kBandwidth) + 3 * kLatency);
}

TEST_CASE("a phase starts when the last of its line has come and ends for all at once") {
  const Fabric fabric = one_dimension("ring", 4, kBandwidth, kLatency);
  JobBuilder builder(4);
  std::vector<NodeId> calls;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const NodeId late = builder.compute(rank, Duration(1'000'000 * (rank + 1)));
    calls.push_back(builder.collective(rank, kAllGather, Bytes(8'000), kWorld, {late}));
  }
  SimulationOptions options;
  options.collectives = always("ring");
  options.collectives.granularity = Granularity::kPhase;
  const Outcome outcome = simulate(builder.build(), fabric, options, NetworkModel::kFlow);
  const Duration moving = 3 * (Bytes(8'000) / kBandwidth + kLatency);
  for (std::uint32_t rank = 0; rank < 4; ++rank)
    CHECK(outcome.end(rank, calls[rank]) == at(Duration(4'000'000) + moving));
}

TEST_CASE("ranks that take up different chunks first still meet in their lines") {
  // Last in, first out, one chunk at a time, with ranks that come at different times, over two dimensions: the order in
  // which chunks wait differs from rank to rank. It ends, in both granularities, and the second takes no less than the
  // traffic of its busiest link.
  const std::vector<DimensionSpec> dimensions = {dimension("ring", 4, kBandwidth, kLatency),
                                                 dimension("ring", 3, Bandwidth(1'000'000'000), Duration(2'000'000))};
  const Fabric fabric = compose(dimensions);
  for (const QueuePolicy queue : {QueuePolicy::kFifo, QueuePolicy::kLifo})
    for (const std::uint32_t active : {1u, 2u, 7u}) {
      JobBuilder builder(12);
      for (std::uint32_t rank = 0; rank < 12; ++rank) {
        const NodeId late = builder.compute(rank, Duration(1 + 300'000 * (rank * 7 % 12)));
        builder.collective(rank, kAllReduce, Bytes(12'000'000), kWorld, {late});
      }
      SimulationOptions options;
      options.collectives = always("ring", 2);
      options.collectives.granularity = Granularity::kPhase;
      options.collectives.chunks = 12;
      options.collectives.queue = queue;
      options.collectives.active_chunks = active;
      const Outcome outcome = simulate(builder.build(), fabric, options, NetworkModel::kFlow);
      // The second dimension: 2 * 2/3 of a quarter of the bytes at 1 GB/s.
      CHECK(outcome.totals.finish >= at(Bytes(4'000'000) / Bandwidth(1'000'000'000)));
      CHECK(outcome.totals.messages ==
            12 * 2 * (3 + 4));  // chunks x (up, down) x lines: 3 in the first dimension, 4 in the second
    }
}

TEST_CASE("behind a link that two messages of every step share, latencies hide; a phase adds them up") {
  // A dragonfly of 4 groups of 2 routers with 2 members each. Of a ring, 7 -> 8 comes into the third group at its
  // second router and 11 -> 12 leaves it at its first: both cross the link between the two, in this direction nobody
  // else does, and no other link is crossed twice. So that link never rests: of the latencies only the last message's
  // counts, 500 ns up and down, 1 us to the group and 500 ns between its routers. A phase has those of its longest
  // chain of 30.
  DimensionSpec dragonfly = dimension("dragonfly", 16, kBandwidth, Duration(1'000'000));
  dragonfly.own.groups = {2, 2, kBandwidth, kBandwidth, 1, Duration(500'000), Duration(1'000'000)};
  const Fabric fabric = compose(std::vector{dragonfly});
  const Bytes size(16 * 20'000);
  const Duration shared = 2 * 30 * (Bytes(20'000) / kBandwidth);
  const Duration step = run(kAllReduce, size.count(), fabric, "ring", Granularity::kStep, NetworkModel::kFlow);
  CHECK(step == shared + Duration(2'500'000));
  const Duration phase = run(kAllReduce, size.count(), fabric, "ring", Granularity::kPhase, NetworkModel::kFlow);
  CHECK(phase > step);
  CHECK(phase <= step + shared);
}

TEST_CASE("a phase takes at most its load and its latencies one after the other: less than twice its steps") {
  for (const std::string topology : {"switch", "ring", "fully-connected"})
    for (const std::uint32_t n : {2u, 5u, 8u, 16u})
      for (const CollectiveKind kind : kAllCollectiveKinds)
        for (const std::string& algorithm : algorithm_names())
          for (const std::int64_t size : kSizes) {
            if (find_algorithm(algorithm)->is_in_network() || !find_algorithm(algorithm)->supports(kind)) continue;
            const Fabric fabric = one_dimension(topology, n, kBandwidth, kLatency);
            INFO(algorithm << ' ' << name_of(kind) << " of " << n << " on " << topology << ", " << size);
            CHECK(run(kind, size, fabric, algorithm, Granularity::kPhase, NetworkModel::kFlow) <=
                  2 * run(kind, size, fabric, algorithm, Granularity::kStep, NetworkModel::kFlow));
          }
}
