// SPDX-License-Identifier: MIT
// Collectives simulated end to end against their closed forms, to the picosecond. a: latency, b: bandwidth, c =
// ceil(S/n).
#include <bit>
#include <catch2/catch.hpp>
#include <numeric>
#include <string>

#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::collectives;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::test;

namespace {

constexpr Bandwidth kBandwidth{25'000'000'001};  // divides nothing, so that every rounding shows
constexpr Duration kLatency{700'001};

Duration message(Bytes bytes, Bandwidth bandwidth, Duration latency) { return bytes / bandwidth + latency; }

// Per dimension, from the definitions of the algorithms (ring: Patarasuk and Yuan 2009; halving-doubling: Thakur et al.
// 2005).
Duration expected(const std::string& algorithm, CollectiveKind kind, std::uint32_t n, Bytes s, Bandwidth b,
                  Duration a) {
  const Bytes c = ceil_div(s, n);
  const std::int64_t steps = n - 1;
  const int rounds = std::countr_zero(std::bit_floor(n));
  Duration sum{};
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return expected(algorithm, CollectiveKind::kReduceScatter, n, s, b, a) +
             expected(algorithm, CollectiveKind::kAllGather, n, c, b, a);
    case CollectiveKind::kReduceScatter:
      if (algorithm == "ring") return steps * message(c, b, a);
      if (algorithm == "direct") return message(c, b, a);
      for (int k = 0; k < rounds; ++k) sum += message(c * (std::int64_t{1} << k), b, a);
      return sum;
    case CollectiveKind::kAllGather:
      if (algorithm == "ring") return steps * message(s, b, a);
      if (algorithm == "direct") return message(s, b, a);
      for (int k = 0; k < rounds; ++k) sum += message(s * (std::int64_t{1} << k), b, a);
      return sum;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
      // ring: n pieces down the chain, each link busy n times; the first piece needs n-1 hops.
      if (algorithm == "ring") return steps * message(c, b, a) + steps * (c / b);
      if (algorithm == "direct") return message(s, b, a);
      return rounds * message(s, b, a);
    case CollectiveKind::kBarrier:
      return (algorithm == "ring" ? steps : algorithm == "direct" ? 1 : rounds) * a;
    default:
      return {};
  }
}

const std::vector<CollectiveKind> kKinds = {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter,
                                            CollectiveKind::kAllGather, CollectiveKind::kBroadcast,
                                            CollectiveKind::kReduce,    CollectiveKind::kBarrier};
const std::vector<std::int64_t> kSizes = {1, 8, 1'000'003, 67'108'865};

}  // namespace

TEST_CASE("one dimension takes its closed form, to the picosecond") {
  for (const std::string algorithm : {"ring", "direct", "halving-doubling"}) {
    for (const std::uint32_t n : {2u, 3u, 4u, 5u, 8u, 16u}) {
      if (algorithm == "halving-doubling" && !std::has_single_bit(n)) continue;
      for (const std::string topology : {"switch", "fully-connected"}) {
        const Fabric fabric = one_dimension(topology, n, kBandwidth, kLatency);
        for (const CollectiveKind kind : kKinds)
          for (const std::int64_t size : kSizes) {
            // Switch: half the latency on each of two links, so an odd picosecond is where the fabric puts it.
            std::vector<LinkId> route;
            fabric.route(DeviceId(0), DeviceId(1), route);
            const Duration latency =
                std::accumulate(route.begin(), route.end(), Duration{},
                                [&](Duration sum, LinkId link) { return sum + fabric.link(link).latency; });
            CHECK(latency == kLatency);
            INFO(algorithm << " " << name_of(kind) << " n=" << n << " S=" << size << " on " << topology);
            CHECK(simulate_collective(kind, Bytes(size), fabric, always(algorithm)) ==
                  expected(algorithm, kind, n, Bytes(size), kBandwidth, kLatency));
          }
      }
    }
  }
}

TEST_CASE("the algorithms of MPI and the double binary tree take their closed forms") {
  using enum CollectiveKind;
  const auto lone = [](Bytes bytes) { return message(bytes, kBandwidth, kLatency); };
  for (const std::uint32_t n : {4u, 8u, 16u}) {
    const Fabric fabric = one_dimension("switch", n, kBandwidth, kLatency);
    const int levels = std::countr_zero(n);
    for (const std::int64_t size : kSizes) {
      const Bytes s(size), c = ceil_div(s, n);
      const Bytes segment = ceil_div(ceil_div(s, 2), 16);  // of a tree's half
      const Duration rest = 15 * (segment / kBandwidth);
      const auto time = [&](const std::string& algorithm, CollectiveKind kind) {
        return simulate_collective(kind, s, fabric, always(algorithm));
      };
      INFO("n=" << n << " S=" << size);
      CHECK(time("recursive-doubling", kAllReduce) == levels * lone(s));
      CHECK(time("recursive-doubling", kAllGather) == expected("", kAllGather, n, s, kBandwidth, kLatency));
      CHECK(time("rabenseifner", kAllReduce) == expected("", kAllReduce, n, s, kBandwidth, kLatency));
      CHECK(time("swing", kAllReduce) == expected("", kAllReduce, n, s, kBandwidth, kLatency));
      CHECK(time("swing", kReduceScatter) == expected("", kReduceScatter, n, s, kBandwidth, kLatency));
      CHECK(time("binomial-tree", kAllReduce) == 2 * levels * lone(s));
      CHECK(time("double-binary-tree", kReduce) == levels * lone(segment) + rest);
      CHECK(time("double-binary-tree", kBroadcast) == levels * lone(segment) + rest);
      CHECK(time("double-binary-tree", kAllReduce) ==
            (2 * levels - 2) * lone(segment) + rest + std::max(2 * lone(segment), rest));
      CHECK(time("bruck", kAllToAll) == levels * lone(c * (n / 2)));
      CHECK(time("bruck", kAllGather) == expected("", kAllGather, n, s, kBandwidth, kLatency));
      CHECK(time("pairwise", kAllToAll) == (n - 1) * lone(c));
      CHECK(time("server", kAllReduce) == 2 * lone(s));
      CHECK(time("sharded-server", kAllReduce) == 2 * lone(c));
      CHECK(time("one-by-one", kAllReduce) == kLatency + (n - 1) * (s / kBandwidth));
    }
  }
}

// Of 4 by 3 ranks. Within, a server or the whole buffer; across, a ring of the servers or of everybody.
TEST_CASE("an all-reduce over two dimensions may go by a root or as a whole on the first") {
  const std::vector<DimensionSpec> dimensions = {dimension("switch", 4, Bandwidth(300'000'000'000), Duration(700'000)),
                                                 dimension("ring", 3, Bandwidth(50'000'000'000), Duration(2'000'000))};
  const Fabric fabric = compose(dimensions);
  const Bytes size(1'000'003);
  const Duration within = message(size, dimensions[0].bandwidth, dimensions[0].latency);
  const Duration across = 4 * message(ceil_div(size, 3), dimensions[1].bandwidth, dimensions[1].latency);
  for (const std::string first : {"server", "recursive-doubling"}) {
    CollectiveOptions options;
    for (auto& list : options.algorithms) list = {*find_algorithm(first), *find_algorithm("ring")};
    CHECK(simulate_collective(CollectiveKind::kAllReduce, size, fabric, options) == 2 * within + across);
  }
}

TEST_CASE("a ring on a ring takes 2(n-1)(a + ceil(S/n)/b)") {
  for (const std::uint32_t n : {2u, 3u, 7u, 16u}) {
    const Fabric fabric = one_dimension("ring", n, kBandwidth, kLatency);
    CHECK(simulate_collective(CollectiveKind::kAllReduce, Bytes(1'000'003), fabric, always("ring")) ==
          2 * (n - 1) * message(ceil_div(Bytes(1'000'003), n), kBandwidth, kLatency));
  }
}

TEST_CASE("a bidirectional ring takes what one ring takes for half of the data") {
  for (const std::uint32_t n : {2u, 3u, 7u, 16u}) {
    const Fabric fabric = one_dimension("ring", n, kBandwidth, kLatency);
    for (const CollectiveKind kind : kKinds)
      for (const std::int64_t size : kSizes) {
        // Of two members the links each way are those of one ring.
        const Bytes half = n == 2 ? Bytes(size) : ceil_div(Bytes(size), 2);
        INFO(name_of(kind) << " n=" << n << " S=" << size);
        const Duration expected_time = expected("ring", kind, n, half, kBandwidth, kLatency);
        CHECK(simulate_collective(kind, Bytes(size), fabric, {}) == expected_time);
        CHECK(simulate_collective(kind, Bytes(size), fabric, always("bidirectional-ring")) == expected_time);
        CHECK(simulate_collective(kind, Bytes(size), fabric, {}, NetworkModel::kFlow) == expected_time);
        CHECK(simulate_collective(kind, Bytes(size), fabric, {}, NetworkModel::kFifo) == expected_time);
      }
  }
}

TEST_CASE("a torus with axes of k takes, with 1/2d of the data, what d rings of k take one after the other") {
  for (const std::uint32_t k : {3u, 4u, 5u})
    for (const std::uint32_t d : {1u, 2u, 3u}) {
      std::uint32_t ranks = 1;
      DimensionSpec torus = dimension("torus", 1, kBandwidth, kLatency);
      torus.own.sizes.assign(d, k);
      for (const std::uint32_t size : torus.own.sizes) ranks *= size;
      torus.size = torus.own.size = ranks;
      const Fabric fabric = compose(std::vector{torus});
      for (const std::int64_t size : kSizes) {
        const auto ring = [&](CollectiveKind kind, Bytes bytes) {
          return expected("ring", kind, k, bytes, kBandwidth, kLatency);
        };
        const Bytes part = ceil_div(Bytes(size), 2 * d);
        Bytes up = part, down = part;
        Duration reduce_scatter{}, all_reduce{}, all_gather{};
        for (std::uint32_t axis = 0; axis < d; ++axis) {
          reduce_scatter += ring(CollectiveKind::kReduceScatter, up);
          all_reduce += ring(CollectiveKind::kAllReduce, up);
          all_gather += ring(CollectiveKind::kAllGather, down);
          up = ceil_div(up, k);
          down = down * k;
        }
        INFO(d << " axes of " << k << ", S=" << size);
        for (const NetworkModel model : {NetworkModel::kAlphaBeta, NetworkModel::kFlow, NetworkModel::kFifo}) {
          const auto time = [&](CollectiveKind kind) {
            return simulate_collective(kind, Bytes(size), fabric, {}, model);
          };
          CHECK(time(CollectiveKind::kReduceScatter) == reduce_scatter);
          CHECK(time(CollectiveKind::kAllReduce) == all_reduce);
          CHECK(time(CollectiveKind::kAllGather) == all_gather);
          CHECK(time(CollectiveKind::kReduce) == d * ring(CollectiveKind::kReduce, part));
          CHECK(time(CollectiveKind::kBroadcast) == d * ring(CollectiveKind::kBroadcast, part));
          CHECK(time(CollectiveKind::kBarrier) == d * (k - 1) * kLatency);
        }
      }
    }
}

TEST_CASE("the example of the handbook: eight ranks, 64 MiB, 300 GB/s, 700 ns") {
  // 14 * (700 ns + 8388608 B / 300 GB/s = 27.962027 us) = 401.268373 us, each transfer rounded up to a picosecond.
  const Fabric fabric = one_dimension("switch", 8, Bandwidth(300'000'000'000), std::chrono::nanoseconds(700));
  CHECK(simulate_collective(CollectiveKind::kAllReduce, Bytes(64 << 20), fabric, always("ring")) ==
        14 * Duration(700'000 + 27'962'027));
}

TEST_CASE("two and three dimensions take the sum of their phases with one chunk") {
  const std::vector<DimensionSpec> all = {
      dimension("switch", 4, Bandwidth(300'000'000'000), Duration(700'000)),
      dimension("ring", 3, Bandwidth(50'000'000'000), Duration(2'000'000)),
      dimension("fully-connected", 5, Bandwidth(25'000'000'000), Duration(5'000'000))};
  const std::vector<std::string> algorithms = {"halving-doubling", "ring", "direct"};
  for (const std::size_t count : {2u, 3u}) {
    const std::vector<DimensionSpec> dimensions(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
    const Fabric fabric = compose(dimensions);
    CollectiveOptions options;
    for (auto& list : options.algorithms)
      for (std::size_t d = 0; d < count; ++d) list.push_back(*find_algorithm(algorithms[d]));
    const Bytes size(1'000'003);
    // all_reduce: reduce-scatter up, each dimension with 1/n of the one before, rounded up; all-gather down with the
    // shards.
    Duration reduce_scatter{}, all_gather{}, gathered{};
    Bytes shard = size, part = size;
    for (std::size_t d = 0; d < count; ++d) {
      const DimensionSpec& dim = dimensions[d];
      reduce_scatter +=
          expected(algorithms[d], CollectiveKind::kReduceScatter, dim.size, shard, dim.bandwidth, dim.latency);
      shard = ceil_div(shard, dim.size);
      all_gather += expected(algorithms[d], CollectiveKind::kAllGather, dim.size, shard, dim.bandwidth, dim.latency);
    }
    for (std::size_t d = count; d-- > 0;) {  // all_gather alone: down the dimensions, growing
      gathered += expected(algorithms[d], CollectiveKind::kAllGather, dimensions[d].size, part, dimensions[d].bandwidth,
                           dimensions[d].latency);
      part = part * dimensions[d].size;
    }
    CHECK(simulate_collective(CollectiveKind::kReduceScatter, size, fabric, options) == reduce_scatter);
    CHECK(simulate_collective(CollectiveKind::kAllReduce, size, fabric, options) == reduce_scatter + all_gather);
    CHECK(simulate_collective(CollectiveKind::kAllGather, size, fabric, options) == gathered);
    Duration broadcast{}, barrier{};
    for (std::size_t d = 0; d < count; ++d) {
      const DimensionSpec& dim = dimensions[d];
      broadcast += expected(algorithms[d], CollectiveKind::kBroadcast, dim.size, size, dim.bandwidth, dim.latency);
      barrier += expected(algorithms[d], CollectiveKind::kBarrier, dim.size, size, dim.bandwidth, dim.latency);
    }
    CHECK(simulate_collective(CollectiveKind::kBroadcast, size, fabric, options) == broadcast);
    CHECK(simulate_collective(CollectiveKind::kBarrier, size, fabric, options) == barrier);
  }
}

TEST_CASE("a lone message takes its transfer and the latency of its route") {
  const std::vector<DimensionSpec> dimensions = {
      dimension("ring", 8, kBandwidth, kLatency),
      dimension("switch", 2, Bandwidth(10'000'000'000), Duration(3'000'000))};
  const Fabric fabric = compose(dimensions);
  JobBuilder builder(16);
  // Rank 0 -> rank 11: three hops along the ring (0, 1, 2, 3), then through the switch, which is the narrowest.
  const NodeId send = builder.send(0, 11, Bytes(1'000'003));
  const NodeId receive = builder.receive(11, 0, Bytes(1'000'003));
  for (std::uint32_t rank = 0; rank < 16; ++rank) builder.compute(rank, Duration(1));
  const Outcome outcome = simulate(builder.build(), fabric);
  const Duration transfer = Bytes(1'000'003) / Bandwidth(10'000'000'000);
  CHECK(outcome.end(0, send) == at(transfer));
  CHECK(outcome.end(11, receive) == at(transfer + 3 * kLatency + Duration(3'000'000)));
}
