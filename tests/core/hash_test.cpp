// SPDX-License-Identifier: MIT
#include "core/hash.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <set>
#include <vector>

#include "core/units.h"

using namespace orrery;

namespace {

template <class Element>
std::uint64_t digest_of_column(const std::vector<Element>& column) {
  ContentDigest digest;
  digest.add_column(column);
  return digest.value();
}

}  // namespace

TEST_CASE("a digest of a column tells its elements, their places and their number apart, of numbers and of units") {
  const std::set<std::uint64_t> numbers = {digest_of_column<int>({}), digest_of_column<int>({0}),
                                           digest_of_column<int>({0, 0}), digest_of_column<int>({1, 2}),
                                           digest_of_column<int>({2, 1})};
  CHECK(numbers.size() == 5);
  const std::set<std::uint64_t> units = {
      digest_of_column<Bytes>({}), digest_of_column<Bytes>({Bytes(0)}), digest_of_column<Bytes>({Bytes(0), Bytes(0)}),
      digest_of_column<Bytes>({Bytes(1), Bytes(2)}), digest_of_column<Bytes>({Bytes(2), Bytes(1)})};
  CHECK(units == numbers);
  CHECK(digest_of_column<Duration>({Duration(1)}) != digest_of_column<Duration>({Duration(2)}));
}

TEST_CASE("a digest tells where one column ends and the next begins, and under which seed it was taken") {
  const auto digest_of = [](std::uint64_t seed, const std::vector<int>& first, const std::vector<int>& second) {
    ContentDigest digest(seed);
    digest.add_column(first);
    digest.add_column(second);
    return digest.value();
  };
  CHECK(digest_of(0, {1, 2}, {3}) == digest_of(0, {1, 2}, {3}));
  CHECK(digest_of(0, {1, 2}, {3}) != digest_of(0, {1}, {2, 3}));
  CHECK(digest_of(0, {1, 2}, {3}) != digest_of(1, {1, 2}, {3}));
}

TEST_CASE("a hash of a sequence is by its order and its length") {
  CHECK(hash_of({1, 2}) != hash_of({2, 1}));
  CHECK(hash_of({1}) != hash_of({1, 0}));
  CHECK(hash_of({1, 2}) == hash_of({1, 2}));
}
