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

// 8 and 24 have one place among the times that were scheduled for last, as they differ by 16.
TEST_CASE("times that come up again and again are told apart") {
  EventQueue queue;
  for (const Ticks time : std::vector<Ticks>{8, 24, 8, 24, 40})
    queue.at(time, {EventKind::kDelivery, static_cast<std::uint32_t>(time), 0});
  std::vector<std::uint32_t> order;
  std::vector<Ticks> times;
  while (!queue.empty())
    queue.proceed([&](const Event& event) {
      if (times.empty() || times.back() != queue.now()) times.push_back(queue.now());
      order.push_back(event.a);
      if (queue.now() == 24 && order.size() == 3) queue.at(24, {EventKind::kDelivery, 25, 0});
    });
  CHECK(order == std::vector<std::uint32_t>{8, 8, 24, 24, 25, 40});
  CHECK(times == std::vector<Ticks>{8, 24, 40});
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
