// SPDX-License-Identifier: MIT
// Several jobs on one fabric, appended to one another: ranks of different jobs meet on links and nowhere else.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "report/operations/fold_check.h"
#include "tests/system/random_jobs.h"
#include "tests/system/small_jobs.h"
#include "tests/workload/graph/grid_job.h"

using namespace orrery;
using namespace orrery::experiment;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::workload;
using namespace orrery::test;

namespace {

Job append_all(const std::vector<Job>& jobs) {
  Job whole;
  for (std::size_t i = 0; i < jobs.size(); ++i) append(whole, jobs[i], std::string(1, static_cast<char>('a' + i)));
  return whole;
}

// Two or three jobs of two ranks or more, which may leave devices over.
std::vector<Job> random_jobs(std::mt19937_64& random, std::uint32_t devices) {
  std::vector<Job> jobs;
  const std::size_t most = 2 + random() % 2;
  while (devices >= 2 && jobs.size() < most) {
    const auto ranks = static_cast<std::uint32_t>(2 + random() % (devices - 1));
    jobs.push_back(random_job(random, std::min(ranks, jobs.empty() ? std::max(2U, devices / 2) : ranks)));
    devices -= static_cast<std::uint32_t>(jobs.back().ranks.size());
  }
  return jobs;
}

std::vector<DeviceId> random_placement(std::mt19937_64& random, std::size_t ranks, const Fabric& fabric) {
  Placement placement;
  placement.kind = static_cast<PlacementKind>(random() % 3);  // packed, strided, random
  placement.seed = random();
  return place_ranks(placement, static_cast<std::uint32_t>(ranks), fabric);
}

void check_same(const Job& job, const Outcome& one, const Outcome& other) {
  const auto difference = report::first_difference({one.log, one.totals.acting}, {other.log, other.totals.acting});
  if (difference) FAIL(to_text(*difference, job));
  CHECK(one.totals.rank_finish == other.totals.rank_finish);
  CHECK(one.totals.messages == other.totals.messages);
  CHECK(std::ranges::equal(one.usage, other.usage, [](const LinkUsage& a, const LinkUsage& b) {
    return a.bytes == b.bytes && a.busy == b.busy;
  }));
}

}  // namespace

TEST_CASE("400 random sets of jobs on one fabric fold and are forwarded without a difference") {
  std::mt19937_64 random(31);
  std::size_t ranks = 0, classes = 0, sets = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const RandomMachine machine = random_machine(random);
    INFO("trial " << trial << "\n" << machine.text);
    Experiment experiment = read_machine_text(machine.text);
    slow_a_link(random, experiment.fabric);
    const std::vector<Job> jobs = random_jobs(random, machine.ranks);
    if (jobs.size() < 2) continue;
    ++sets;
    const Job whole = append_all(jobs);
    const std::vector<DeviceId> placement = random_placement(random, whole.ranks.size(), experiment.fabric);
    SimulationOptions options = experiment.simulation;
    if (random() % 3 == 0)
      options.perturbation = random_perturbation(random, static_cast<std::uint32_t>(whole.ranks.size()));
    const auto run = [&] { return simulate(whole, experiment.fabric, options, network_of(experiment), placement); };
    const Outcome folded = run();
    options.fast_forward = false;
    check_same(whole, folded, run());
    options.fold = FoldMode::kOff;
    check_same(whole, folded, run());
    ranks += whole.ranks.size();
    classes += folded.totals.rank_classes;
  }
  CHECK(sets > 300);
  CHECK(classes < ranks);
}

// Where messages do not share links, jobs do not meet: each is done when it would be alone.
TEST_CASE("jobs that share no link are done when each is alone, with noise and late ranks") {
  std::mt19937_64 random(37);
  for (int trial = 0; trial < 200; ++trial) {
    INFO("trial " << trial);
    std::vector<Job> jobs;
    for (std::size_t i = 0; i < 2 + random() % 2; ++i)
      jobs.push_back(trial % 2 == 0 ? random_job(random, 2 + static_cast<std::uint32_t>(random() % 7))
                                    : testing::random_grid_job(random));
    const Job whole = append_all(jobs);
    const Fabric fabric = one_dimension("switch", static_cast<std::uint32_t>(whole.ranks.size()),
                                        Bandwidth(25'000'000'000), Duration(700'000));
    const std::vector<DeviceId> placement = random_placement(random, whole.ranks.size(), fabric);
    const auto network = [&](Engine& engine) { return make_network(NetworkModel::kAlphaBeta, engine, fabric); };
    SimulationOptions options;
    options.fold = FoldMode::kAuto;
    options.perturbation = random_perturbation(random, static_cast<std::uint32_t>(whole.ranks.size()));
    std::vector<Time> expected;
    try {
      for (const Job& job : jobs) {
        SimulationOptions own = options;
        const auto first = static_cast<std::uint32_t>(expected.size());
        own.perturbation = part_of(options.perturbation, first, job.ranks.size());
        const auto device = placement.begin() + first;
        const Outcome alone =
            simulate(job, fabric, own, network, {device, device + static_cast<std::ptrdiff_t>(job.ranks.size())});
        std::ranges::copy(alone.totals.rank_finish, std::back_inserter(expected));
      }
    } catch (const StuckError&) {  // some jobs are; then all of them together are, too
      CHECK_THROWS_AS(simulate(whole, fabric, options, network, placement), StuckError);
      continue;
    }
    CHECK(simulate(whole, fabric, options, network, placement).totals.rank_finish == expected);
  }
}

TEST_CASE("groups of several jobs have names of their own, roots and peers their ranks") {
  JobBuilder one(2), other(3);
  one.send(0, 1, Bytes(1));
  one.receive(1, 0, Bytes(1));
  const GroupId pair = other.group("pair", {0, 2});
  for (const std::uint32_t rank : {0U, 2U}) other.collective(rank, CollectiveKind::kBroadcast, Bytes(1), pair);
  Job rooted = other.build();
  for (const std::uint32_t rank : {0U, 2U}) rooted.ranks[rank].own_details().roots = {2};
  const Job whole = append_all({one.build(), rooted});
  REQUIRE(whole.ranks.size() == 5);
  CHECK(whole.communicators[0].name == "a.world");
  CHECK(whole.communicators[1].name == "b.world");
  CHECK(whole.communicators[1].members == std::vector{RankId(2), RankId(3), RankId(4)});
  CHECK(whole.communicators[2].name == "b.pair");
  CHECK(whole.communicators[2].members == std::vector{RankId(2), RankId(4)});
  CHECK(whole.peer(RankId(0), NodeId(0)) == RankId(1));
  CHECK(whole.communicator(RankId(4), NodeId(0)) == GroupId(2));
  CHECK(whole.root(RankId(2), NodeId(0)) == 1);
  CHECK(whole.peer_family(RankId(1), NodeId(0)) == "p2p");
}
