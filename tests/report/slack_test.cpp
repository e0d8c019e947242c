// SPDX-License-Identifier: MIT
#include <map>
#include <random>
#include <set>

#include <catch2/catch.hpp>

#include "core/error.h"
#include "report/path/slack.h"
#include "tests/system/free_network.h"
#include "tests/system/random_jobs.h"
#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::report;
using namespace orrery::test;
using std::chrono::microseconds;

namespace {

constexpr std::uint32_t kRanks = 4;

// Each rank computes one thing after the other; between, it calls collectives of pairs and of all, and sends to the
// next rank, which some later computation waits for. So the order on streams is given, and links are never shared.
struct RandomProgram {
  std::map<std::uint32_t, Duration> more;  // that computations take, by their place among all, or less
  std::uint64_t seed = 0;

  struct Computation {
    std::uint32_t place = 0;
    Duration time;
  };
  using Computations = std::map<std::pair<std::uint32_t, std::uint32_t>, Computation>;  // by rank and node

  workload::Job build(Computations& used) const {
    std::mt19937_64 random(seed);
    std::uint32_t places = 0;
    JobBuilder builder(kRanks);
    const std::vector<GroupId> pairs = {builder.group("left", {0, 1}), builder.group("right", {2, 3})};
    std::vector<std::vector<NodeId>> last(kRanks);
    const auto compute = [&](std::uint32_t rank) {
      const Duration drawn = microseconds(1 + random() % 50);
      const auto changed = more.find(places);
      const Duration by = changed == more.end() ? Duration::zero() : changed->second;
      const NodeId node = builder.compute(rank, drawn + by, last[rank]);
      used[{rank, index_of(node)}] = {places++, drawn};
      last[rank] = {node};
    };
    for (int step = 0; step < 12; ++step) {
      for (std::uint32_t rank = 0; rank < kRanks; ++rank)
        for (std::uint64_t count = random() % 3; count > 0; --count) compute(rank);
      switch (random() % 3) {
        case 0:
          for (std::uint32_t rank = 0; rank < kRanks; ++rank)
            last[rank] = {builder.collective(rank, CollectiveKind::kAllReduce, Bytes(1000), kWorld, last[rank])};
          break;
        case 1:
          for (std::uint32_t rank = 0; rank < kRanks; ++rank)
            last[rank] = {
                builder.collective(rank, CollectiveKind::kAllGather, Bytes(1000), pairs[rank / 2], last[rank])};
          break;
        default: {
          const auto from = static_cast<std::uint32_t>(random() % kRanks), to = (from + 1) % kRanks;
          builder.send(from, to, Bytes(1000), last[from]);
          last[to].push_back(builder.receive(to, from, Bytes(1000)));
        }
      }
    }
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) compute(rank);
    return builder.build();
  }
};

Outcome run(const workload::Job& job, const network::Fabric& fabric, const system::Perturbation& perturbation = {}) {
  system::SimulationOptions options;
  options.fold = system::FoldMode::kOff;
  options.perturbation = perturbation;
  return simulate(job, fabric, options, [&](Engine& engine) { return std::make_unique<FreeNetwork>(engine, fabric); });
}

Slack slack_of(const workload::Job& job, const Outcome& outcome) {
  return find_slack(job, workload::match(job), outcome.log, outcome.totals.acting, outcome.totals.finish);
}

}  // namespace

