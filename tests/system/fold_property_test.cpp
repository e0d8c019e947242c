// Random jobs on random machines, folded and with every rank by itself: no operation differs by a picosecond.
#include <catch2/catch.hpp>

#include "report/fold_check.h"
#include "tests/system/random_jobs.h"
#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::test;

TEST_CASE("1,000 random experiments fold without a difference") {
  std::mt19937_64 random(7);
  std::uint64_t ranks = 0, classes = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    const RandomMachine machine = random_machine(random);
    INFO("trial " << trial << "\n" << machine.text);
    Experiment experiment = read_machine_text(machine.text);
    slow_a_link(random, experiment.fabric);
    REQUIRE(experiment.fabric.device_count() == machine.ranks);
    const Job job = random_job(random, machine.ranks);
    SimulationOptions options = experiment.simulation;
    const auto network = network_of(experiment);
    options.fold = FoldMode::kAuto;
    const Outcome folded = simulate(job, experiment.fabric, options, network);
    options.fold = FoldMode::kOff;
    const Outcome unfolded = simulate(job, experiment.fabric, options, network);
    Matching matching = match(job);
    std::vector<DeviceId> placement;
    for (std::uint32_t rank = 0; rank < machine.ranks; ++rank) placement.push_back(DeviceId(rank));
    CollectivePlans plans(job, matching, experiment.fabric, placement, options.collectives);
    const std::vector<std::uint64_t> own(machine.ranks);
    Symmetry symmetry(job, matching, experiment.fabric, placement, plans, options.collectives.granularity, own);
    for (std::uint32_t group = 0; group < job.communicators.size(); ++group) symmetry.use_communicator(GroupId(group));
    symmetry.refine();
    CHECK(symmetry.is_equitable());
    const auto difference =
        first_difference({folded.log, folded.totals.acting}, {unfolded.log, unfolded.totals.acting});
    if (difference) FAIL(to_text(*difference, job));
    CHECK(folded.totals.finish == unfolded.totals.finish);
    CHECK(folded.totals.messages == unfolded.totals.messages);
    for (std::size_t link = 0; link < unfolded.usage.size(); ++link) {
      INFO("link " << link);
      CHECK(folded.usage[link].bytes == unfolded.usage[link].bytes);
      CHECK(folded.usage[link].busy == unfolded.usage[link].busy);
    }
    ranks += machine.ranks;
    classes += folded.totals.rank_classes;
  }
  // It did fold: about half of the jobs have no straggler.
  CHECK(classes * 10 < ranks * 9);
  WARN(classes << " classes for " << ranks << " ranks");
}
