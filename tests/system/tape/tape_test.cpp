// SPDX-License-Identifier: MIT
// Ranks that run ahead of the clock, along their programs, do what they do event by event.
#include <array>
#include <catch2/catch.hpp>
#include <random>

#include "core/error.h"
#include "experiment/experiment.h"
#include "report/operations/fold_check.h"
#include "tests/system/plans/fake_library.h"
#include "tests/system/random_jobs.h"
#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::workload;
using namespace orrery::test;
using std::chrono::microseconds;

namespace {

// Every call takes 50 us and 20 of 100 multiprocessors; a message begins 10 us after both its ends are there.
class SteadyLibrary final : public GroupLibrary {
 public:
  collectives::Aggregate transfer(CollectiveKind, Bytes, std::uint32_t, const GroupLayout&) const override {
    return {collectives::NodePattern::kRing, Bytes(0), Bytes(0), microseconds(50), {}, {20, 0}};
  }
  PointToPoint point_to_point(Bytes bytes, bool, Duration) const override {
    return {microseconds(10), bytes, true, 20};
  }
};

const SteadyLibrary kLibrary;

SimulationOptions with_library(const GroupLibrary& library) {
  SimulationOptions options;
  options.collectives.library = &library;
  options.collectives.granularity = Granularity::kPhase;
  return options;
}

// 1 MB takes 1 ms, and no time to get there.
Fabric joined(std::uint32_t ranks) {
  return one_dimension("switch", ranks, Bandwidth(1'000'000'000), Duration::zero());
}

// Runs ahead and event by event, folded or not, which must agree; returns what the first gave. `network` by name.
template <class Network>
Outcome compare(const Job& job, const Fabric& fabric, SimulationOptions options, const Network& network) {
  options.fast_forward = true;
  Outcome ahead = simulate(job, fabric, options, network);
  options.fast_forward = false;
  const Outcome engine = simulate(job, fabric, options, network);
  CHECK(!engine.totals.why_by_events.empty());
  const auto difference =
      report::first_difference({ahead.log, ahead.totals.acting}, {engine.log, engine.totals.acting});
  if (difference) FAIL(to_text(*difference, job));
  CHECK(ahead.totals.finish == engine.totals.finish);
  CHECK(ahead.totals.rank_finish == engine.totals.rank_finish);
  CHECK(ahead.totals.messages == engine.totals.messages);
  CHECK(ahead.totals.acting == engine.totals.acting);
  CHECK(ahead.totals.rank_classes == engine.totals.rank_classes);
  CHECK(ahead.totals.link_classes == engine.totals.link_classes);
  for (std::size_t link = 0; link < ahead.usage.size(); ++link) {
    INFO("link " << link);
    CHECK(ahead.usage[link].bytes == engine.usage[link].bytes);
    CHECK(ahead.usage[link].busy == engine.usage[link].busy);
  }
  return ahead;
}

Outcome run(const Job& job) {
  return compare(job, joined(static_cast<std::uint32_t>(job.ranks.size())), with_library(kLibrary),
                 NetworkModel::kFlow);
}

}  // namespace

TEST_CASE("ranks that compute and call run ahead of the clock") {
  JobBuilder builder(2);
  std::array<NodeId, 2> last{};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const NodeId first = builder.compute(rank, microseconds(rank == 0 ? 10 : 30));
    const NodeId call = builder.collective(rank, CollectiveKind::kAllGather, Bytes(1), kWorld, {first});
    last[rank] = builder.compute(rank, microseconds(5), {call});
  }
  const Outcome outcome = run(builder.build());
  CHECK(outcome.totals.why_by_events.empty());
  // The call goes from 30 us, when the second has come, for 50 us; then they compute for 5 us.
  CHECK(outcome.end(0, last[0]) == at(microseconds(85)));
  CHECK(outcome.end(1, last[1]) == at(microseconds(85)));
  CHECK(outcome.totals.messages == 1);
}

TEST_CASE("what is computed beside a send that waits for its receive is slowed ahead of the clock") {
  JobBuilder builder(2);
  const NodeId first = builder.launched(0, microseconds(10), {}, {}, kWholeShare);
  const NodeId send = builder.send(0, 1, Bytes(1'000'000), {first});
  const NodeId beside = builder.launched(0, microseconds(2000), {}, {first}, kWholeShare);
  const NodeId busy = builder.compute(1, microseconds(500));
  const NodeId receive = builder.receive(1, 0, Bytes(1'000'000), {busy});
  const Outcome outcome = run(builder.build());
  CHECK(outcome.totals.why_by_events.empty());
  // The message goes 10 us after its receive is posted at 500 us, for 1 ms. Until then, for 1500 us from 10 us on, 80
  // of 100 multiprocessors are left: a speed of 0.8, rounded down to 52428 / 65536.
  CHECK(outcome.end(0, send) == at(microseconds(1510)));
  CHECK(outcome.end(1, receive) == at(microseconds(1510)));
  CHECK(outcome.record(1, receive).moving == at(microseconds(500)));
  // (2000e6 * 65536 - 1500e6 * 52428) / 65536 = 800,018,310.5 ps are left then.
  CHECK(outcome.end(0, beside) == at(microseconds(1510)) + Duration(800'018'311));
}

TEST_CASE("what has no order of its own goes event by event") {
  JobBuilder builder(2);
  builder.send(0, 1, Bytes(1'000'000));
  const NodeId received = builder.receive(1, 0, Bytes(1'000'000));
  const NodeId behind = builder.compute(1, microseconds(100), {received});
  const NodeId at_once = builder.compute(1, microseconds(100));
  const Outcome outcome = run(builder.build());
  CHECK(!outcome.totals.why_by_events.empty());
  // Whichever is ready first runs first, not the one with the smaller number.
  CHECK(outcome.start(1, at_once) == Time{});
  CHECK(outcome.start(1, behind) == at(microseconds(1010)));
}

TEST_CASE("messages that meet on a link go by the network, and those that follow one another do not") {
  JobBuilder builder(3);
  const NodeId first = builder.send(0, 1, Bytes(1'000'000));
  const NodeId second = builder.send(0, 2, Bytes(1'000'000));
  builder.receive(1, 0, Bytes(1'000'000));
  builder.receive(2, 0, Bytes(1'000'000));
  const NodeId alone = builder.send(1, 2, Bytes(1'000'000), {builder.compute(1, microseconds(2010))});
  builder.receive(2, 1, Bytes(1'000'000));
  const Outcome outcome = run(builder.build());
  CHECK(outcome.totals.why_by_events.empty());
  // Both begin at 10 us and share the link of rank 0; the third begins at 2020 us, when they are through.
  CHECK(outcome.end(0, first) == at(microseconds(2010)));
  CHECK(outcome.end(0, second) == at(microseconds(2010)));
  CHECK(outcome.end(1, alone) == at(microseconds(3020)));
}

TEST_CASE("a message alone on its links takes no event") {
  JobBuilder builder(2);
  const NodeId sent = builder.send(0, 1, Bytes(1'000'000), {builder.compute(0, microseconds(100))});
  const NodeId received = builder.receive(1, 0, Bytes(1'000'000));
  const Outcome outcome = run(builder.build());
  CHECK(outcome.totals.why_by_events.empty());
  CHECK(outcome.end(0, sent) == at(microseconds(1110)));
  CHECK(outcome.end(1, received) == at(microseconds(1110)));
  CHECK(outcome.totals.events == 1);  // that opens the first instant
}

TEST_CASE("a computation waits for its host ahead of the clock") {
  JobBuilder builder(1);
  const NodeId synchronising = builder.launched(0, microseconds(10), {microseconds(2), microseconds(12), true});
  const NodeId late =
      builder.launched(0, microseconds(1), {microseconds(20), microseconds(25), false}, {synchronising});
  const Outcome outcome = run(builder.build());
  CHECK(outcome.totals.why_by_events.empty());
  // The host goes on at the end of the first and is at the end of the second 25 us later, which by itself ends 24 us
  // sooner.
  CHECK(outcome.end(0, late) == outcome.end(0, synchronising) + microseconds(25));
}

TEST_CASE("2,000 random jobs run ahead of the clock without a difference") {
  std::mt19937_64 random(29);
  const FakeLibrary eager, middle(Bytes(100'000)), none(Bytes(0));
  const std::array<const FakeLibrary*, 3> libraries = {&eager, &middle, &none};
  int ahead = 0, stuck = 0;
  std::map<std::string, int> why;
  for (int trial = 0; trial < 2000; ++trial) {
    const RandomMachine machine = random_machine(random);
    INFO("trial " << trial << "\n" << machine.text);
    experiment::Experiment experiment = read_machine_text(machine.text);
    slow_a_link(random, experiment.fabric);
    kill_a_nic(random, experiment.fabric);
    const Job job = random_job(random, machine.ranks, trial % 2 == 0, trial % 3 != 0);
    SimulationOptions options = experiment.simulation;
    options.collectives.library = libraries[static_cast<std::size_t>(trial) % 3];
    options.collectives.granularity = Granularity::kPhase;
    options.fold = trial % 4 == 0 ? FoldMode::kOff : FoldMode::kAuto;
    if (trial % 2 == 1) options.perturbation = random_perturbation(random, machine.ranks);
    try {
      const Outcome outcome = compare(job, experiment.fabric, options, [&](Engine& engine) {
        return make_network(experiment.network, engine, experiment.fabric);
      });
      ahead += outcome.totals.why_by_events.empty() ? 1 : 0;
      ++why[std::string(outcome.totals.why_by_events)];
    } catch (const StuckError&) {  // sends that wait for their receives
      ++stuck;
    }
  }
  std::string counts;
  for (const auto& [reason, count] : why) counts += std::to_string(count) + " " + reason + "\n";
  INFO(counts << ahead << " ran ahead, " << stuck << " were stuck");
  CHECK(ahead > 500);
}
