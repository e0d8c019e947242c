// SPDX-License-Identifier: MIT
#include <map>
#include <random>
#include <string>

#include <catch2/catch.hpp>

#include "core/error.h"
#include "report/critical_path.h"
#include "tests/system/random_jobs.h"
#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::report;
using namespace orrery::test;
using std::chrono::microseconds;

namespace {

network::Fabric on_switch(std::uint32_t ranks) {
  return one_dimension("switch", ranks, Bandwidth(1'000'000'000), Duration(0));
}

workload::HostWork one_launch(Duration launch, Duration time, bool synchronises = false) {
  return {launch, launch + time, synchronises};
}

Result result_of(const workload::Job& job, const Outcome& outcome) {
  Result result;
  result.finish = outcome.totals.finish;
  TimeAccount account(job);
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    result.class_of_rank.push_back(rank);
    const auto operations = outcome.log.of(outcome.totals.acting[rank]);
    result.classes.push_back(account.of(RankId(rank), operations, result.finish));
  }
  return result;
}

// Parts of the path, by name.
std::map<std::string, Duration> path_of(const workload::Job& job, const Outcome& outcome) {
  std::map<std::string, Duration> parts;
  const Result result = result_of(job, outcome);
  for (const PathShare& part : critical_path(job, outcome.log, outcome.totals.acting, result).parts)
    parts[part.what] = part.time;
  return parts;
}

using Parts = std::map<std::string, Duration>;

// Communicators of one family together: folded, "row0" stands for "row2" where both are alike.
Parts by_family(const Parts& parts) {
  Parts families;
  for (const auto& [name, time] : parts) {
    const bool is_member = name.starts_with("row") || name.starts_with("column");
    families[is_member ? name.substr(0, name.find_first_of("0123456789")) : name] += time;
  }
  return families;
}

}  // namespace

TEST_CASE("the critical path of a device that waits for every launch is the host's, but for the last kernel") {
  JobBuilder builder(1);
  NodeId last = builder.launched(0, microseconds(1), one_launch(microseconds(10), microseconds(1)));
  for (int i = 0; i < 3; ++i)
    last = builder.launched(0, microseconds(1), one_launch(microseconds(10), microseconds(1)), {last});
  const workload::Job job = builder.build();
  const Outcome outcome = simulate(job, on_switch(1));
  CHECK(path_of(job, outcome) == Parts{{"host", microseconds(30)}, {"compute", microseconds(1)}});
  CHECK(result_of(job, outcome).classes[0].host_pace == microseconds(30));
  CHECK(result_of(job, outcome).classes[0].host == microseconds(27));
}

// At the start the host is ahead; the launches behind what it does itself are waited for.
TEST_CASE("the critical path is the same whether kernels are operations by themselves or one together") {
  for (const bool is_one : {false, true}) {
    JobBuilder builder(1);
    const NodeId first = builder.launched(0, microseconds(4), one_launch(microseconds(10), microseconds(4)));
    NodeId last = builder.host(0, microseconds(5), {first}, true);
    if (is_one) builder.launched(0, microseconds(4), {microseconds(40), microseconds(41)}, {last});
    for (int i = 0; i < 4 && !is_one; ++i)
      last = builder.launched(0, microseconds(1), one_launch(microseconds(10), microseconds(1)), {last});
    const workload::Job job = builder.build();
    const Outcome outcome = simulate(job, on_switch(1));
    CHECK(path_of(job, outcome) == Parts{{"host", microseconds(45)}, {"compute", microseconds(5)}});
    CHECK(result_of(job, outcome).classes[0].host_pace == microseconds(40));
  }
}

TEST_CASE("behind a synchronisation the critical path goes on with what the host waited for") {
  JobBuilder builder(1);
  const NodeId read = builder.launched(0, microseconds(100), one_launch(microseconds(10), microseconds(100), true));
  const NodeId next = builder.launched(0, microseconds(5), one_launch(microseconds(10), microseconds(5)), {read});
  builder.launched(0, microseconds(5), one_launch(microseconds(10), microseconds(5)), {next});
  const workload::Job job = builder.build();
  CHECK(path_of(job, simulate(job, on_switch(1))) == Parts{{"compute", microseconds(105)}, {"host", microseconds(20)}});
}

TEST_CASE("of kernels that take longer than their launches the critical path has the first launch alone") {
  JobBuilder builder(1);
  const NodeId read = builder.launched(0, microseconds(100), one_launch(microseconds(10), microseconds(100), true));
  // Ten kernels of 100 us.
  builder.launched(0, microseconds(1000), {microseconds(100), microseconds(1010)}, {read});
  const workload::Job job = builder.build();
  CHECK(path_of(job, simulate(job, on_switch(1))) ==
        Parts{{"compute", microseconds(1100)}, {"host", microseconds(10)}});
}

// Two ranks with kernels of random times and launches, of which the host waits for some, and sums between them. Without
// the launches' time the rest of the path is still there.
TEST_CASE("launches that take no time save at most what the critical path has of them") {
  int bound_by_hosts = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const auto job_with = [&](bool has_hosts) {
      std::mt19937_64 random(seed);
      JobBuilder builder(2);
      std::vector<std::vector<NodeId>> last(2);
      for (int step = 0; step < 8; ++step) {
        for (const std::uint32_t rank : {0U, 1U})
          for (std::uint64_t count = random() % 6; count > 0; --count) {
            const Duration time = microseconds(1 + random() % 50), launch = microseconds(1 + random() % 50);
            const bool waits = random() % 8 == 0;
            const workload::HostWork host = has_hosts ? one_launch(launch, time, waits) : workload::HostWork{};
            last[rank] = {builder.launched(rank, time, host, last[rank])};
          }
        for (const std::uint32_t rank : {0U, 1U})
          last[rank] = {builder.collective(rank, CollectiveKind::kAllReduce, Bytes(1000), kWorld, last[rank])};
      }
      return builder.build();
    };
    const network::Fabric fabric = on_switch(2);
    const workload::Job job = job_with(true);
    const Outcome with = simulate(job, fabric), without = simulate(job_with(false), fabric);
    const Duration saved = with.totals.finish - without.totals.finish, host = path_of(job, with)["host"];
    CHECK(saved <= host);
    bound_by_hosts += 2 * host > with.totals.finish.time_since_epoch() ? 1 : 0;
  }
  CHECK(bound_by_hosts > 30);
}

TEST_CASE("critical paths along hosts are the same folded and not, for 200 random jobs") {
  std::mt19937_64 random(3);
  int with_hosts = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const RandomMachine machine = random_machine(random);
    INFO("trial " << trial << "\n" << machine.text);
    const experiment::Experiment experiment = read_machine_text(machine.text);
    const workload::Job job = random_job(random, machine.ranks, true);
    const auto run = [&](system::FoldMode fold) {
      system::SimulationOptions options = experiment.simulation;
      options.fold = fold;
      return simulate(job, experiment.fabric, options, network_of(experiment));
    };
    try {
      const Outcome folded = run(system::FoldMode::kAuto), unfolded = run(system::FoldMode::kOff);
      const Parts path = path_of(job, folded);
      CHECK(by_family(path) == by_family(path_of(job, unfolded)));
      with_hosts += path.contains("host") ? 1 : 0;
    } catch (const StuckError&) {  // sends that wait for their receives
    }
  }
  CHECK(with_hosts > 20);
}
