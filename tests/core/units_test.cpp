// SPDX-License-Identifier: MIT
#include "core/units.h"

#include <catch2/catch.hpp>

using namespace orrery;

namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Dividable = requires(A a, B b) {
  a / b;
};

static_assert(!Addable<Time, Time>);
static_assert(Addable<Time, Duration>);
static_assert(!Addable<Bytes, Bandwidth>);
static_assert(!Addable<Bytes, int>);
static_assert(Dividable<Bytes, Bandwidth>);
static_assert(!Dividable<Bandwidth, Bytes>);
static_assert(!Dividable<Flops, Bandwidth>);

}  // namespace

TEST_CASE("a transfer is rounded up to a picosecond") {
  // 1 byte at 3 B/s: 333,333,333,333.33 ps.
  CHECK(Bytes(1) / Bandwidth(3) == Duration(333'333'333'334));
  CHECK(Bytes(3) / Bandwidth(3) == std::chrono::seconds(1));
  CHECK(Bytes(0) / Bandwidth(3) == Duration::zero());
}

TEST_CASE("a transfer longer than 106 days saturates instead of overflowing") {
  CHECK(Bytes::max() / Bandwidth(1) == Duration::max());
  CHECK(saturating_add(Duration::max(), Duration(1)) == Duration::max());
}

TEST_CASE("a sum of bytes stops at the largest, and takes away what is negative") {
  CHECK(saturating_add(Bytes::max(), Bytes(1)) == Bytes::max());
  CHECK(saturating_add(Bytes::max(), Bytes(0)) == Bytes::max());
  CHECK(saturating_add(Bytes::max(), Bytes(-1)) == Bytes::max() - Bytes(1));
  CHECK(saturating_add(Bytes(2), Bytes(3)) == Bytes(5));
}

TEST_CASE("a part of a split is rounded up, also of the largest sizes") {
  CHECK(ceil_div(Bytes(9), 3) == Bytes(3));
  CHECK(ceil_div(Bytes(10), 3) == Bytes(4));
  CHECK(ceil_div(Bytes(0), 3) == Bytes(0));
  CHECK(ceil_div(Bytes::max(), 1) == Bytes::max());
  CHECK(ceil_div(Bytes::max(), 2) == Bytes(std::int64_t{1} << 62));  // (2^63 - 1) / 2, rounded up
}

TEST_CASE("a 128-bit intermediate keeps large transfers exact") {
  // 2^50 B at 10^9 B/s: 1,125,899,906,842,624 ns exactly.
  CHECK(Bytes(std::int64_t{1} << 50) / Bandwidth(1'000'000'000) == Duration(1'125'899'906'842'624'000));
}
