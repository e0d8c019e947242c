// SPDX-License-Identifier: MIT
// The table of algorithms and how names are read.
#include <catch2/catch.hpp>

#include "collectives/algorithms.h"

namespace orrery {
namespace {

TEST_CASE("every algorithm is found by its name and says what it does and costs") {
  for (const collectives::Algorithm& algorithm : collectives::algorithms()) {
    INFO(algorithm.name);
    REQUIRE(collectives::find_algorithm(algorithm.name).has_value());
    CHECK(collectives::find_algorithm(algorithm.name)->name == algorithm.name);
    CHECK(!collectives::find_algorithm(algorithm.name)->window.has_value());
    CHECK(!algorithm.description.empty());
    for (const CollectiveKind kind : kAllCollectiveKinds) {
      CHECK(algorithm.cost(kind).empty() != algorithm.supports(kind));
    }
  }
}

TEST_CASE("switches add up, copy and meet, and hand out no shares") {
  using enum CollectiveKind;
  const collectives::Algorithm in_network = collectives::find_algorithm("in-network").value();
  for (const CollectiveKind kind : kAllCollectiveKinds) {
    INFO(name_of(kind));
    CHECK(in_network.supports(kind) ==
          (kind == kAllReduce || kind == kReduce || kind == kBroadcast || kind == kBarrier));
  }
  CHECK(in_network.is_in_network());
  CHECK(in_network.all_reduce_by() == collectives::AllReduceBy::kLast);
  CHECK(collectives::find_algorithm("ring")->all_reduce_by() == collectives::AllReduceBy::kShards);
  CHECK(collectives::find_algorithm("server")->all_reduce_by() == collectives::AllReduceBy::kRoot);
  CHECK(collectives::find_algorithm("recursive-doubling")->all_reduce_by() == collectives::AllReduceBy::kWhole);
  CHECK_FALSE(collectives::find_algorithm("ring")->is_in_network());
}

TEST_CASE("another name stands for an algorithm of the table, and is no name of its own") {
  for (const collectives::AlgorithmAlias& alias : collectives::algorithm_aliases()) {
    INFO(alias.name);
    const auto found = collectives::find_algorithm(alias.name);
    REQUIRE(found.has_value());
    CHECK(alias.algorithm.starts_with(found->name));
    CHECK(found->name != alias.name);
    CHECK(found->supports(CollectiveKind::kAllReduce));
    CHECK(!alias.description.empty());
  }
  CHECK(collectives::find_algorithm("one-by-one-partitioned")->window == 1U);
}

TEST_CASE("a number after direct is its window") {
  CHECK(collectives::find_algorithm("direct1").value().window == 1U);
  CHECK(collectives::find_algorithm("direct4").value().window == 4U);
  CHECK(collectives::find_algorithm("direct4").value().name == "direct");
  CHECK(collectives::find_algorithm("direct4294967295").value().window == 4294967295U);
}

TEST_CASE("names that are no algorithm are not found") {
  for (const char* name : {"", "Ring", "rings", "ring4", "halving-doubling2", "dir", "direct0", "direct04", "direct-1",
                           "direct+1", "direct 4", "direct4x", "direct4294967296", "direct99999999999999999999"}) {
    INFO(name);
    CHECK(!collectives::find_algorithm(name).has_value());
  }
}

}  // namespace
}  // namespace orrery
