// SPDX-License-Identifier: MIT
#include "core/small_vector.h"

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

using namespace orrery;

namespace {

using Few = SmallVector<int, 2>;

std::vector<int> items_of(const Few& few) { return {few.begin(), few.end()}; }

Few filled(int count) {
  Few few;
  for (int item = 0; item < count; ++item) few.push_back(item);
  return few;
}

}  // namespace

TEST_CASE("a small vector keeps its items when they no longer stand in it") {
  Few few;
  CHECK(few.empty());
  for (int item = 0; item < 5; ++item) {
    few.push_back(item);
    CHECK(few.back() == item);
    CHECK(std::as_const(few).back() == item);
    CHECK(few.front() == 0);
  }
  CHECK(items_of(few) == std::vector{0, 1, 2, 3, 4});
  few.pop_back();
  few.erase(few.begin() + 1);
  CHECK(items_of(few) == std::vector{0, 2, 3});
  few.erase_first(3);
  few.erase_first(7);
  CHECK(items_of(few) == std::vector{0, 2});
}

TEST_CASE("copies of a small vector are of their own, and a move leaves nothing") {
  for (const int count : {0, 1, 2, 3, 9}) {
    Few few = filled(count);
    Few copy = few;
    copy.push_back(-1);
    CHECK(few.size() == static_cast<std::uint32_t>(count));
    CHECK(copy.size() == static_cast<std::uint32_t>(count) + 1);
    Few assigned = filled(4);
    assigned = few;
    CHECK(items_of(assigned) == items_of(few));
    Few moved = std::move(few);
    CHECK(items_of(moved) == items_of(assigned));
    CHECK(few.empty());
    assigned = std::move(moved);
    CHECK(assigned.size() == static_cast<std::uint32_t>(count));
    few.push_back(5);
    CHECK(items_of(few) == std::vector{5});
  }
}
