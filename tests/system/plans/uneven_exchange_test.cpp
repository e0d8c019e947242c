// SPDX-License-Identifier: MIT
// All-to-alls whose sizes differ from pair to pair: closed forms, equal sizes, and folding.
#include "collectives/uneven_exchange.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "system/plans/plans.h"
#include "tests/system/folding/folded.h"

using namespace orrery;
using namespace orrery::collectives;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::test;

namespace {

constexpr Bandwidth kBandwidth{1'000'000'000};  // a megabyte in a millisecond
constexpr Duration kLatency{1'000'000};
constexpr std::int64_t kMegabyte = 1'000'000;

CollectiveOptions exchanging(const char* algorithm, std::uint32_t ranks, const std::vector<std::uint64_t>& weights) {
  CollectiveOptions options;
  options.tables[static_cast<std::size_t>(CollectiveKind::kAllToAll)] = {std::make_shared<const MessageTable>(
      uneven_exchange(find_algorithm(algorithm).value(), algorithm, ranks, weights))};
  return options;
}

Duration milliseconds(std::int64_t count) { return Duration(count * 1'000'000'000); }

}  // namespace

TEST_CASE("three ranks with sizes of their own wait for the busiest port") {
  const Fabric fabric = one_dimension("switch", 3, kBandwidth, kLatency);
  // Megabytes from rank 0, 1 and 2; 12 in all, 4 each on average.
  const std::vector<std::uint64_t> megabytes = {0, 1, 3, 6, 0, 2, 0, 0, 0};
  const auto time = [&](const char* algorithm, NetworkModel model) {
    return simulate_collective(CollectiveKind::kAllToAll, Bytes(4 * kMegabyte), fabric,
                               exchanging(algorithm, 3, megabytes), model);
  };
  // All at once. Rank 1 has 8 MB to send, and nothing it sends is held up elsewhere: 2 has 2 + 3 to get, 0 has 6.
  CHECK(time("direct", NetworkModel::kFlow) == milliseconds(8) + kLatency);
  CHECK(time("direct", NetworkModel::kAlphaBeta) == milliseconds(6) + kLatency);
  // To the next, 1, 2 and 0 MB, then to the one after it, 3, 6 and 0. Rank 0 goes on after 1 ms; it and rank 1, which
  // has 1 MB left for rank 2, share that one's port until 3 ms. Then rank 1 sends its 6.
  CHECK(time("pairwise", NetworkModel::kFlow) == milliseconds(9) + kLatency);
}

TEST_CASE("equal sizes take what the algorithm takes, to the picosecond") {
  for (const std::uint32_t ranks : {2U, 3U, 8U, 12U})
    for (const char* algorithm : {"direct", "direct2", "pairwise"})
      for (const NetworkModel model : {NetworkModel::kFlow, NetworkModel::kAlphaBeta, NetworkModel::kFifo})
        for (const Granularity granularity : {Granularity::kStep, Granularity::kPhase})
          for (const std::int64_t bytes : {1, 1000, 1 << 20}) {
            CAPTURE(ranks, algorithm, bytes);
            const Fabric fabric = one_dimension("switch", ranks, kBandwidth, kLatency);
            CollectiveOptions given = exchanging(algorithm, ranks, std::vector<std::uint64_t>(ranks * ranks, 3));
            CollectiveOptions even = always(algorithm);
            given.granularity = even.granularity = granularity;
            CHECK(simulate_collective(CollectiveKind::kAllToAll, Bytes(bytes), fabric, given, model) ==
                  simulate_collective(CollectiveKind::kAllToAll, Bytes(bytes), fabric, even, model));
          }
}

TEST_CASE(
    "an exchange of sizes of its own is named by the one algorithm that it takes, an even one by those of the "
    "dimensions") {
  const std::vector<DimensionSpec> dimensions = {dimension("ring", 4, kBandwidth, kLatency),
                                                 dimension("switch", 3, kBandwidth, kLatency)};
  const Fabric fabric = compose(dimensions);
  JobBuilder builder(12);
  std::vector<DeviceId> placement;
  for (std::uint32_t rank = 0; rank < 12; ++rank) {
    builder.collective(rank, CollectiveKind::kAllToAll, Bytes(kMegabyte), kWorld);
    builder.collective(rank, CollectiveKind::kAllToAll, Bytes(kMegabyte + rank), kWorld);
    placement.push_back(DeviceId(rank));
  }
  const workload::Job job = builder.build();
  const workload::Matching matching = workload::match(job);
  const CollectiveOptions options = always("direct", 2);
  const CollectivePlans plans(job, matching, fabric, placement, options);
  CHECK(plans.way(kWorld, 0).algorithm == "direct+direct");
  CHECK(plans.way(kWorld, 1).algorithm == "direct");
}

TEST_CASE("all-to-alls of sizes of their own fold") {
  const Fabric fabric = one_dimension("switch", 8, kBandwidth, kLatency);
  std::vector<std::uint64_t> popular, mirrored, any;
  for (std::uint64_t from = 0; from < 8; ++from)
    for (std::uint64_t to = 0; to < 8; ++to) {
      popular.push_back(8 - to);
      mirrored.push_back(1 + (to + 8 - from) % 8);  // all ranks alike
      any.push_back(from * to * 5 % 11);
    }
  for (const char* algorithm : {"direct", "pairwise"})
    for (const auto& weights : {popular, mirrored, any}) {
      JobBuilder job(8);
      for (std::uint32_t rank = 0; rank < 8; ++rank)
        job.collective(rank, CollectiveKind::kAllToAll, Bytes(1 << 20), kWorld,
                       {job.compute(rank, Duration(1'000'000))});
      SimulationOptions options;
      options.collectives = exchanging(algorithm, 8, weights);
      fold_and_compare(job.build(), fabric, options, NetworkModel::kFlow);
    }
}
