// SPDX-License-Identifier: MIT
#include "core/in_parallel.h"

#include <sched.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace orrery;

TEST_CASE("each piece of work is done once, by no more threads than are asked for") {
  for (const std::size_t count : {0UL, 1UL, 2UL, 3UL, 100UL})
    for (const unsigned threads : {1U, 2U, 3U, 8U}) {
      std::mutex guard;
      std::set<std::thread::id> workers;
      std::vector<int> calls(count, 0);
      in_parallel(count, threads, [&](std::size_t i) {
        const std::lock_guard lock(guard);
        workers.insert(std::this_thread::get_id());
        ++calls[i];
      });
      CHECK(std::ranges::count(calls, 1) == static_cast<std::ptrdiff_t>(count));
      CHECK(workers.size() <= std::min<std::size_t>(threads, count));
      if (threads == 1 && count > 0) CHECK(workers == std::set{std::this_thread::get_id()});
    }
}

TEST_CASE("pieces of work are under way at the same time, as many as there are threads") {
  std::mutex guard;
  std::condition_variable met;
  unsigned here = 0, seen = 0;
  in_parallel(3, 3, [&](std::size_t) {
    std::unique_lock lock(guard);
    ++here;
    met.notify_all();
    met.wait_for(lock, std::chrono::minutes(1), [&] { return here == 3; });
    seen += here;
  });
  CHECK(seen == 3 * 3);
}

TEST_CASE("no more pieces of work are under way than there are threads") {
  for (const unsigned threads : {1U, 2U}) {
    std::mutex guard;
    std::condition_variable met;
    unsigned here = 0, most = 0;
    in_parallel(threads + 1, threads, [&](std::size_t) {
      std::unique_lock lock(guard);
      most = std::max(most, ++here);
      met.notify_all();
      met.wait_for(lock, std::chrono::milliseconds(50), [&] { return here > threads; });
      --here;
    });
    CHECK(most <= threads);
  }
}

TEST_CASE("progress counts what is done, and the first piece that failed is the one told of, when all are done") {
  for (const unsigned threads : {1U, 4U}) {
    std::vector<std::uint64_t> shown;
    std::vector<char> done(20, 0);
    const auto work = [&](std::size_t i) {
      done[i] = 1;
      if (i % 5 == 3) throw std::runtime_error(std::to_string(i));
    };
    const auto progress = [&](std::uint64_t now, std::uint64_t all) { shown.push_back(all == 20 ? now : 0); };
    CHECK_THROWS_WITH(in_parallel(20, threads, work, progress), "3");
    CHECK(std::ranges::count(done, 1) == 20);
    CHECK(shown.size() == 20);
    CHECK(std::ranges::is_sorted(shown));
    CHECK(shown.back() == 20);
  }
}

TEST_CASE("who is bound to one core has one thread") {
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
