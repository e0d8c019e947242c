// SPDX-License-Identifier: MIT
#include "core/slab.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>

using namespace orrery;

TEST_CASE("a slab hands a number out again once its thing is gone, and keeps all others") {
  Slab<std::string> slab;
  const std::uint32_t first = slab.put("first"), second = slab.put("second");
  CHECK(first != second);
  slab.release(first);
  CHECK(slab[first] == "first");
  CHECK(slab.put("third") == first);
  CHECK(slab[first] == "third");
  CHECK(slab[second] == "second");
  const std::string kept = "fourth";
  const std::uint32_t fourth = slab.put(kept);
  CHECK(fourth != first);
  CHECK(fourth != second);
  CHECK(slab[fourth] == "fourth");
}

TEST_CASE("a slab that is filled and emptied again and again grows no further") {
  Slab<int> slab;
  std::uint32_t most = 0;
  for (int round = 0; round < 100; ++round) {
    const std::uint32_t one = slab.put(round), other = slab.put(-round);
    CHECK(slab[one] == round);
    CHECK(slab[other] == -round);
    most = std::max({most, one, other});
    slab.release(one);
    slab.release(other);
  }
  CHECK(most == 1);
}
