// SPDX-License-Identifier: MIT
// Values that points share: each made once, and again where making it failed.
#include "study/points/shared.h"

#include <atomic>
#include <stdexcept>
#include <vector>

#include <catch2/catch.hpp>

#include "core/in_parallel.h"

using namespace orrery;
using namespace orrery::study;

TEST_CASE("a value is made once for each key, whichever thread asks first") {
  SharedValues<std::string> values;
  std::atomic<int> made = 0;
  std::vector<std::string> found(40);
  in_parallel(found.size(), 4, [&](std::size_t i) {
    const std::string key = i % 2 == 0 ? "even" : "odd";
    found[i] = values.get(key, [&] { return ++made, key + "!"; });
  });
  CHECK(made == 2);
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == (i % 2 == 0 ? "even!" : "odd!"));
}

TEST_CASE("a value that could not be made is made by the next that wants it") {
  SharedValues<int> values;
  CHECK_THROWS_AS(values.get("a", []() -> int { throw std::runtime_error("no"); }), std::runtime_error);
  CHECK(values.get("a", [] { return 7; }) == 7);
  CHECK(values.get("a", [] { return 8; }) == 7);
}
