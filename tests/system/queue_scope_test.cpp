// SPDX-License-Identifier: MIT
// Collectives of one rank that wait for the same dimension.
#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "tests/system/folding/folded.h"
#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::test;

namespace {

constexpr Duration kMicrosecond{1'000'000};
constexpr Bytes kSize{4000};

// Every chunk of 1,000 bytes takes 2 us to the other rank.
Fabric pair_of_ranks() { return one_dimension("switch", 2, Bandwidth(1'000'000'000), kMicrosecond); }

CollectiveOptions queues(QueueScope scope, QueuePolicy policy, std::uint32_t active = 1) {
  CollectiveOptions options = always("direct");
  options.queue_scope = scope;
  options.queue = policy;
  options.chunks = 4;
  options.active_chunks = active;
  return options;
}

// When the all-gathers of two buckets end, in microseconds; the second is ready when two chunks of the first have
// begun.
std::pair<double, double> two_buckets(const CollectiveOptions& collectives, bool has_groups = false) {
  JobBuilder job(2);
  const GroupId other = has_groups ? job.group("other", {0, 1}) : kWorld;
  std::vector<NodeId> first, second;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    first.push_back(job.collective(rank, CollectiveKind::kAllGather, kSize, kWorld));
    const NodeId work = job.compute(rank, 3 * kMicrosecond);
    second.push_back(job.collective(rank, CollectiveKind::kAllGather, kSize, other, {work}, 1));
  }
  SimulationOptions options;
  options.collectives = collectives;
  const Outcome outcome = fold_and_compare(job.build(), pair_of_ranks(), options, NetworkModel::kFlow);
  const auto end = [&](NodeId node) {
    return static_cast<double>(outcome.end(0, node).time_since_epoch() / kMicrosecond);
  };
  return {end(first[0]), end(second[0])};
}

using Ends = std::pair<double, double>;

TEST_CASE("the chunks of all collectives of a rank wait in one queue") {
  using enum QueuePolicy;
  for (const bool has_groups : {false, true}) {
    CAPTURE(has_groups);
    CHECK(two_buckets(queues(QueueScope::kRank, kFifo), has_groups) == Ends{8, 16});
    // The chunk that is under way ends at 4 us.
    CHECK(two_buckets(queues(QueueScope::kRank, kLifo), has_groups) == Ends{16, 12});
    CHECK(two_buckets(queues(QueueScope::kRank, kPriority), has_groups) == Ends{16, 12});
  }
}

TEST_CASE("collectives with queues of their own run one after the other on a communicator") {
  using enum QueuePolicy;
  for (const QueuePolicy policy : {kFifo, kLifo, kPriority})
    CHECK(two_buckets(queues(QueueScope::kCollective, policy)) == Ends{8, 16});
  // On two communicators a chunk of the one is on the link while that of the other is on its way.
  CHECK(two_buckets(queues(QueueScope::kCollective, kFifo), true) == Ends{8, 11});
}

// Who came to one collective holds up no other: ranks 0 and 1 come to theirs in different orders.
TEST_CASE("collectives under way together do not wait for each other") {
  JobBuilder job(2);
  const GroupId other = job.group("other", {0, 1});
  const Duration late = 100 * kMicrosecond;
  job.collective(0, CollectiveKind::kAllGather, kSize, kWorld);
  job.collective(0, CollectiveKind::kAllGather, kSize, other, {job.compute(0, late)});
  job.collective(1, CollectiveKind::kAllGather, kSize, other);
  job.collective(1, CollectiveKind::kAllGather, kSize, kWorld, {job.compute(1, late)});
  const workload::Job built = job.build();
  SimulationOptions options;
  for (const QueuePolicy policy : {QueuePolicy::kFifo, QueuePolicy::kLifo, QueuePolicy::kPriority})
    for (const Granularity granularity : {Granularity::kStep, Granularity::kPhase}) {
      options.collectives = queues(QueueScope::kRank, policy);
      options.collectives.granularity = granularity;
      const Outcome outcome = fold_and_compare(built, pair_of_ranks(), options, NetworkModel::kFlow);
      CHECK(outcome.totals.finish.time_since_epoch() >= late + 8 * kMicrosecond);
      CHECK(outcome.totals.finish.time_since_epoch() <= late + 16 * kMicrosecond);
    }
}

}  // namespace
