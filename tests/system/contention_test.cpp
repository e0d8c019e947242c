// SPDX-License-Identifier: MIT
// Calls take multiprocessors and memory bandwidth from what is computed beside them.
#include <array>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "core/error.h"
#include "report/breakdown.h"
#include "system/execution/contention.h"
#include "tests/system/folding/folded.h"
#include "tests/system/plans/fake_library.h"
#include "tests/system/random_jobs.h"
#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::workload;
using namespace orrery::test;
using collectives::DeviceShare;
using std::chrono::microseconds;

namespace {

constexpr std::uint32_t kProducts = kWholeShare, kElementWise = 0;

// Every call takes 50 us and 20 multiprocessors, and moves 250 of the device's 1000 GB/s.
class SteadyLibrary final : public GroupLibrary {
 public:
  collectives::Aggregate transfer(CollectiveKind, Bytes, std::uint32_t, const GroupLayout&) const override {
    return {collectives::NodePattern::kRing, Bytes(0), Bytes(0), microseconds(50), {}, {20, 250'000'000'000}};
  }
  PointToPoint point_to_point(Bytes bytes, bool, Duration) const override {
    return {microseconds(50), bytes, false, 20};
  }
};

const SteadyLibrary kLibrary;

Fabric joined(std::uint32_t ranks) {
  return one_dimension("switch", ranks, Bandwidth(100'000'000'000), Duration::zero());
}

SimulationOptions with_library(bool contention = true) {
  SimulationOptions options;
  options.collectives.library = &kLibrary;
  options.collectives.granularity = Granularity::kPhase;
  options.collectives.contention = contention;
  return options;
}

// Computes 100 us on each of two ranks, beside an all-gather that begins `later`.
Job one_beside_one(std::uint32_t processor_bound, Duration later = {}) {
  JobBuilder builder(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.launched(rank, microseconds(100), {}, {}, processor_bound);
    std::vector<NodeId> before;
    if (later > Duration::zero()) before.push_back(builder.host(rank, later));
    builder.collective(rank, CollectiveKind::kAllGather, Bytes(1), kWorld, before);
  }
  return builder.build();
}

Duration end_of_computing(const Job& job, const SimulationOptions& options = with_library()) {
  return simulate(job, joined(2), options).end(0, NodeId(0)).time_since_epoch();
}

}  // namespace

TEST_CASE("a kernel beside a call has the multiprocessors and the bandwidth that the call leaves") {
  const DeviceCapacity device{100, 1'000'000'000'000};
  CHECK(speed_beside({}, device, kProducts) == kWholeShare);
  CHECK(speed_beside({20, 0}, device, kProducts) == kWholeShare * 80 / 100);
  CHECK(speed_beside({20, 0}, device, kElementWise) == kWholeShare);
  CHECK(speed_beside({0, 250'000'000'000}, device, kElementWise) == kWholeShare * 3 / 4);
  CHECK(speed_beside({0, 250'000'000'000}, device, kProducts) == kWholeShare);
  // Half of its time by each: 1 / 0.8 and 1 / 0.75 of it.
  CHECK(speed_beside({20, 250'000'000'000}, device, kWholeShare / 2) == 50737);
  // Calls never take more than half.
  CHECK(speed_beside({90, 0}, device, kProducts) == kWholeShare / 2);
  // What is not known slows nothing.
  CHECK(speed_beside({20, 250'000'000'000}, {}, kProducts) == kWholeShare);
}

TEST_CASE("a product beside one all-gather takes longer by what it had not done when that ended") {
  // 50 us at 52428 / 65536, the rest at full speed.
  CHECK(end_of_computing(one_beside_one(kProducts)) == Duration(110'000'611));
  CHECK(end_of_computing(one_beside_one(kElementWise)) == Duration(112'500'000));
  // It has done 70 us of work when the call begins, and the rest is done before that ends: 30 us at that speed.
  CHECK(end_of_computing(one_beside_one(kProducts, microseconds(70))) == Duration(107'500'573));
  CHECK(end_of_computing(one_beside_one(kProducts, microseconds(200))) == microseconds(100));
  CHECK(end_of_computing(one_beside_one(kProducts), with_library(false)) == microseconds(100));
}

TEST_CASE("what calls take from computing is a part of the breakdown") {
  const Job job = one_beside_one(kProducts);
  const Outcome outcome = simulate(job, joined(2), with_library());
  CHECK(outcome.record(0, NodeId(0)).slowed == Duration(10'000'611));
  const report::Breakdown parts =
      report::TimeAccount(job).of(RankId(0), outcome.log.of(RankId(0)), outcome.totals.finish);
  CHECK(parts.compute == Duration(110'000'611));
  CHECK(parts.slowed == Duration(10'000'611));
}

TEST_CASE("a call holds its multiprocessors while it waits for its peers, and moves nothing") {
  const auto ended_beside_waiting = [](std::uint32_t processor_bound) {
    JobBuilder builder(2);
    builder.launched(0, microseconds(100), {}, {}, processor_bound);
    builder.collective(0, CollectiveKind::kAllGather, Bytes(1), kWorld);
    builder.collective(1, CollectiveKind::kAllGather, Bytes(1), kWorld, {builder.host(1, microseconds(1000))});
    return simulate(builder.build(), joined(2), with_library()).end(0, NodeId(0)).time_since_epoch();
  };
  CHECK(ended_beside_waiting(kProducts) == Duration(125'001'908));
  CHECK(ended_beside_waiting(kElementWise) == microseconds(100));
}

TEST_CASE("a kernel that its host holds up has time to be slow in") {
  JobBuilder builder(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const NodeId first = builder.launched(rank, microseconds(1), {microseconds(200), microseconds(201)}, {}, kProducts);
    builder.launched(rank, microseconds(100), {microseconds(200), microseconds(201)}, {first}, kProducts);
    builder.collective(rank, CollectiveKind::kAllGather, Bytes(1), kWorld, {first});
  }
  const Outcome outcome = simulate(builder.build(), joined(2), with_library());
  // Launched 200 us behind the first, it ends no earlier than a microsecond later, with its slowing inside.
  CHECK(outcome.end(0, NodeId(1)) == at(microseconds(201)));
  CHECK(outcome.record(0, NodeId(1)).slowed == Duration(10'000'611));
}

TEST_CASE("computing and calls beside one another take no longer than one after the other") {
  for (const std::uint32_t bound : {kElementWise, kWholeShare / 2, kProducts})
    for (int calls = 1; calls < 6; ++calls) {
      JobBuilder builder(2);
      for (std::uint32_t rank = 0; rank < 2; ++rank) {
        NodeId before = builder.free(rank);
        for (int i = 0; i < calls; ++i)
          before = builder.collective(rank, CollectiveKind::kAllReduce, Bytes(1), kWorld, {before});
        builder.launched(rank, microseconds(100), {}, {}, bound);
      }
      const Duration together = simulate(builder.build(), joined(2), with_library()).totals.finish.time_since_epoch();
      CHECK(together <= microseconds(100 + 50 * calls));
      CHECK(together >= std::max(microseconds(100), microseconds(50 * calls)));
    }
}

TEST_CASE("600 random jobs with contended devices fold without a difference") {
  std::mt19937_64 random(29), random_nic(29);
  const FakeLibrary eager, middle(Bytes(100'000)), none(Bytes(0));
  const std::array<const FakeLibrary*, 3> libraries = {&eager, &middle, &none};
  std::uint64_t ranks = 0, classes = 0;
  Duration slowed{};
  for (std::size_t trial = 0; trial < 600; ++trial) {
    const RandomMachine machine = random_machine(random);
    INFO("trial " << trial << "\n" << machine.text);
    experiment::Experiment experiment = read_machine_text(machine.text);
    slow_a_link(random, experiment.fabric);
    kill_a_nic(random_nic, experiment.fabric);
    const Job job = random_job(random, machine.ranks, trial % 2 == 0, true);
    SimulationOptions options = experiment.simulation;
    options.collectives.library = libraries[trial % 3];
    options.collectives.granularity = Granularity::kPhase;
    try {
      const Outcome folded = fold_and_compare(job, experiment.fabric, options, network_of(experiment));
      ranks += machine.ranks;
      classes += folded.totals.rank_classes;
      report::TimeAccount account(job);
      for (std::uint32_t rank = 0; rank < machine.ranks; ++rank)
        slowed += account.of(RankId(rank), folded.log.of(folded.totals.acting[rank]), folded.totals.finish).slowed;
    } catch (const StuckError&) {  // sends that wait for their receives
    }
  }
  CHECK(classes * 10 < ranks * 9);
  CHECK(slowed > Duration::zero());
}
