// SPDX-License-Identifier: MIT
// Whole plans over cuboids mean what the collective means.
#include <array>

#include <catch2/catch.hpp>

#include "collectives/oracle/oracle.h"
#include "tests/collectives/every_schedule.h"
#include "tests/collectives/phase_exchange.h"

namespace orrery {
namespace {

using enum CollectiveKind;
constexpr std::array<std::uint64_t, 2> kPlanSeeds = {1, 2};

const std::vector<Cuboid> kCuboids = {
    {{}},     {{1}},    {{1, 1}}, {{5}},       {{1, 3, 1}}, {{2, 2}},
    {{3, 2}}, {{2, 3}}, {{4, 3}}, {{3, 1, 4}}, {{2, 2, 2}}, {{2, 3, 2}},
};

void check_plan(CollectiveKind kind, const Cuboid& cuboid, const std::vector<std::string>& algorithms) {
  for (std::uint32_t root = 0; root < (is_rooted(kind) ? cuboid.ranks() : 1); ++root)
    for (std::uint32_t slice = 0; slice < slices_of(kind, cuboid); ++slice) {
      const PhaseExchange plan = expand_plan(kind, cuboid, root, algorithms, slice);
      INFO(name_of(kind) << " on " << Catch::Detail::stringify(cuboid.sizes) << ", first " << algorithms[0] << ", root "
                         << root << ", slice " << slice);
      CHECK(check_meaning(plan.exchange, kPlanSeeds).reason == "");
      CHECK(plan.wrong_size == "");
    }
}

TEST_CASE("phases together do what the collective means, in bytes that fit their data") {
  for (const CollectiveKind kind : kAllCollectiveKinds)
    for (const Cuboid& cuboid : kCuboids)
      for (const collectives::Algorithm& algorithm : collectives::algorithms())
        if (algorithm.supports(kind) && !algorithm.is_in_network())
          check_plan(kind, cuboid, std::vector<std::string>(cuboid.sizes.size() + 1, std::string(algorithm.name)));
}

TEST_CASE("any dimension may add up in its switches, between the halves on the others") {
  for (const CollectiveKind kind : kAllCollectiveKinds) {
    if (!collectives::find_algorithm("in-network")->supports(kind)) continue;
    for (const Cuboid& cuboid :
         std::vector<Cuboid>{{{5}}, {{2, 2}}, {{3, 2}}, {{2, 3}}, {{4, 3}}, {{2, 2, 2}}, {{2, 3, 2}}}) {
      for (std::size_t place = 0; place < cuboid.sizes.size(); ++place) {
        std::vector<std::string> algorithms(cuboid.sizes.size(), "ring");
        algorithms[place] = "in-network";
        check_plan(kind, cuboid, algorithms);
      }
      check_plan(kind, cuboid, std::vector<std::string>(cuboid.sizes.size(), "in-network"));
    }
    if (kind == kAllReduce) check_plan(kind, {{2, 3}}, {"in-network", "server"});
    check_plan(kind, {{2, 3, 2}, {0, 0, 1}}, {"bidirectional-ring", "bidirectional-ring", "in-network"});
  }
}

// One torus; a torus, then a dimension of its own; two tori; an axis of one in the middle of a torus.
TEST_CASE("the parts of tori and of bidirectional rings do what the collective means") {
  const std::string ring = "bidirectional-ring";
  for (const CollectiveKind kind : kAllCollectiveKinds) {
    for (const bool both_ways : {false, true}) {
      check_plan(kind, {{5}, {0}, both_ways}, {ring});
      check_plan(kind, {{3, 4}, {0, 0}, both_ways}, {ring, ring});
      check_plan(kind, {{2, 3, 2}, {0, 0, 0}, both_ways}, {ring, ring, ring});
      check_plan(kind, {{3, 1, 2}, {0, 0, 0}, both_ways}, {ring, ring, ring});
      check_plan(kind, {{2, 2, 2, 2}, {0, 0, 1, 1}, both_ways}, {ring, ring, ring, ring});
    }
    check_plan(kind, {{2, 3, 2}, {0, 0, 1}}, {ring, ring, "halving-doubling"});
    check_plan(kind, {{3, 2, 2}, {0, 1, 1}}, {"direct", ring, ring});
  }
}

TEST_CASE("chunks may go through the dimensions in any order") {
  for (const CollectiveKind kind :
       {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kAllGather}) {
    std::vector<std::uint32_t> order = {0, 1, 2};
    do {
      check_plan(kind, {{2, 3, 2}, {}, false, order}, {"ring", "direct", "halving-doubling"});
      check_plan(kind, {{2, 2, 3, 2}, {0, 0, 1, 2}, true, order}, std::vector<std::string>(4, "bidirectional-ring"));
    } while (std::ranges::next_permutation(order).found);
  }
}

// A whole all-reduce, or one by a root, below, between and above dimensions with shards.
TEST_CASE("an all-reduce may hand out shards on some dimensions and not on others") {
  const std::vector<std::string> names = {"ring", "recursive-doubling", "server"};
  for (const std::string& first : names)
    for (const std::string& second : names)
      for (const std::string& third : names) check_plan(kAllReduce, {{2, 3, 2}}, {first, second, third});
  check_plan(kAllReduce, {{4, 3}}, {"double-binary-tree", "one-by-one"});
  check_plan(kAllReduce, {{3, 2, 2}, {0, 0, 1}, true}, {"bidirectional-ring", "bidirectional-ring", "server"});
  check_plan(kAllReduce, {{2, 3, 2}, {0, 1, 1}, true}, {"server", "bidirectional-ring", "bidirectional-ring"});
}

TEST_CASE("each axis may have an algorithm of its own") {
  for (const CollectiveKind kind : kAllCollectiveKinds) {
    check_plan(kind, {{2, 3, 2}}, {"ring", "halving-doubling", "direct"});
    check_plan(kind, {{3, 4}}, {"direct1", "ring"});
  }
}

}  // namespace
}  // namespace orrery
