// SPDX-License-Identifier: MIT
// Random jobs on random machines, folded and with every rank by itself: no operation differs by a picosecond.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <random>

#include "core/error.h"
#include "tests/system/folding/folded.h"
#include "tests/system/plans/fake_library.h"
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

// However much comes into use at a time, and in whatever order, the partition is equitable.
void check_growing_symmetry(const Job& job, const Experiment& experiment, const CollectiveOptions& options,
                            std::mt19937_64& random) {
  const Matching matching = match(job);
  std::vector<DeviceId> placement;
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) placement.push_back(DeviceId(rank));
  CollectivePlans plans(job, matching, experiment.fabric, placement, options);
  const std::vector<std::uint64_t> own(job.ranks.size());
  Symmetry symmetry(job, matching, experiment.fabric, placement, plans, options.granularity, own);
  std::vector<std::function<bool()>> uses;
  for (std::uint32_t group = 0; group < job.communicators.size(); ++group)
    uses.push_back([&symmetry, group] { return symmetry.use_communicator(GroupId(group)); });
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank)
    for (std::uint32_t slot = 0; slot < job.ranks[rank].peers.size(); ++slot)
      uses.push_back([&symmetry, rank, slot] { return symmetry.use_sends(RankId(rank), slot); });
  std::ranges::shuffle(uses, random);
  for (const auto& use : uses) {
    use();
    if (random() % 4 > 0) continue;
    symmetry.refine();
    REQUIRE(symmetry.is_equitable());
  }
  symmetry.refine();
  REQUIRE(symmetry.is_equitable());
}

// Folds so many random experiments, with options that `change(options, experiment, trial)` may change, and counts how
// often classes came apart while something was under way.
template <class Change>
std::uint64_t splits_of_random_experiments(int trials, std::uint64_t seed, const Change& change) {
  std::mt19937_64 random(seed), random_nic(seed);
  std::uint64_t ranks = 0, classes = 0, splits = 0;
  int stuck = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const RandomMachine machine = random_machine(random);
    INFO("trial " << trial << "\n" << machine.text);
    Experiment experiment = read_machine_text(machine.text);
    slow_a_link(random, experiment.fabric);
    kill_a_nic(random_nic, experiment.fabric);
    REQUIRE(experiment.fabric.device_count() == machine.ranks);
    const Job job = random_job(random, machine.ranks, true);
    SimulationOptions options = experiment.simulation;
    change(options, experiment, trial);
    try {
      const Outcome folded = fold_and_compare(job, experiment.fabric, options, network_of(experiment));
      check_growing_symmetry(job, experiment, options.collectives, random);
      ranks += machine.ranks;
      classes += folded.totals.rank_classes;
      splits += folded.steps.size();
    } catch (const StuckError&) {  // sends that wait for their receives
      ++stuck;
    }
  }
  CHECK(stuck * 2 < trials);
  // They did fold: about half of the jobs have no straggler.
  CHECK(classes * 10 < ranks * 9);
  WARN(classes << " classes for " << ranks << " ranks, " << splits << " times more of them");
  return splits;
}

}  // namespace

TEST_CASE("1,000 random experiments fold without a difference") {
  const auto alternate = [](SimulationOptions& options, const Experiment&, int trial) {
    options.fast_forward = trial % 2 == 0;
  };
  CHECK(splits_of_random_experiments(1000, 7, alternate) > 500);
}

// Complete exchanges, some on lines of several dimensions, which come apart while they are under way.
TEST_CASE("500 random experiments whose members all send to all fold without a difference") {
  const collectives::Algorithm direct = *collectives::find_algorithm("direct");
  const auto all_direct = [&](SimulationOptions& options, const Experiment& experiment, int) {
    for (auto& algorithms : options.collectives.algorithms)
      algorithms.assign(experiment.fabric.dimensions().size(), direct);
  };
  CHECK(splits_of_random_experiments(500, 17, all_direct) > 250);
}

TEST_CASE("500 random experiments by a library fold without a difference, whatever sends wait for their receives") {
  const FakeLibrary eager, middle(Bytes(100'000)), none(Bytes(0));
  const std::array<const FakeLibrary*, 3> libraries = {&eager, &middle, &none};
  const auto by_library = [&](SimulationOptions& options, const Experiment&, int trial) {
    options.collectives.library = libraries[static_cast<std::size_t>(trial) % 3];
    options.collectives.granularity = Granularity::kPhase;
    options.fast_forward = false;  // else ranks run ahead of the clock, all classes apart from the start
  };
  CHECK(splits_of_random_experiments(500, 13, by_library) > 250);
}

TEST_CASE("500 random jobs with tags, roots and peers in several slots fold without a difference") {
  std::mt19937_64 random(11);
  const FakeLibrary eager, none(Bytes(0));
  int folded = 0;
  for (int trial = 0; trial < 500; ++trial) {
    INFO("trial " << trial);
    const Job job = testing::random_grid_job(random);
    const auto ranks = static_cast<std::uint32_t>(job.ranks.size());
    const Fabric fabric =
        one_dimension(trial % 2 == 0 ? "switch" : "ring", ranks, Bandwidth(25'000'000'000), Duration(700'000));
    SimulationOptions options;
    if (trial % 4 == 3) {
      options.collectives.library = trial % 8 == 3 ? &eager : &none;
      options.collectives.granularity = Granularity::kPhase;
    }
    try {
      fold_and_compare(job, fabric, options, trial % 3 == 0 ? NetworkModel::kAlphaBeta : NetworkModel::kFlow);
      ++folded;
    } catch (const StuckError&) {  // one of them does something else; matching says so, folded or not
    }
  }
  CHECK(folded > 250);
}
