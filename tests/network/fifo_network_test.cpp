// SPDX-License-Identifier: MIT
#include "network/models/fifo.h"

#include <catch2/catch.hpp>
#include <queue>
#include <random>

#include "core/error.h"
#include "network/models/alpha_beta.h"
#include "tests/network/flow/probe.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::test;

namespace {

constexpr std::int64_t kBytePerPicosecond = 1'000'000'000'000;

using FifoProbe = Probe<FifoNetwork>;

}  // namespace

TEST_CASE("a lone message pays bytes / bandwidth and the latency on every hop") {
  // 10 bytes at 7 B/s: ceil(10 / 7 s) = 1428571428572 ps. The switch halves its latency: 50 up, 51 down.
  FifoProbe probe({dimension("switch", 2, 7, 101)});
  probe.at(5, [&] { probe.send(0, 1, 10, 1); });
  CHECK(probe.run() ==
        std::vector<Notice>{{5 + 1'428'571'428'572, 1, "released"}, {5 + 2 * 1'428'571'428'572 + 101, 1, "arrived"}});
  FifoProbe ring({dimension("ring", 8, kBytePerPicosecond, 7)});
  ring.at(0, [&] { ring.send(0, 3, 100, 1); });
  CHECK(ring.run() == std::vector<Notice>{{100, 1, "released"}, {321, 1, "arrived"}});
}

TEST_CASE("messages for one link go one after the other, those of one instant by their places") {
  FifoProbe probe({dimension("ring", 4, kBytePerPicosecond, 5)});
  probe.at(0, [&] {
    probe.send(0, 1, 100, 2);
    probe.send(0, 1, 300, 1);
  });
  probe.at(50, [&] { probe.send(0, 1, 10, 3); });
  CHECK(probe.run() == std::vector<Notice>{{300, 1, "released"},
                                           {305, 1, "arrived"},
                                           {400, 2, "released"},
                                           {405, 2, "arrived"},
                                           {410, 3, "released"},
                                           {415, 3, "arrived"}});
}

TEST_CASE("incast: the first links work side by side, the last one message at a time") {
  // All three come to the link down at 100 + 1 and queue by their places, here their numbers, however they were
  // started.
  FifoProbe probe({dimension("switch", 4, kBytePerPicosecond, 2)});
  probe.at(0, [&] {
    for (const std::uint32_t from : {3U, 1U, 2U}) probe.send(from, 0, 100, from);
  });
  probe.run();
  for (const std::uint32_t id : {1U, 2U, 3U}) CHECK(probe.released(id) == 100);
  CHECK(probe.arrived(1) == 101 + 100 + 1);
  CHECK(probe.arrived(2) == 101 + 200 + 1);
  CHECK(probe.arrived(3) == 101 + 300 + 1);
}

TEST_CASE("what comes to a link first is sent first, whoever was started first") {
  // On a ring, the first message comes to link 1 -> 2 at 500 + 10; the second is there at 400.
  FifoProbe probe({dimension("ring", 8, kBytePerPicosecond, 10)});
  probe.at(0, [&] { probe.send(0, 2, 500, 1); });
  probe.at(400, [&] { probe.send(1, 2, 300, 2); });
  probe.run();
  CHECK(probe.arrived(2) == 400 + 300 + 10);
  CHECK(probe.arrived(1) == 700 + 500 + 10);
}

TEST_CASE("messages one behind the other use the hops of a route at the same time") {
  FifoProbe probe({dimension("ring", 8, kBytePerPicosecond, 0)});
  probe.at(0, [&] {
    for (std::uint32_t id = 0; id < 4; ++id) probe.send(0, 3, 100, id);
  });
  probe.run();
  for (std::uint32_t id = 0; id < 4; ++id) {
    CHECK(probe.released(id) == 100 + 100 * static_cast<std::int64_t>(id));
    CHECK(probe.arrived(id) == 300 + 100 * static_cast<std::int64_t>(id));
  }
}

TEST_CASE("a message without bytes waits for its turn and takes no time; one to itself waits for nobody") {
  FifoProbe probe({dimension("ring", 4, kBytePerPicosecond, 5)});
  probe.at(0, [&] {
    probe.send(0, 1, 100, 1);
    probe.send(0, 1, 0, 2);
    probe.send(0, 0, 1000, 3);
    probe.send(2, 3, 0, 4);
    CHECK(probe.notices.empty());
  });
  CHECK(probe.run() == std::vector<Notice>{{0, 3, "arrived"},
                                           {0, 3, "released"},
                                           {0, 4, "released"},
                                           {5, 4, "arrived"},
                                           {100, 1, "released"},
                                           {100, 2, "released"},
                                           {105, 1, "arrived"},
                                           {105, 2, "arrived"}});
}

