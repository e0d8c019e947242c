// SPDX-License-Identifier: MIT
// Ranks that have other numbers, on the devices that they had: every operation takes the times that it took.
#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>

#include "tests/system/random_jobs.h"
#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::experiment;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::workload;
using namespace orrery::test;

namespace {

// Rank r becomes rank number[r].
Job renamed(const Job& job, const std::vector<std::uint32_t>& number) {
  const auto renamed = [&](const auto& ranks) {
    std::vector<RankId> result;
    for (const RankId rank : ranks) result.push_back(RankId(number[index_of(rank)]));
    return result;
  };
  Job result = job;
  for (Communicator& communicator : result.communicators) communicator.members = renamed(communicator.members);
  for (std::uint32_t rank = 0; rank < number.size(); ++rank) {
    RankBinding binding = job.ranks[rank];
    binding.peers = renamed(binding.peers);
    for (std::int64_t& root : binding.own_details().roots)
      if (root >= 0) root = number[static_cast<std::size_t>(root)];
    result.ranks[number[rank]] = std::move(binding);
  }
  return result;
}

}  // namespace

TEST_CASE("renaming the ranks of a job renames its results, in every network model") {
  std::mt19937_64 random(21);
  for (int trial = 0; trial < 300; ++trial) {
    const RandomMachine machine = random_machine(random);
    Experiment experiment = read_machine_text(machine.text);
    slow_a_link(random, experiment.fabric);
    const Job job = random_job(random, machine.ranks);
    std::vector<std::uint32_t> number(machine.ranks);
    std::iota(number.begin(), number.end(), 0U);
    std::ranges::shuffle(number, random);
    std::vector<DeviceId> placement(machine.ranks);
    for (std::uint32_t rank = 0; rank < machine.ranks; ++rank) placement[number[rank]] = DeviceId(rank);
    for (const NetworkModel model : {NetworkModel::kAlphaBeta, NetworkModel::kFifo, NetworkModel::kFlow}) {
      INFO("trial " << trial << ", " << network_model_names()[static_cast<std::size_t>(model)] << '\n' << machine.text);
      const auto network = [&](Engine& engine) { return make_network(model, engine, experiment.fabric); };
      const Outcome first = simulate(job, experiment.fabric, experiment.simulation, network);
      const Outcome second =
          simulate(renamed(job, number), experiment.fabric, experiment.simulation, network, placement);
      for (std::uint32_t rank = 0; rank < machine.ranks; ++rank) {
        const std::vector<OperationRecord> here = first.log.of(first.totals.acting[rank]);
        const std::vector<OperationRecord> there = second.log.of(second.totals.acting[number[rank]]);
        REQUIRE(here.size() == there.size());
        for (std::size_t i = 0; i < here.size(); ++i) {
          REQUIRE(here[i].node == there[i].node);
          REQUIRE(here[i].start == there[i].start);
          REQUIRE(here[i].end == there[i].end);
        }
      }
    }
  }
}
