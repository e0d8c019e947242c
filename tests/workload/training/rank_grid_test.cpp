// SPDX-License-Identifier: MIT
// Grids of parallel degrees: what repeats over the data dimension is what every rank by itself has.
#include "workload/training/program/rank_grid.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <utility>
#include <vector>

#include "tests/workload/training/small_training.h"

using namespace orrery;
using namespace orrery::testing;
using namespace orrery::workload;

namespace {

std::int64_t any_of(std::mt19937_64& random, std::vector<std::int64_t> values) {
  return values[random() % values.size()];
}

Parallelism random_parallelism(std::mt19937_64& random) {
  Parallelism parallel;
  parallel.degrees = {any_of(random, {1, 2, 4}), any_of(random, {1, 2}), any_of(random, {1, 2, 3, 4, 6, 8}),
                      any_of(random, {1, 2, 4})};
  std::ranges::shuffle(parallel.order, random);
  parallel.both_ways = parallel.pipeline() % 2 == 0 && random() % 4 == 0;
  parallel.expert_tensor = any_of(random, {0, 1});
  const std::int64_t all = parallel.replicas() * parallel.expert_columns();
  do parallel.expert = any_of(random, {1, 2, 3, 4, 8});
  while (all % parallel.expert != 0);
  parallel.zero = any_of(random, {0, 1, 3});
  do parallel.shard = any_of(random, {0, 1, 2, 4});
  while (parallel.shard > 0 && (parallel.replicas() % parallel.shard != 0 ||
                                parallel.shard * parallel.expert_columns() % parallel.expert != 0));
  return parallel;
}

constexpr std::array kFamilies = {GroupFamily::kTensor,     GroupFamily::kContext,     GroupFamily::kExpert,
                                  GroupFamily::kData,       GroupFamily::kShard,       GroupFamily::kReplicate,
                                  GroupFamily::kExpertData, GroupFamily::kExpertShard, GroupFamily::kExpertReplicate,
                                  GroupFamily::kEmbedding,  GroupFamily::kWorld};

// All groups of a family by every rank's own place.
std::vector<std::vector<RankId>> enumerated(const RankGrid& grid, GroupFamily family, bool all_stages) {
  std::vector<std::vector<RankId>> groups(static_cast<std::size_t>(grid.group_count(family)));
  for (std::int64_t rank = 0; rank < grid.ranks(); ++rank) {
    const RankGrid::Place place = grid.place(rank);
    if (!all_stages && grid.members(family, place).empty()) continue;
    groups[static_cast<std::size_t>(grid.group_of(family, place))].push_back(RankId(static_cast<std::uint32_t>(rank)));
  }
  return groups;
}

}  // namespace

TEST_CASE("groups of 300 random grids are those of every rank by itself, and repeat as said") {
  std::mt19937_64 random(5);
  int repeating = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const RankGrid grid(random_parallelism(random));
    const Period period = grid.period();
    repeating += period.any() ? 1 : 0;
    for (const GroupFamily family : kFamilies) {
      INFO("trial " << trial << ", " << name_of(family));
      const std::vector<Communicator> groups = grid.groups(family, GroupId(7));
      const std::vector<std::vector<RankId>> expected = enumerated(grid, family, family != GroupFamily::kEmbedding);
      REQUIRE(groups.size() == expected.size());
      for (std::size_t i = 0; i < groups.size(); ++i) {
        REQUIRE(groups[i].members == Members(expected[i]));
        for (std::uint32_t at = 0; at < expected[i].size(); ++at) REQUIRE(groups[i].position_of(expected[i][at]) == at);
        if (!groups[i].shifted_from) continue;
        const Members& first = groups[index_of(*groups[i].shifted_from) - 7].members;
        REQUIRE(period.digit(index_of(first.front())) == 0);
        REQUIRE(groups[i].members == first.shifted(period.digit(index_of(groups[i].members.front())) * period.stride));
      }
      for (std::int64_t rank = 0; rank < grid.ranks(); ++rank) {
        const auto number = static_cast<std::uint32_t>(rank);
        const std::int64_t first = grid.group_of(family, grid.place(period.first(number)));
        REQUIRE(grid.group_of(family, grid.place(rank)) == first + period.digit(number) * grid.step(family));
        REQUIRE(period.at(period.place(number)) == period.first(number));
      }
    }
  }
  CHECK(repeating > 150);
  CHECK(repeating < 300);
}

TEST_CASE("a job's repeated bindings are those that are written out") {
  TrainingSpec training = small_training(small_gpt());
  degree(training, ParallelDimension::kTensor) = 2;
  degree(training, ParallelDimension::kData) = 4;
  degree(training, ParallelDimension::kPipeline) = 2;
  training.global_batch = 16;
  const Job job = generate_job(training, FakeTimes()).job;
  // Tensor ranks are neighbours, so that data-parallel ones are two apart.
  CHECK(job.ranks.period() == Period{2, 4});
  Job written_out = job;
  const std::vector<RankBinding>& list = written_out.ranks.list();
  REQUIRE(list.size() == 16);
  CHECK(!written_out.ranks.period().any());
  for (std::uint32_t rank = 0; rank < 16; ++rank) {
    CHECK(job.ranks.graph(rank) == rank / 8);
    for (std::uint32_t slot = 0; slot < list[rank].communicators.size(); ++slot) {
      const GroupId group = job.ranks.communicator(rank, slot);
      CHECK(list[rank].communicators[slot] == group);
      CHECK(written_out.ranks.slot_of(rank, group) == slot);
      CHECK(job.ranks.slot_of(rank, group) == slot);
      CHECK(job.communicators[index_of(group)].position_of(RankId(rank)));
    }
    // The only peers are the ranks at the same place of the other stage.
    for (std::uint32_t slot = 0; slot < list[rank].peers.size(); ++slot) {
      CHECK(list[rank].peers[slot] == RankId((rank + 8) % 16));
      CHECK(job.ranks.peer(rank, slot) == RankId((rank + 8) % 16));
    }
  }
}

TEST_CASE("members that are regular are a lattice") {
  const auto lattice = [](std::vector<std::uint32_t> ranks) {
    std::vector<RankId> ids;
    for (const std::uint32_t rank : ranks) ids.push_back(RankId(rank));
    return find_lattice(ids);
  };
  CHECK(lattice({3, 5, 7}) == Lattice{{3, 2}});
  CHECK(lattice({0, 1, 8, 9, 16, 17}) == Lattice{{2, 1}, {3, 8}});
  CHECK(!lattice({0, 1, 3}));
  CHECK(!lattice({0, 2, 1, 3}));
  CHECK(!lattice({0, 1, 8, 10}));
  const Members members(RankId(5), std::make_shared<const Lattice>(Lattice{{2, 1}, {3, 8}}));
  CHECK(members == Members{RankId(5), RankId(6), RankId(13), RankId(14), RankId(21), RankId(22)});
  CHECK(members.position_of(RankId(14)) == 3);
  for (const std::uint32_t other : {4U, 7U, 15U, 20U, 23U, 29U}) CHECK(!members.position_of(RankId(other)));
  Members longer = members;
  longer.push_back(RankId(2));
  CHECK(longer.size() == 7);
  CHECK(longer.position_of(RankId(2)) == 6);
  CHECK(members.size() == 6);
}