TEST_CASE("links count the bytes that cross them and the time in which they send") {
  FifoProbe probe({dimension("switch", 3, kBytePerPicosecond, 10)});
  probe.at(0, [&] {
    probe.send(0, 1, 100, 1);
    probe.send(0, 2, 30, 2);
  });
  probe.at(500, [&] { probe.send(2, 1, 7, 3); });
  probe.run();
  const std::vector<LinkUsage> usage = probe.network.link_usage();
  const std::vector<std::int64_t> expected = {130, 0, 7, 0, 107, 30};
  for (std::size_t link = 0; link < expected.size(); ++link) {
    CHECK(usage[link].bytes == Bytes(expected[link]));
    CHECK(usage[link].busy == Duration(expected[link]));  // a byte takes a picosecond
  }
}

TEST_CASE("a message that is started when another is released follows it without a gap") {
  FifoProbe probe({dimension("ring", 4, kBytePerPicosecond, 3)});
  probe.when_released = [&](std::uint32_t id) {
    if (id < 5) probe.send(0, 1, 10, id + 1);
  };
  probe.at(0, [&] { probe.send(0, 1, 10, 1); });
  probe.run();
  for (std::uint32_t id = 1; id <= 5; ++id) CHECK(probe.released(id) == 10 * static_cast<std::int64_t>(id));
}

TEST_CASE("random messages arrive when a list of hops in the order of their times says") {
  // Independent of events: take the hop with the earliest (time of coming, start), send it when its link is free.
  std::mt19937 random(41);
  const auto below = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  struct Hop {
    std::int64_t time;
    std::uint32_t message;
    std::size_t hop;
    auto operator<=>(const Hop&) const = default;
  };
  for (int instance = 0; instance < 50; ++instance) {
    FifoProbe probe({dimension("ring", 3 + below(8), kBytePerPicosecond, 1 + below(30)),
                     dimension("switch", 1 + below(4), kBytePerPicosecond / 2, 2 + below(30))});
    std::priority_queue<Hop, std::vector<Hop>, std::greater<>> hops;
    std::vector<std::vector<LinkId>> routes;
    std::vector<std::int64_t> sizes;
    std::int64_t now = 0;
    for (std::uint32_t id = 0; id < 200; ++id) {
      now += below(3) * below(20);
      const std::uint32_t from = below(probe.fabric.device_count());
      const std::uint32_t to = below(probe.fabric.device_count());
      sizes.push_back(below(5) == 0 ? 0 : 10 * below(20));
      probe.at(now, [&probe, &sizes, from, to, id] { probe.send(from, to, sizes[id], id); });
      probe.fabric.route(DeviceId(from), DeviceId(to), routes.emplace_back());
      hops.push({now, id, 0});
    }
    probe.run();
    std::vector<std::int64_t> free_at(probe.fabric.link_count(), 0);
    while (!hops.empty()) {
      const Hop hop = hops.top();
      hops.pop();
      if (hop.hop == routes[hop.message].size()) {
        REQUIRE(probe.arrived(hop.message) == hop.time);
        continue;
      }
      const LinkId id = routes[hop.message][hop.hop];
      const Link& link = probe.fabric.link(id);
      std::int64_t& free = free_at[index_of(id)];
      free = std::max(free, hop.time) + (Bytes(sizes[hop.message]) / link.bandwidth).count();
      if (hop.hop == 0) REQUIRE(probe.released(hop.message) == free);
      hops.push({free + link.latency.count(), hop.message, hop.hop + 1});
    }
  }
}

TEST_CASE("absurd sizes end in an error, not in an overflow, where messages wait for each other") {
  FifoProbe slow({dimension("ring", 2, 1, 1)});
  slow.at(0, [&] { slow.send(0, 1, Bytes::max().count(), 1); });
  CHECK_THROWS_AS(slow.run(), InputError);  // longer than 106 days
  FifoProbe far({dimension("ring", 8, 1, Duration::max().count() / 2)});
  far.at(0, [&] { far.send(0, 4, 1, 1); });
  CHECK_THROWS_AS(far.run(), InputError);  // four latencies of 53 days
  FifoProbe fast({dimension("ring", 2, Bandwidth::max().count(), 1)});
  fast.at(0, [&] {
    fast.send(0, 1, Bytes::max().count(), 1);
    fast.send(0, 1, Bytes::max().count(), 2);
  });
  fast.run();
  CHECK(fast.network.link_usage()[0].bytes == Bytes::max());
}
