// SPDX-License-Identifier: MIT
#include "core/paged.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <iterator>
#include <random>
#include <vector>

#include "core/paged_array.h"

using namespace orrery;

namespace {

constexpr std::size_t kPage = 64;  // items

}  // namespace

TEST_CASE("a page is there from its first item that is opened to its last that is finished") {
  Paged<int> paged(kPage + 3);
  CHECK(paged.find(0) == nullptr);
  paged.open(1) = 7;
  REQUIRE(paged.find(0) != nullptr);
  CHECK(*paged.find(0) == 0);
  CHECK(*paged.find(1) == 7);
  CHECK(paged.find(kPage) == nullptr);
  // The second page has three items, the last of them is 66.
  for (const std::size_t item : {kPage + 2, kPage, kPage + 1}) {
    CHECK_FALSE(paged.has_finished_page(kPage));
    paged.open(item);
    paged.finish(item);
  }
  CHECK(paged.has_finished_page(kPage));
  CHECK(paged.find(kPage) == nullptr);
  CHECK(*paged.find(1) == 7);
}

TEST_CASE("a page that takes the place of a finished one begins anew") {
  Paged<int> paged(2 * kPage);
  for (std::size_t item = 0; item < kPage; ++item) {
    paged.open(item) = 9;
    paged.finish(item);
  }
  for (std::size_t item = kPage; item < 2 * kPage; ++item) CHECK(paged.open(item) == 0);
}

TEST_CASE("what is opened stays until its page is finished, in any order, and a copy goes its own way") {
  std::mt19937 random(3);
  constexpr std::size_t kSize = 1000;
  std::vector<std::size_t> order(kSize);
  for (std::size_t item = 0; item < kSize; ++item) order[item] = item;
  std::ranges::shuffle(order, random);
  Paged<std::size_t> paged(kSize);
  for (const std::size_t item : order) paged.open(item) = item;
  Paged<std::size_t> copy = paged;
  for (std::size_t done = 0; done < kSize; ++done) {
    CHECK(*paged.find(order[done]) == order[done]);
    paged.finish(order[done]);
  }
  for (std::size_t item = 0; item < kSize; ++item) {
    CHECK(paged.has_finished_page(item));
    CHECK(*copy.find(item) == item);
  }
}

TEST_CASE("an array in pages has room for its last value, whatever its size") {
  for (const std::size_t size : {1UL, 255UL, 256UL, 257UL, 513UL}) {
    PagedArray<int> array(size);
    CHECK(array.at(size - 1) == 0);
    array.own(size - 1) = 1;
    CHECK(array.at(size - 1) == 1);
    std::size_t last = 0;
    array.for_each_own([&](std::size_t index, int) { last = index; });
    CHECK(last == size - 1);
  }
}

TEST_CASE("an array in pages has its first value wherever nothing else was written, and visits what was") {
  constexpr std::size_t kWritten[] = {3, 255, 256, 599};
  PagedArray<int> array(600, 7);
  for (const std::size_t index : kWritten) array.own(index) = static_cast<int>(index);
  CHECK(array.size() == 600);
  std::vector<std::size_t> others;
  for (std::size_t index = 0; index < array.size(); ++index)
    if (array.at(index) != 7) others.push_back(index);
  CHECK(others == std::vector<std::size_t>(std::begin(kWritten), std::end(kWritten)));
  std::vector<std::size_t> visited;
  array.for_each_own([&](std::size_t index, int value) {
    CHECK(value == array.at(index));
    visited.push_back(index);
  });
  CHECK(std::ranges::is_sorted(visited));
  CHECK(std::ranges::adjacent_find(visited) == visited.end());
  CHECK(std::ranges::includes(visited, kWritten));
  CHECK(visited.back() < array.size());
  PagedArray<int> sparse(100'000);
  sparse.own(70'000) = 1;
  std::size_t seen = 0;
  sparse.for_each_own([&](std::size_t, int) { ++seen; });
  CHECK(seen < 1000);  // the rest takes no memory
}
