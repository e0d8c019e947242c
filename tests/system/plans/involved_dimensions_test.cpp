// SPDX-License-Identifier: MIT
// Collectives over some dimensions of the fabric only.
#include "system/plans/involved_dimensions.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "tests/system/folding/folded.h"
#include "tests/system/plans/fake_library.h"
#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::workload;
using namespace orrery::test;
using Catch::Matchers::Contains;

namespace {

constexpr Bandwidth kBandwidth{1'000'000'000};
constexpr Duration kLatency{1'000'000};
constexpr Bytes kSize{12'000};

// A ring of 4 by a switch of 3: rank = position on its ring + 4 * ring.
Fabric grid() {
  const std::vector<DimensionSpec> dimensions = {dimension("ring", 4, kBandwidth, kLatency),
                                                 dimension("switch", 3, kBandwidth, kLatency)};
  return compose(dimensions);
}

std::vector<DeviceId> packed(const Job& job) {
  std::vector<DeviceId> placement;
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) placement.push_back(DeviceId(rank));
  return placement;
}

// All ranks of the grid call on a group of all of them, over these dimensions.
Job job_over(const std::vector<bool>& involved, CollectiveKind kind = CollectiveKind::kAllReduce) {
  JobBuilder builder(12);
  const GroupId group = builder.group("all", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  for (std::uint32_t rank = 0; rank < 12; ++rank) builder.collective(rank, kind, kSize, group);
  Job job = builder.build();
  job.communicators[index_of(group)].involved = involved;
  return job;
}

std::string split(Job& job, const CollectiveOptions& options = {}) {
  Diagnostics diagnostics;
  split_by_dimensions(job, grid(), packed(job), options, "job.yaml", diagnostics);
  std::string warnings;
  for (const Problem& problem : diagnostics.problems()) warnings += to_string(problem) + "\n";
  return warnings;
}

// Of the group that the rank calls on.
std::vector<std::uint32_t> partners(const Job& job, std::uint32_t rank) {
  std::vector<std::uint32_t> members;
  for (const RankId member : job.communicators[index_of(job.communicator(RankId(rank), NodeId(0)))].members)
    members.push_back(index_of(member));
  return members;
}

}  // namespace

TEST_CASE("every line along the involved dimensions is a group of its own") {
  Job rings = job_over({true, false});
  CHECK(split(rings).empty());
  CHECK(partners(rings, 6) == std::vector<std::uint32_t>{4, 5, 6, 7});
  Job columns = job_over({false, true});
  CHECK(split(columns).empty());
  CHECK(partners(columns, 6) == std::vector<std::uint32_t>{2, 6, 10});
  // What the list leaves out is not involved; what the fabric has not got means nothing.
  Job shorter = job_over({false});
  CHECK_THAT(split(shorter), Contains("involves no dimension"));
  CHECK(partners(shorter, 6) == std::vector<std::uint32_t>{6});
  Job longer = job_over({true, true, false, true});
  CHECK(split(longer).empty());
  CHECK(partners(longer, 6).size() == 12);
}

TEST_CASE("a line takes what a fabric of that dimension takes, folded or not") {
  // Ring of 4, half of the data each way: 2 * 3 messages of an eighth. Columns of 3 on a switch: rings, too, 2 * 2
  // messages of a third.
  const Duration of_ring = 6 * (kLatency + Bytes(1'500) / kBandwidth);
  const Duration of_column = 4 * (kLatency + Bytes(4'000) / kBandwidth);
  for (const auto& [involved, expected] :
       {std::pair{std::vector<bool>{true, false}, of_ring}, std::pair{std::vector<bool>{false, true}, of_column}}) {
    Job job = job_over(involved);
    split(job);
    const Outcome outcome = fold_and_compare(job, grid(), SimulationOptions{}, NetworkModel::kFlow);
    CHECK(outcome.totals.finish == at(expected));
    CHECK(outcome.totals.rank_classes == 1);
  }
}

TEST_CASE("lines wait for nobody of another line") {
  JobBuilder builder(12);
  const GroupId group = builder.group("all", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  NodeId call{};
  for (std::uint32_t rank = 0; rank < 12; ++rank) {
    const NodeId late = builder.compute(rank, rank < 4 ? Duration(50'000'000) : Duration(1));
    call = builder.collective(rank, CollectiveKind::kAllReduce, kSize, group, {late});
  }
  Job job = builder.build();
  job.communicators[index_of(group)].involved = std::vector<bool>{true, false};
  split(job);
  const Outcome outcome = fold_and_compare(job, grid(), SimulationOptions{}, NetworkModel::kFlow);
  const Duration of_ring = 6 * (kLatency + Bytes(1'500) / kBandwidth);
  CHECK(outcome.end(0, call) == at(Duration(50'000'000) + of_ring));
  CHECK(outcome.end(4, call) == at(Duration(1) + of_ring));  // acts for the second and third ring
}

TEST_CASE("the root of a line is in the root's place") {
  Job job = job_over({true, false}, CollectiveKind::kBroadcast);
  for (RankBinding& rank : job.ranks) rank.own_details().roots = {6};  // second ring, place 2
  split(job);
  for (const std::uint32_t rank : {1u, 6u, 8u}) {
    CHECK(job.ranks[rank].roots()[0] == rank / 4 * 4 + 2);
    CHECK(job.root(RankId(rank), NodeId(0)) == 2);
  }
  CHECK_NOTHROW(match(job));
}

TEST_CASE("where the dimensions mean nothing, the group stays whole and one warning says so") {
  JobBuilder builder(12);
  const GroupId odd = builder.group("odd", {0, 1, 2, 5});
  const GroupId also = builder.group("also", {6, 8});
  for (const std::uint32_t rank : {0u, 1u, 2u, 5u}) builder.collective(rank, CollectiveKind::kAllReduce, kSize, odd);
  for (const std::uint32_t rank : {6u, 8u}) builder.collective(rank, CollectiveKind::kAllReduce, kSize, also);
  for (const std::uint32_t rank : {3u, 4u, 7u, 9u, 10u, 11u}) builder.free(rank);
  Job irregular = builder.build();
  for (const GroupId group : {odd, also})
    irregular.communicators[index_of(group)].involved = std::vector<bool>{true, false};
  CHECK_THAT(split(irregular),
             Contains("job.yaml: warning: involved_dim means nothing to 2 groups ('odd' is one), which "
                      "are not a whole part of the cluster"));
  CHECK(partners(irregular, 0).size() == 4);

  const FakeLibrary library;
  CollectiveOptions options;
  options.library = &library;
  Job whole = job_over({true, false});
  CHECK_THAT(split(whole, options), Contains("warning: involved_dim means nothing to library nccl"));
  CHECK(partners(whole, 6).size() == 12);

  Job idle = job_over({false, false});
  CHECK_THAT(split(idle), Contains("involves no dimension of 1 group, whose calls move nothing"));
  CHECK(partners(idle, 6) == std::vector<std::uint32_t>{6});
  CHECK(fold_and_compare(idle, grid(), SimulationOptions{}, NetworkModel::kFlow).totals.finish == Time{});
}
