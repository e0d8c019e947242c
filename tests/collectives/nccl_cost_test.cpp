// SPDX-License-Identifier: MIT
// What NCCL's algorithms send within nodes and between them, and the steps that they wait for.
#include "collectives/nccl/cost.h"

#include <catch2/catch.hpp>
#include <limits>

#include "collectives/nccl/constants_config.h"
#include "collectives/nccl/model.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::collectives;

namespace {

const NcclConstants& shipped_costs() {
  static const NcclConstants constants = shipped_nccl_constants(kFiles).constants;
  return constants;
}

// Four nodes of eight, or of one.
GroupShape on_four_nodes(std::uint32_t gpus) {
  GroupShape shape;
  shape.ranks = 4 * gpus;
  shape.nodes = 4;
  shape.fullest = gpus;
  shape.within_latency = Duration(700'000);
  shape.between_latency = Duration(2'000'000);
  return shape;
}

NcclCost cost_on(const GroupShape& shape, CollectiveKind kind, std::int64_t bytes, NcclAlgorithm algorithm) {
  return nccl_cost({algorithm, NcclProtocol::kSimple}, {kind, Bytes(bytes), &shape, {}}, {}, shipped_costs());
}

}  // namespace

TEST_CASE("NVLS sends a rank's part of a sum to the network whole, and of an exchange what other nodes lack") {
  const GroupShape shape = on_four_nodes(8);
  const std::int64_t amount = 32'000;
  const auto between = [&](CollectiveKind kind, std::int64_t bytes) {
    return cost_on(shape, kind, bytes, NcclAlgorithm::kNvls).volume.between;
  };
  CHECK(between(CollectiveKind::kAllReduce, amount) == Approx(4000));
  CHECK(between(CollectiveKind::kReduceScatter, amount) == Approx(3000));
  CHECK(between(CollectiveKind::kAllGather, amount / 32) == Approx(3000));
}

TEST_CASE("a chain of CollNet waits for all hops of a node up and down, a direct one for one and the other GPUs") {
  const NcclConstants& constants = shipped_costs();
  for (const std::uint32_t gpus : {1U, 8U}) {
    const GroupShape shape = on_four_nodes(gpus);
    const auto inside = [&](NcclAlgorithm algorithm) {  // latency within a node, each way
      const NcclCost cost = cost_on(shape, CollectiveKind::kAllReduce, 1000, algorithm);
      const double network = constants.network_hop(algorithm, NcclProtocol::kSimple, {}) + 2e-6;
      return (cost.latency - constants.base(algorithm, NcclProtocol::kSimple, {}) - network) / 2;
    };
    const auto hop = [&](NcclAlgorithm algorithm) {
      return constants.hop_factor({}) * (constants.hop(algorithm, NcclProtocol::kSimple, {}) + 0.7e-6);
    };
    const double wait = constants.collnet_direct_wait();
    CHECK(inside(NcclAlgorithm::kCollNetChain) == Approx((gpus - 1) * hop(NcclAlgorithm::kCollNetChain)).margin(1e-12));
    CHECK(inside(NcclAlgorithm::kCollNetDirect) ==
          Approx(gpus == 1 ? 0 : hop(NcclAlgorithm::kCollNetDirect) + 7 * wait).margin(1e-12));
  }
}

TEST_CASE("what a protocol adds to the data goes over the network, too") {
  const NcclConstants& constants = shipped_costs();
  const GroupShape shape = on_four_nodes(1);
  const NcclCall call{CollectiveKind::kReduceScatter, Bytes(4'000'000), &shape, {}};
  int seen = 0;
  for (const NcclTiming& timing : nccl_timings(call, {}, constants)) {
    if (timing.algorithm != NcclAlgorithm::kRing) continue;
    ++seen;
    const double data = 3'000'000 / constants.network_efficiency();  // three of four parts
    CHECK(static_cast<double>(timing.transfer.between.count()) ==
          Approx(data / constants.protocol_efficiency(timing.protocol)));
  }
  CHECK(seen >= 2);  // LL and Simple
}

TEST_CASE("what is made of sends is offered by no algorithm") {
  const GroupShape shape = on_four_nodes(8);
  for (const CollectiveKind kind : {CollectiveKind::kAllToAll, CollectiveKind::kGather, CollectiveKind::kScatter})
    for (const NcclAlgorithm algorithm : kAllNcclAlgorithms)
      CHECK_FALSE(nccl_offers({kind, Bytes(1000), &shape, {}}, {}, algorithm, NcclProtocol::kSimple));
  CHECK(nccl_offers({CollectiveKind::kBroadcast, Bytes(1000), &shape, {}}, {}, NcclAlgorithm::kRing,
                    NcclProtocol::kSimple));
}

TEST_CASE("times count up to nine million seconds, at which they are cut off") {
  CHECK(is_countable(0));
  CHECK(is_countable(8.999e6));
  CHECK_FALSE(is_countable(9e6));
  CHECK_FALSE(is_countable(std::numeric_limits<double>::infinity()));
}
