// The table of algorithms and how names are read.
#include <catch2/catch.hpp>

#include "collectives/algorithms.h"

namespace orrery {
namespace {

TEST_CASE("every algorithm is found by its name and says what it does and costs") {
  CHECK(algorithm_names() == std::vector<std::string>{"direct", "halving-doubling", "ring"});
  for (const Algorithm& algorithm : algorithms()) {
    INFO(algorithm.name);
    REQUIRE(find_algorithm(algorithm.name).has_value());
    CHECK(find_algorithm(algorithm.name)->name == algorithm.name);
    CHECK(!find_algorithm(algorithm.name)->window.has_value());
    CHECK(!algorithm.description.empty());
    for (const CollectiveKind kind : kAllCollectiveKinds) {
      CHECK(algorithm.supports(kind));
      CHECK(!algorithm.cost(kind).empty());
    }
  }
}

TEST_CASE("a number after direct is its window") {
  CHECK(find_algorithm("direct1").value().window == 1U);
  CHECK(find_algorithm("direct4").value().window == 4U);
  CHECK(find_algorithm("direct4").value().name == "direct");
  CHECK(find_algorithm("direct4294967295").value().window == 4294967295U);
}

TEST_CASE("names that are no algorithm are not found") {
  for (const char* name : {"", "Ring", "rings", "ring4", "halving-doubling2", "dir", "direct0", "direct04", "direct-1",
                           "direct+1", "direct 4", "direct4x", "direct4294967296", "direct99999999999999999999"}) {
    INFO(name);
    CHECK(!find_algorithm(name).has_value());
  }
}

}  // namespace
}  // namespace orrery
