// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <vector>

#include "astra/engine/events.h"
#include "astra/engine/flat_table.h"
#include "core/hash.h"

namespace orrery::astra {

TEST_CASE("events of one instant run in the order in which they were scheduled, also those that join it") {
  EventQueue queue;
  queue.at(20, {EventKind::kDelivery, 1, 0});
  queue.at(10, {EventKind::kDelivery, 2, 0});
  queue.at(20, {EventKind::kDelivery, 3, 0});
  std::vector<std::uint32_t> order;
  while (!queue.empty())
    queue.proceed([&](const Event& event) {
      order.push_back(event.a);
      if (event.a == 2) queue.at(10, {EventKind::kDelivery, 4, 0});
      if (event.a == 4) queue.at(20, {EventKind::kDelivery, 5, 0});
    });
  CHECK(order == std::vector<std::uint32_t>{2, 4, 1, 3, 5});
  CHECK(queue.now() == 20);
  CHECK(queue.count() == 5);
}

TEST_CASE("the timers of a rank for one instant are one event, where the first of them stands") {
  EventQueue queue;
  Timers timers(queue);
  const auto timer = [](std::uint32_t number) { return Timer{TimerKind::kComputed, false, number, 0, 0}; };
  timers.set(0, 10, timer(1));
  timers.set(1, 10, timer(2));
  timers.set(0, 10, timer(3));
  std::vector<std::uint32_t> order;
  while (!queue.empty())
    queue.proceed([&](const Event& event) {
      timers.fire(event, [&](std::uint32_t rank, const Timer& fired) {
        order.push_back(10 * rank + fired.a);
        if (fired.a == 1) timers.set(0, 0, timer(4));  // joins the event that runs
      });
    });
  CHECK(order == std::vector<std::uint32_t>{1, 3, 4, 12});
}

TEST_CASE("a table finds what a map finds, through growth and erasure") {
  FlatTable<2> table;
  std::map<std::array<std::uint64_t, 2>, std::uint32_t> map;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const std::array<std::uint64_t, 2> key = {mixed(i) % 97, mixed(i + 1) % 61};
    if (mixed(i + 2) % 3 == 0) {
      table.erase(key);
      map.erase(key);
    } else {
      table[key] = map[key] = static_cast<std::uint32_t>(i);
    }
  }
  CHECK(table.size() == map.size());
  for (std::uint64_t a = 0; a < 97; ++a)
    for (std::uint64_t b = 0; b < 61; ++b) {
      const auto found = map.find({a, b});
      REQUIRE(table.find({a, b}) == (found == map.end() ? FlatTable<2>::kNone : found->second));
    }
}

}  // namespace orrery::astra
