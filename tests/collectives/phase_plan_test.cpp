// The shapes and sizes of plans.
#include <array>

#include <catch2/catch.hpp>

#include "collectives/phase_plan.h"
#include "core/error.h"

namespace orrery {
namespace {

using enum CollectiveKind;
constexpr auto kEveryone = Participants::kEveryone;
constexpr auto kAligned = Participants::kAlignedWithRoot;
constexpr std::array<std::uint32_t, 3> kDimensions = {2, 3, 4};
constexpr std::array<std::uint32_t, 3> kRoot = {1, 2, 0};

std::vector<Phase> plan(CollectiveKind kind, std::int64_t bytes) {
  return plan_phases(kind, kDimensions, Bytes(bytes), kRoot);
}

TEST_CASE("an all-reduce scatters up the dimensions and gathers down, with sizes rounded up") {
  // ceil(100/2) = 50, ceil(50/3) = 17, ceil(17/4) = 5
  CHECK(plan(kAllReduce, 100) == std::vector<Phase>{{0, kReduceScatter, Bytes(100), kEveryone, 0},
                                                    {1, kReduceScatter, Bytes(50), kEveryone, 0},
                                                    {2, kReduceScatter, Bytes(17), kEveryone, 0},
                                                    {2, kAllGather, Bytes(5), kEveryone, 0},
                                                    {1, kAllGather, Bytes(17), kEveryone, 0},
                                                    {0, kAllGather, Bytes(50), kEveryone, 0}});
}

TEST_CASE("a reduce-scatter goes up, an all-gather down, an all-to-all takes its whole buffer along") {
  CHECK(plan(kReduceScatter, 100) == std::vector<Phase>{{0, kReduceScatter, Bytes(100), kEveryone, 0},
                                                        {1, kReduceScatter, Bytes(50), kEveryone, 0},
                                                        {2, kReduceScatter, Bytes(17), kEveryone, 0}});
  CHECK(plan(kAllGather, 5) == std::vector<Phase>{{2, kAllGather, Bytes(5), kEveryone, 0},
                                                  {1, kAllGather, Bytes(20), kEveryone, 0},
                                                  {0, kAllGather, Bytes(60), kEveryone, 0}});
  CHECK(plan(kAllToAll, 100) == std::vector<Phase>{{0, kAllToAll, Bytes(100), kEveryone, 0},
                                                   {1, kAllToAll, Bytes(100), kEveryone, 0},
                                                   {2, kAllToAll, Bytes(100), kEveryone, 0}});
  CHECK(plan(kBarrier, 100) == std::vector<Phase>{{0, kBarrier, Bytes(0), kEveryone, 0},
                                                  {1, kBarrier, Bytes(0), kEveryone, 0},
                                                  {2, kBarrier, Bytes(0), kEveryone, 0}});
}

TEST_CASE("from the root data comes down the dimensions, to the root it goes up") {
  CHECK(plan(kBroadcast, 100) == std::vector<Phase>{{2, kBroadcast, Bytes(100), kAligned, 0},
                                                    {1, kBroadcast, Bytes(100), kAligned, 2},
                                                    {0, kBroadcast, Bytes(100), kAligned, 1}});
  CHECK(plan(kReduce, 100) == std::vector<Phase>{{0, kReduce, Bytes(100), kAligned, 1},
                                                 {1, kReduce, Bytes(100), kAligned, 2},
                                                 {2, kReduce, Bytes(100), kAligned, 0}});
  CHECK(plan(kScatter, 100) == std::vector<Phase>{{2, kScatter, Bytes(100), kAligned, 0},
                                                  {1, kScatter, Bytes(25), kAligned, 2},
                                                  {0, kScatter, Bytes(9), kAligned, 1}});
  CHECK(plan(kGather, 5) == std::vector<Phase>{{0, kGather, Bytes(5), kAligned, 1},
                                               {1, kGather, Bytes(10), kAligned, 2},
                                               {2, kGather, Bytes(30), kAligned, 0}});
}

TEST_CASE("one dimension with more than one rank is the collective itself") {
  const std::array<std::uint32_t, 3> line = {1, 6, 1};
  for (const CollectiveKind kind : kAllCollectiveKinds) {
    const std::vector<Phase> phases = plan_phases(kind, line, Bytes(100));
    INFO(name_of(kind));
    REQUIRE(phases.size() == 1);
    CHECK(phases[0].kind == kind);
    CHECK(phases[0].dimension == 1);
    CHECK(phases[0].bytes == Bytes(kind == kBarrier ? 0 : 100));
  }
}

TEST_CASE("a single rank has no phases") {
  const std::array<std::uint32_t, 2> ones = {1, 1};
  for (const CollectiveKind kind : kAllCollectiveKinds) {
    CHECK(plan_phases(kind, ones, Bytes(100)).empty());
    CHECK(plan_phases(kind, {}, Bytes(100)).empty());
  }
}

TEST_CASE("only ranks that agree with the root in all lower dimensions take part in rooted phases") {
  // In a 2x3x4 cuboid with the root at (1, 2, 0): 24 ranks in dimension 0, 12 in 1 (x = 1), 4 in 2 (x = 1, y = 2).
  std::array<int, 3> taking_part = {0, 0, 0};
  for (const Phase& phase : plan(kBroadcast, 100))
    for (std::uint32_t x = 0; x < 2; ++x)
      for (std::uint32_t y = 0; y < 3; ++y)
        for (std::uint32_t z = 0; z < 4; ++z)
          taking_part[phase.dimension] += participates(phase, std::array{x, y, z}, kRoot) ? 1 : 0;
  CHECK(taking_part == std::array<int, 3>{24, 12, 4});
  CHECK(participates(plan(kAllReduce, 100)[2], std::array{0U, 0U, 0U}, kRoot));
}

TEST_CASE("sizes that could pass 2^62 bytes are refused") {
  CHECK_THROWS_AS(plan(kAllGather, std::int64_t{1} << 60), InputError);
  CHECK_THROWS_AS(plan_phases(kAllReduce, {}, Bytes::max()), InputError);
}

}  // namespace
}  // namespace orrery
