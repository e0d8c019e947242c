// SPDX-License-Identifier: MIT
#include "network/models/alpha_beta.h"

#include <catch2/catch.hpp>
#include <functional>
#include <random>
#include <string>
#include <tuple>

#include "core/error.h"
#include "network/fabric/compose.h"

using namespace orrery;
using namespace orrery::network;

namespace {

using Notice = std::tuple<std::string, std::uint32_t, std::int64_t>;  // what, id of the message, picoseconds

// An engine with a network on it, and what the network reports.
struct Bench final : MessageRecipient, InstantObserver, EventSink {
  Engine engine;
  Fabric fabric;
  AlphaBetaNetwork network;
  std::vector<Notice> notices;
  std::vector<std::function<void()>> actions;

  explicit Bench(const std::vector<DimensionSpec>& dims, BusyTime busy = BusyTime::kRecord)
      : fabric(compose(dims)), network(engine, fabric, busy) {}

  void on_released(std::uint32_t id) override { notices.emplace_back("released", id, now()); }
  void on_arrived(std::uint32_t id) override { notices.emplace_back("arrived", id, now()); }
  void on_event(std::uint64_t action) override { actions[action](); }
  void decide() override {}
  void settle() override { network.settle(); }
  std::int64_t now() const { return engine.now().time_since_epoch().count(); }

  void at(std::int64_t picoseconds, std::function<void()> action) {
    actions.push_back(std::move(action));
    engine.at(Time(Duration(picoseconds)), *this, actions.size() - 1);
  }
  void send(std::uint32_t from, std::uint32_t to, std::int64_t bytes, std::uint32_t id) {
    network.start({network.path(DeviceId(from), DeviceId(to)), Bytes(bytes), this, id});
  }
  Time send_predicted(std::uint32_t from, std::uint32_t to, std::int64_t bytes, std::uint32_t id) {
    return network.start({network.path(DeviceId(from), DeviceId(to)), Bytes(bytes), this, id, true});
  }
  std::vector<Notice> run() {
    engine.run(*this);
    return notices;
  }
};

DimensionSpec dimension(std::string_view topology, std::uint32_t size, std::int64_t bandwidth, std::int64_t latency) {
  return {topology_named(topology), size, Bandwidth(bandwidth), Duration(latency), {}};
}

}  // namespace

