// SPDX-License-Identifier: MIT
#include "core/in_parallel.h"

#include <sched.h>

#include <catch2/catch.hpp>

namespace orrery {
namespace {

TEST_CASE("Who is bound to one core has one thread") {
  cpu_set_t before;
  REQUIRE(::sched_getaffinity(0, sizeof before, &before) == 0);
  CHECK(hardware_threads() == static_cast<unsigned>(CPU_COUNT(&before)));
  std::size_t first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  const unsigned bound = hardware_threads();
  REQUIRE(::sched_setaffinity(0, sizeof before, &before) == 0);
  CHECK(bound == 1);
  CHECK(hardware_threads() == static_cast<unsigned>(CPU_COUNT(&before)));
}

}  // namespace
}  // namespace orrery
