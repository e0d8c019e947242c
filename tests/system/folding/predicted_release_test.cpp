// SPDX-License-Identifier: MIT
// Whether a release is predicted or reported changes nothing but the number of events.
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "collectives/algorithms.h"
#include "network/flow/flow.h"
#include "network/models/alpha_beta.h"
#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::collectives;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::workload;
using namespace orrery::test;

namespace {

// A model, but every release is reported.
template <class Model>
class Reporting final : public Model {
 public:
  Reporting(Engine& engine, const Fabric& fabric) : Model(engine, fabric) {}
  Time start(const Message& message) override {
    Message reported = message;
    reported.may_predict = false;
    return Model::start(reported);
  }
};

// Everybody calls `kind` twice, after computing for some time of its own.
Job uneven_job(CollectiveKind kind, std::uint32_t ranks, std::mt19937& random) {
  JobBuilder builder(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const NodeId work = builder.compute(rank, Duration(1 + random() % 3 * 400'000));
    const NodeId first = builder.collective(rank, kind, Bytes(1'000'003), kWorld, {work});
    builder.collective(rank, kind, Bytes(70'001), kWorld, {first});
  }
  return builder.build();
}

void check_same(const Outcome& predicted, const Outcome& reported) {
  REQUIRE(predicted.totals.rank_finish == reported.totals.rank_finish);
  REQUIRE(predicted.totals.messages == reported.totals.messages);
  for (std::uint32_t rank = 0; rank < predicted.log.ranks(); ++rank) {
    const auto operations = predicted.log.of(RankId(rank));
    const auto expected = reported.log.of(RankId(rank));
    REQUIRE(operations.size() == expected.size());
    for (std::size_t i = 0; i < operations.size(); ++i) {
      REQUIRE(operations[i].node == expected[i].node);
      REQUIRE(operations[i].start == expected[i].start);
      REQUIRE(operations[i].moving == expected[i].moving);
      REQUIRE(operations[i].end == expected[i].end);
    }
  }
}

// Where sends wait for sends (direct1, direct2), where for receives (ring), and where for both; links faster and slower
// than their latencies are long.
const std::vector<std::string> kAlgorithms = {"ring",  "direct",   "direct1", "direct2",           "halving-doubling",
                                              "swing", "pairwise", "server",  "double-binary-tree"};
const std::vector<std::vector<DimensionSpec>> kFabrics = {
    {dimension("ring", 6, Bandwidth(25'000'000'001), Duration(3))},
    {dimension("switch", 8, Bandwidth(900'000'000'000), Duration(5'000'000))},
    {dimension("switch", 4, Bandwidth(300'000'000'000), Duration(700'000)),
     dimension("ring", 3, Bandwidth(7'000'000'000), Duration(2'000))},
    {dimension("fully-connected", 2, Bandwidth(10'000'000'000), Duration(0)),
     dimension("switch", 5, Bandwidth(1'000'000'000), Duration(900'000'000))}};

}  // namespace

TEMPLATE_TEST_CASE("whether releases are predicted or reported changes only the number of events", "", AlphaBetaNetwork,
                   FlowNetwork) {
  using Model = TestType;
  std::mt19937 random(5);
  std::uint64_t spared = 0;
  for (const std::string& algorithm : kAlgorithms) {
    for (const std::vector<DimensionSpec>& dimensions : kFabrics) {
      const Fabric fabric = compose(dimensions);
      const auto reporting = [&](Engine& engine) { return std::make_unique<Reporting<Model>>(engine, fabric); };
      for (const CollectiveKind kind : kAllCollectiveKinds) {
        if (!find_algorithm(algorithm)->supports(kind)) continue;
        SimulationOptions options;
        options.collectives = always(algorithm, dimensions.size());
        options.collectives.chunks = 3;
        options.collectives.active_chunks = 2;
        const Job job = uneven_job(kind, fabric.device_count(), random);
        INFO(algorithm << ", " << name_of(kind) << ", " << fabric.device_count() << " devices");
        const Outcome predicted =
            simulate(job, fabric, options, [&](Engine& engine) { return std::make_unique<Model>(engine, fabric); });
        const Outcome reported = simulate(job, fabric, options, reporting);
        check_same(predicted, reported);
        REQUIRE(predicted.totals.events <= reported.totals.events);
        spared += reported.totals.events - predicted.totals.events;
      }
    }
  }
  CHECK(spared > 0);
}
