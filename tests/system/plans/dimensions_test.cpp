// SPDX-License-Identifier: MIT
// Which dimensions collectives go along, and in which order.
#include "system/plans/dimensions.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/system/folding/folded.h"
#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::test;

namespace {

constexpr Bandwidth kBandwidth{1'000'000'000};
constexpr Duration kLatency{1'000'000};

using Orders = std::vector<std::vector<std::uint32_t>>;

DimensionSpec of(const std::string& topology, std::uint32_t size, Bandwidth bandwidth = kBandwidth) {
  return dimension(topology, size, bandwidth, kLatency);
}

Fabric fabric_of(const std::vector<DimensionSpec>& dimensions) { return compose(dimensions); }

CollectiveOptions in_order(DimensionOrder order, std::uint32_t chunks) {
  CollectiveOptions options;
  options.order = order;
  options.chunks = chunks;
  return options;
}

Duration time_of(CollectiveKind kind, const Fabric& fabric, const CollectiveOptions& options) {
  return simulate_collective(kind, Bytes(1600), fabric, options, NetworkModel::kFlow);
}

TEST_CASE("chunks take the dimension first that has least to do") {
  const auto orders = [](const std::vector<collectives::PlanAxis>& axes, std::int64_t bytes, std::uint32_t chunks,
                         const std::vector<Duration>& probes) {
    return balanced_orders(CollectiveKind::kAllReduce, axes, Bytes(bytes), chunks, probes);
  };
  const std::vector<collectives::PlanAxis> axes = {{2, 0}, {2, 1}};
  const Duration half = ceil_div(kProbe, 2) / kBandwidth;  // of two members each sends half
  // A chunk of 800 bytes: 400 ns on the first of its dimensions, 200 ns on the other.
  CHECK(orders(axes, 800, 4, {half, half}) == Orders{{0, 1}, {1, 0}, {0, 1}, {1, 0}});
  // 200 ns on each: as it should be.
  CHECK(orders(axes, 800, 3, {half / 2, half}).empty());
  // 100 ns and 200 ns: the first has less to do at any time.
  CHECK(orders(axes, 800, 4, {half / 4, half}).empty());
  // A torus of 2 x 2 is one dimension, whose axes carry half of it each: 3/8 of a chunk of 1600 bytes in 600 ns, and
  // 3/4 of what is left on the switch in 300 ns. By the switch first it would be 1200 ns and 150 ns, and both chunks
  // would be through after 3000 ns in place of 2400 ns.
  const std::vector<collectives::PlanAxis> torus = {{2, 0}, {2, 0}, {4, 1}};
  CHECK(orders(torus, 1600, 2, {half * 3 / 4, half * 3 / 2}).empty());
}

// Eight fully connected members have seven links of 1 GB/s each, a switch one for each of eight: of S bytes 1/8 S is on
// each link of the first, then 7/8 of S/8 on the ports of the second. That is balanced as it is (1/8 against 7/64); by
// the links of one route the first would look seven times as slow, and chunks would begin with the switch, on 7/8 S.
TEST_CASE("a dimension is as fast as all of its links together, and no order is slower than the baseline") {
  for (const std::string inner : {"fully-connected", "ring", "switch", "mesh"})
    for (const std::uint32_t size : {2U, 4U, 8U})
      for (const std::string outer : {"switch", "ring", "fully-connected"})
        for (const std::int64_t share : {1, 2, 5, 20})
          for (const CollectiveKind kind :
               {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kAllGather}) {
            const Fabric fabric = fabric_of({of(inner, size), of(outer, 4, Bandwidth(kBandwidth.count() / share))});
            const auto time = [&](DimensionOrder order) {
              CollectiveOptions options = in_order(order, 8);
              options.active_chunks = 2;
              return simulate_collective(kind, Bytes(1 << 26), fabric, options, NetworkModel::kFlow);
            };
            INFO(name_of(kind) << " on " << inner << " of " << size << " and " << outer << " at 1/" << share);
            CHECK(time(DimensionOrder::kThemis) <= time(DimensionOrder::kBaseline));
          }
}

TEST_CASE("balanced dimensions carry their halves at the same time") {
  const Fabric fabric = fabric_of({of("switch", 2), of("switch", 2)});
  const Duration ns{1000};
  // Both chunks are on different dimensions all the time: 400 + 200 ns up, as much down.
  CHECK(time_of(CollectiveKind::kAllReduce, fabric, in_order(DimensionOrder::kThemis, 2)) == 4 * kLatency + 1200 * ns);
  CHECK(time_of(CollectiveKind::kReduceScatter, fabric, in_order(DimensionOrder::kThemis, 2)) ==
        2 * kLatency + 600 * ns);
  CHECK(time_of(CollectiveKind::kAllGather, fabric, in_order(DimensionOrder::kThemis, 2)) > Duration::zero());
  // One after the other on the first, which has four steps of 400 ns for two chunks up and down.
  CHECK(time_of(CollectiveKind::kReduceScatter, fabric, in_order(DimensionOrder::kBaseline, 2)) ==
        3 * kLatency + 1000 * ns);
  // One chunk has nothing to balance, and what has a root keeps its order.
  for (const CollectiveKind kind : kAllCollectiveKinds) {
    CHECK(time_of(kind, fabric, in_order(DimensionOrder::kThemis, 1)) ==
          time_of(kind, fabric, in_order(DimensionOrder::kBaseline, 1)));
    if (kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kGather)
      CHECK(time_of(kind, fabric, in_order(DimensionOrder::kThemis, 4)) ==
            time_of(kind, fabric, in_order(DimensionOrder::kBaseline, 4)));
  }
}

TEST_CASE("jobs whose chunks go ways of their own fold") {
  const std::vector<std::vector<DimensionSpec>> fabrics = {
      {of("switch", 4), of("switch", 4)},
      {of("ring", 4), of("fully-connected", 2), of("switch", 3)},
  };
  for (const std::vector<DimensionSpec>& dimensions : fabrics)
    for (const Granularity granularity : {Granularity::kStep, Granularity::kPhase})
      for (const bool has_straggler : {false, true}) {
        const Fabric fabric = compose(dimensions);
        CollectiveOptions options = in_order(DimensionOrder::kThemis, 5);
        options.granularity = granularity;
        JobBuilder job(fabric.device_count());
        for (std::uint32_t rank = 0; rank < fabric.device_count(); ++rank) {
          const NodeId work = job.compute(rank, Duration(has_straggler && rank == 5 ? 9'000'000 : 1'000'000));
          const NodeId first = job.collective(rank, CollectiveKind::kAllReduce, Bytes(12'345), kWorld, {work});
          job.collective(rank, CollectiveKind::kAllGather, Bytes(700), kWorld, {first});
        }
        SimulationOptions all;
        all.collectives = options;
        const Outcome folded = fold_and_compare(job.build(), fabric, all, NetworkModel::kFlow);
        CHECK(folded.totals.messages > 0);
      }
}

TEST_CASE("logical dimensions have the topology that they lie in") {
  const auto topologies = [](const Fabric& fabric, const std::vector<std::uint32_t>& logical) {
    std::vector<std::string> names;
    for (const LogicalDimension& dimension : collective_dimensions(fabric, logical))
      names.push_back(dimension.topology);
    return names;
  };
  using Names = std::vector<std::string>;
  const Fabric one = fabric_of({of("switch", 64)});
  CHECK(topologies(one, {}) == Names{"switch"});
  CHECK(topologies(one, {8, 2, 4}) == Names{"switch", "switch", "switch"});
  const Fabric two = fabric_of({of("ring", 4), of("switch", 8)});
  CHECK(topologies(two, {4, 2, 4}) == Names{"ring", "switch", "switch"});
  CHECK(topologies(two, {2, 2, 8}) == Names{"edge-list", "edge-list", "switch"});
  CHECK(topologies(two, {8, 4}) == Names{"edge-list", "switch"});
}

// Halving-doubling sends as much over one switch of 16 as over 4 x 4 of it: in as many steps.
TEST_CASE("collectives go along logical dimensions") {
  const Fabric fabric = fabric_of({of("switch", 16)});
  CollectiveOptions options;
  options.algorithms[static_cast<std::size_t>(CollectiveKind::kAllReduce)] = {*collectives::find_algorithm("ring"),
                                                                              *collectives::find_algorithm("ring")};
  options.logical_dimensions = {4, 4};
  // 3 steps of a quarter, 3 of a sixteenth, and back.
  CHECK(time_of(CollectiveKind::kAllReduce, fabric, options) ==
        2 * 3 * (2 * kLatency + Bytes(400) / kBandwidth + Bytes(100) / kBandwidth));
}

}  // namespace