TEST_CASE("a message is released after bytes / narrowest link, rounded up, and arrives the latencies later") {
  // Switch of 7 B/s, then a ring of 3 B/s: 10 bytes take ceil(10 / 3 s) = 3333333333334 ps; latency 101 + 2 * 1000.
  Bench bench({dimension("switch", 2, 7, 101), dimension("ring", 5, 3, 1000)});
  bench.at(50, [&] { bench.send(0, 1 + 2 * 2, 10, 42); });
  CHECK(bench.run() ==
        std::vector<Notice>{{"released", 42, 50 + 3'333'333'333'334}, {"arrived", 42, 50 + 3'333'333'333'334 + 2'101}});
}

TEST_CASE("a message without bytes is released in the next round and arrives the latencies later") {
  Bench bench({dimension("ring", 4, 1, 9)});
  bench.at(5, [&] {
    bench.send(0, 1, 0, 1);
    CHECK(bench.notices.empty());
  });
  CHECK(bench.run() == std::vector<Notice>{{"released", 1, 5}, {"arrived", 1, 14}});
}

TEST_CASE("a message from a device to itself is released and arrives at once, whatever its size") {
  Bench bench({dimension("ring", 4, 1, 9)});
  bench.at(5, [&] { bench.send(2, 2, 1'000'000, 1); });
  CHECK(bench.run() == std::vector<Notice>{{"released", 1, 5}, {"arrived", 1, 5}});
  for (const LinkUsage& usage : bench.network.link_usage()) CHECK(usage.bytes == Bytes(0));
}

TEST_CASE("without latency, release and arrival are one event") {
  Bench bench({dimension("ring", 4, 1'000'000'000'000, 0)});
  bench.at(0, [&] { bench.send(0, 1, 3, 1); });
  CHECK(bench.run() == std::vector<Notice>{{"released", 1, 3}, {"arrived", 1, 3}});
  CHECK(bench.engine.delivered() == 2);  // the start, and one for both
}

TEST_CASE("a release that comes before the arrival may be predicted, and is then not reported") {
  // A byte takes a picosecond: released at 5 + 3, arrived 18 later.
  Bench bench({dimension("switch", 4, 1'000'000'000'000, 18)});
  Time release;
  Time empty;
  bench.at(5, [&] {
    release = bench.send_predicted(0, 1, 3, 1);
    empty = bench.send_predicted(1, 2, 0, 2);
  });
  CHECK(bench.run() == std::vector<Notice>{{"released", 2, 5}, {"arrived", 2, 23}, {"arrived", 1, 26}});
  CHECK(release == Time(Duration(8)));
  CHECK(empty == Network::kNotPredicted);  // it would be now
}

TEST_CASE("without latency nothing is predicted") {
  Bench bench({dimension("ring", 4, 1'000'000'000'000, 0)});
  Time release;
  bench.at(0, [&] { release = bench.send_predicted(0, 1, 3, 1); });
  CHECK(bench.run() == std::vector<Notice>{{"released", 1, 3}, {"arrived", 1, 3}});
  CHECK(release == Network::kNotPredicted);
}

TEST_CASE("messages on one link do not slow each other down") {
  Bench bench({dimension("switch", 3, 1'000'000'000'000, 2)});  // a byte takes a picosecond
  bench.at(0, [&] {
    bench.send(0, 1, 100, 1);
    bench.send(0, 2, 100, 2);
    bench.send(2, 1, 100, 3);
  });
  for (const Notice& notice : bench.run())
    CHECK(std::get<2>(notice) == (std::get<0>(notice) == "released" ? 100 : 102));
}

TEST_CASE("a path is interned once, and each direction is its own") {
  Bench bench({dimension("ring", 200, 1, 1)});
  std::vector<PathId> first;
  for (std::uint32_t to = 0; to < 200; ++to) first.push_back(bench.network.path(DeviceId(3), DeviceId(to)));
  for (std::uint32_t to = 0; to < 200; ++to) CHECK(bench.network.path(DeviceId(3), DeviceId(to)) == first[to]);
  CHECK(bench.network.path(DeviceId(4), DeviceId(3)) != bench.network.path(DeviceId(3), DeviceId(4)));
}

TEST_CASE("links count all bytes that cross them, and the union of the times they are in use") {
  Bench bench({dimension("switch", 3, 1'000'000'000'000, 10)});
  bench.at(0, [&] { bench.send(0, 1, 100, 1); });   // [0, 100)
  bench.at(50, [&] { bench.send(0, 2, 30, 2); });   // [50, 80): within
  bench.at(60, [&] { bench.send(0, 1, 100, 3); });  // [60, 160): 60 more
  bench.at(160, [&] { bench.send(0, 1, 5, 4); });   // [160, 165): touches
  bench.at(200, [&] { bench.send(2, 1, 7, 5); });   // [200, 207): after a gap
  bench.at(300, [&] { bench.send(0, 1, 0, 6); });   // nothing
  bench.run();
  const std::vector<LinkUsage> usage = bench.network.link_usage();
  // Links: up of 0, 1, 2, then down to 0, 1, 2.
  const auto bytes = [&](std::size_t link) { return usage[link].bytes.count(); };
  const auto busy = [&](std::size_t link) { return usage[link].busy.count(); };
  CHECK(bytes(0) == 100 + 30 + 100 + 5);
  CHECK(busy(0) == 165);
  CHECK(bytes(1) == 0);
  CHECK(busy(1) == 0);
  CHECK(bytes(2) == 7);
  CHECK(busy(2) == 7);
  CHECK(bytes(4) == 100 + 100 + 5 + 7);
  CHECK(busy(4) == 100 + 60 + 5 + 7);
  CHECK(bytes(5) == 30);
  CHECK(busy(5) == 30);
}

TEST_CASE("busy time is the measure of the union of intervals, for random messages over long and short routes") {
  // 40 devices on a ring: routes of up to 20 hops, more than are stored.
  std::mt19937 random(11);
  const auto below = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  Bench bench({dimension("ring", 40, 1'000'000'000'000, 3)});
  std::vector<std::vector<bool>> in_use(bench.fabric.link_count(), std::vector<bool>(2'000, false));
  std::vector<LinkId> route;
  for (std::uint32_t i = 0; i < 200; ++i) {
    const std::uint32_t from = below(40);
    const std::uint32_t to = below(40);
    const std::int64_t start{below(1'500)};
    const std::int64_t bytes{below(400)};
    bench.at(start, [&bench, from, to, bytes, i] { bench.send(from, to, bytes, i); });
    bench.fabric.route(DeviceId(from), DeviceId(to), route);
    for (const LinkId link : route)
      for (std::int64_t t = start; t < start + bytes; ++t) in_use[index_of(link)][static_cast<std::size_t>(t)] = true;
  }
  bench.run();
  const std::vector<LinkUsage> usage = bench.network.link_usage();
  for (std::size_t link = 0; link < usage.size(); ++link)
    REQUIRE(usage[link].busy.count() == std::ranges::count(in_use[link], true));
}

TEST_CASE("busy time can be left out; bytes stay") {
  Bench bench({dimension("switch", 2, 1'000'000'000'000, 0)}, BusyTime::kOff);
  bench.at(0, [&] { bench.send(0, 1, 8, 1); });
  bench.run();
  CHECK(bench.network.link_usage()[0].bytes == Bytes(8));
  CHECK(bench.network.link_usage()[0].busy == Duration::zero());
}

TEST_CASE("absurd sizes end in an error, not in an overflow") {
  Bench slow({dimension("ring", 2, 1, 1)});
  slow.at(0, [&] { slow.send(0, 1, Bytes::max().count(), 1); });
  CHECK_THROWS_AS(slow.run(), InputError);  // longer than 106 days
  Bench far({dimension("ring", 8, 1, Duration::max().count() / 2)});
  far.at(0, [&] { far.send(0, 4, 1, 1); });
  CHECK_THROWS_AS(far.run(), InputError);  // four latencies of 53 days
  Bench fast({dimension("ring", 2, Bandwidth::max().count(), 1)});
  fast.at(0, [&] {
    fast.send(0, 1, Bytes::max().count(), 1);
    fast.send(0, 1, Bytes::max().count(), 2);
  });
  fast.run();
  CHECK(fast.network.link_usage()[0].bytes == Bytes::max());  // the count stops at its end
}
