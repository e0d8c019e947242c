// SPDX-License-Identifier: MIT
// Messages that are on one link at a time are found, and no others.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "system/tape/link_bookings.h"

using namespace orrery;
using namespace orrery::system;

namespace {

using Message = LinkBookings::Message;

Time at(std::int64_t picoseconds) { return Time(Duration(picoseconds)); }

// Users 0 and 1 share link 5, user 2 has link 7 to itself, user 3 is a communicator alone on link 8.
LinkBookings bookings() {
  LinkBookings all;
  all.add(0, 0, false, std::array{LinkId(4), LinkId(5)});
  all.add(1, 1, false, std::array{LinkId(5), LinkId(6)});
  all.add(2, 2, false, std::array{LinkId(7)});
  all.add(3, 3, true, std::array{LinkId(8)});
  all.close(4);
  return all;
}

bool has(const LinkBookings& all, Message message) {
  return std::ranges::find(all.conflicts(), message) != all.conflicts().end();
}

}  // namespace

TEST_CASE("only who has links with others may meet some") {
  const LinkBookings all = bookings();
  CHECK(all.may_meet(0));
  CHECK(all.may_meet(2));  // its own
  CHECK(!all.may_meet(3));
  CHECK(all.may_meet_sends(0));
  CHECK(!all.may_meet_sends(3));
}

TEST_CASE("messages that touch do not meet, whatever the order in which they are booked") {
  LinkBookings all = bookings();
  all.book(0, at(10), at(20), {0, 1}, false);
  all.book(0, at(30), at(40), {0, 2}, false);
  all.book(1, at(20), at(30), {1, 1}, false);
  all.book(1, at(0), at(10), {1, 2}, false);
  all.book(2, at(0), at(100), {2, 1}, false);
  CHECK(all.conflicts().empty());
  all.book(1, at(39), at(50), {1, 3}, false);
  CHECK(all.conflicts().size() == 2);
  CHECK(has(all, {0, 2}));
  CHECK(has(all, {1, 3}));
}

TEST_CASE("a message meets all that it is beside, its own predecessors among them") {
  LinkBookings all = bookings();
  all.book(0, at(10), at(20), {0, 1}, false);
  all.book(1, at(20), at(30), {1, 1}, false);
  all.book(0, at(5), at(25), {0, 2}, false);
  CHECK(has(all, {0, 1}));
  CHECK(has(all, {1, 1}));
  CHECK(has(all, {0, 2}));
  LinkBookings own = bookings();
  own.book(2, at(0), at(10), {2, 1}, false);
  own.book(2, at(9), at(12), {2, 2}, false);
  CHECK(own.conflicts().size() == 2);
}

TEST_CASE("messages that go by the network meet those that do not") {
  LinkBookings all = bookings();
  all.book(1, at(29), at(31), {1, 2}, false);
  all.book(0, at(10), at(30), {0, 1}, true);
  all.book(1, at(10), at(30), {1, 1}, true);
  CHECK(has(all, {0, 1}));
  CHECK(has(all, {1, 1}));
  CHECK(has(all, {1, 2}));
  all.book(1, at(31), at(40), {1, 3}, false);
  CHECK(!all.has_lost_track());
  all.book(0, at(29), at(35), {0, 2}, false);
  CHECK(all.has_lost_track());
}

TEST_CASE("a message that comes long after later ones is not taken for one that meets none") {
  LinkBookings all = bookings();
  for (int i = 0; i < 1000; ++i) all.book(0, at(10 * i), at(10 * i + 5), {0, 1}, false);
  CHECK(!all.has_lost_track());
  all.book(1, at(9995), at(9999), {1, 1}, false);
  CHECK(!all.has_lost_track());
  all.book(1, at(6), at(9), {1, 2}, false);
  CHECK(all.has_lost_track());
}