// Every computation of every job by all of its slack, and by a microsecond more, which is what the job takes more: one
// without slack is on a critical path, so that all it takes more is late at the end. Of what has slack nothing is
// gained by taking less.
TEST_CASE("an operation that is slower by its slack changes nothing, by more it does, and a faster one does not help") {
  const network::Fabric fabric = one_dimension("switch", kRanks, Bandwidth(1'000'000'000), Duration(0));
  std::size_t with_slack = 0, without = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    RandomProgram program{{}, seed};
    RandomProgram::Computations used;
    const workload::Job job = program.build(used);
    const Outcome before = run(job, fabric);
    for (const OperationSlack& one : slack_of(job, before).operations) {
      const auto computation = used.find({index_of(one.rank), index_of(one.node)});
      if (computation == used.end()) continue;
      const auto [place, time] = computation->second;
      const auto later_by = [&, place = place](Duration more) {
        RandomProgram::Computations ignored;
        program.more = {{place, more}};
        return run(program.build(ignored), fabric).totals.finish - before.totals.finish;
      };
      ++(one.slack > Duration::zero() ? with_slack : without);
      CHECK(later_by(one.slack) == Duration::zero());
      CHECK(later_by(one.slack + microseconds(1)) == microseconds(1));
      if (one.slack > Duration::zero()) CHECK(later_by(-std::min(one.slack, time - Duration(1))) == Duration::zero());
    }
  }
  CHECK(with_slack > 1000);
  CHECK(without > 1000);
}

// Factors are rounded down to a millionth, and times to a picosecond: some hundred operations to half a one each.
TEST_CASE("a rank that is slower by its share changes nothing, and by a thousandth more it does") {
  const network::Fabric fabric = one_dimension("switch", kRanks, Bandwidth(1'000'000'000), Duration(0));
  std::size_t with_slack = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    RandomProgram::Computations used;
    const workload::Job job = RandomProgram{{}, seed}.build(used);
    const Outcome before = run(job, fabric);
    for (const RankSlack& one : slack_of(job, before).ranks) {
      with_slack += one.slower > 0 ? 1 : 0;
      const auto with = [&](double share) {
        system::Perturbation perturbation;
        perturbation.ranks[one.rank].compute = system::TimeFactor(static_cast<std::int64_t>(1e6 * (1 + share)));
        return run(job, fabric, perturbation).totals.finish;
      };
      CHECK(with(one.slower) - before.totals.finish <= Duration(100));
      CHECK(with(one.slower + 0.001) > before.totals.finish);
    }
  }
  CHECK(with_slack > 100);
}

// Rank 0 computes 100 us before an all-reduce, rank 1 60 us: 40 us more, two thirds of its time.
TEST_CASE("a rank that waits may be slower by what it waits") {
  const network::Fabric fabric = one_dimension("switch", 2, Bandwidth(1'000'000'000), Duration(0));
  JobBuilder builder(2);
  for (const std::uint32_t rank : {0U, 1U}) {
    const NodeId first = builder.compute(rank, microseconds(20));
    const NodeId second = builder.compute(rank, microseconds(rank == 0 ? 80 : 40), {first});
    const NodeId sum = builder.collective(rank, CollectiveKind::kAllReduce, Bytes(8), kWorld, {second});
    builder.free(rank, {sum});
  }
  const workload::Job job = builder.build();
  const Slack slack = slack_of(job, run(job, fabric));
  REQUIRE(slack.ranks.size() == 2);
  CHECK(slack.ranks[0].slower == Approx(0));
  CHECK(slack.ranks[1].slower == Approx(2.0 / 3));
}

// After the all-reduce both compute 10 us more: rank 1 is late before it, by up to 40 us, or takes a part of itself
// longer behind it, of which there is none to spare.
TEST_CASE("a rank without slack at the end has none") {
  const network::Fabric fabric = one_dimension("switch", 2, Bandwidth(1'000'000'000), Duration(0));
  for (const int last : {10, 8}) {
    JobBuilder builder(2);
    for (const std::uint32_t rank : {0U, 1U}) {
      const NodeId first = builder.compute(rank, microseconds(rank == 0 ? 100 : 60));
      const NodeId sum = builder.collective(rank, CollectiveKind::kAllReduce, Bytes(8), kWorld, {first});
      builder.compute(rank, microseconds(rank == 0 ? 10 : last), {sum});
    }
    const workload::Job job = builder.build();
    // 8 us may take 10: a quarter more, while 60 us may take two thirds more.
    CHECK(slack_of(job, run(job, fabric)).ranks[1].slower == Approx(last == 10 ? 0 : 0.25));
  }
}

// What computes beside a message that takes longer may take as long as that.
TEST_CASE("a sender has the slack of the computation that waits for the message") {
  const network::Fabric fabric = one_dimension("switch", 2, Bandwidth(1'000'000'000), Duration(0));
  JobBuilder builder(2);
  const NodeId before = builder.compute(0, microseconds(10));
  builder.send(0, 1, Bytes(1000), {before});
  const NodeId own = builder.compute(1, microseconds(70));
  const NodeId got = builder.receive(1, 0, Bytes(1000));
  builder.compute(1, microseconds(5), {own, got});
  const workload::Job job = builder.build();
  const Outcome outcome = run(job, fabric);
  std::map<std::uint32_t, Duration> of_rank;
  const Slack slack = slack_of(job, outcome);
  for (const OperationSlack& one : slack.operations)
    if (one.time == microseconds(10) || one.time == microseconds(70)) of_rank[index_of(one.rank)] = one.slack;
  CHECK(of_rank[0] == microseconds(60));
  CHECK(of_rank[1] == Duration::zero());
}

// Rank 1 is through with the reduction when it has sent its part, long before the root comes.
TEST_CASE("a member that is through before others come does not hold them to its own time") {
  const network::Fabric fabric = one_dimension("switch", 2, Bandwidth(1'000'000'000), microseconds(1));
  JobBuilder builder(2);
  for (const std::uint32_t rank : {0U, 1U}) {
    const NodeId first = builder.compute(rank, microseconds(rank == 0 ? 500 : 10));
    const NodeId sum = builder.collective(rank, CollectiveKind::kReduce, Bytes(1000), kWorld, {first});
    builder.compute(rank, microseconds(rank == 0 ? 20 : 480), {sum});
  }
  const workload::Job job = builder.build();
  const Outcome outcome = simulate(job, fabric, {});
  REQUIRE((outcome.end(1, NodeId(1)) < outcome.start(0, NodeId(1))));
  std::vector<std::size_t> told(2);
  for (const OperationSlack& one : slack_of(job, outcome).operations) {
    ++told[index_of(one.rank)];
    if (one.rank == RankId(0)) CHECK(one.slack == Duration::zero());
    if (one.rank == RankId(1)) CHECK(one.slack > microseconds(20));
  }
  CHECK(told[0] >= 2);
  CHECK(told[1] == 3);
}

// Rooted collectives, messages and hosts, folded and not, on networks that take time and on one that takes none.
TEST_CASE("no operation of 1,000 random jobs has less than no slack, and something has none") {
  std::mt19937_64 random(44);
  int told = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    const RandomMachine machine = random_machine(random);
    INFO("trial " << trial << "\n" << machine.text);
    experiment::Experiment experiment = read_machine_text(machine.text);
    slow_a_link(random, experiment.fabric);
    const workload::Job job = random_job(random, machine.ranks, trial % 2 == 0, trial % 3 == 0);
    system::SimulationOptions options = experiment.simulation;
    options.fold = trial % 4 == 0 ? system::FoldMode::kOff : system::FoldMode::kAuto;
    if (trial % 3 > 0) options.perturbation = random_perturbation(random, machine.ranks);
    const auto network = [&](Engine& engine) -> std::unique_ptr<network::Network> {
      if (trial % 5 == 0) return std::make_unique<FreeNetwork>(engine, experiment.fabric);
      return system::make_network(experiment.network, engine, experiment.fabric);
    };
    try {
      const Outcome outcome = simulate(job, experiment.fabric, options, network);
      const Slack slack = slack_of(job, outcome);
      Duration least = Duration::max();
      for (const OperationSlack& one : slack.operations) least = std::min(least, one.slack);
      if (slack.operations.empty()) continue;
      CHECK(least == Duration::zero());
      for (const RankSlack& one : slack.ranks) CHECK(one.slower >= 0);
      ++told;
    } catch (const StuckError&) {  // sends that wait for their receives
    }
  }
  CHECK(told > 700);
}
