// SPDX-License-Identifier: MIT
// Links whose bandwidth changes while messages are under way, in closed form.
#include <catch2/catch.hpp>

#include "network/flow/flow.h"
#include "tests/network/flow/probe.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::test;

namespace {

constexpr std::int64_t kBytePerPicosecond = 1'000'000'000'000;

using Steps = std::vector<BandwidthStep>;

BandwidthStep step(std::int64_t picoseconds, std::int64_t percent) {
  return {Time(Duration(picoseconds)), Efficiency(percent * 10'000)};
}

LinkCourse course(Steps steps) { return {{std::move(steps)}, {}}; }

// A switch of three members at 1 B/ps, 2 ps from one to another: link i leads up from i, link 3 + i down to i.
Fabric three(std::uint32_t link, const LinkCourse& course) {
  Fabric fabric = compose(std::vector{dimension("switch", 3, kBytePerPicosecond, 2)});
  fabric.add_course(LinkId(link), course);
  return fabric;
}

using FlowProbe = Probe<FlowNetwork>;

}  // namespace

TEST_CASE("a message goes on at what its link has, from the instant of each change") {
  FlowProbe half(three(0, course({step(40, 50)})));
  half.at(0, [&] { half.send(0, 1, 100, 1); });
  half.run();
  CHECK(half.released(1) == 160);  // 40 B, then 60 B at half of that
  CHECK(half.arrived(1) == 162);
  FlowProbe again(three(0, course({step(40, 50), step(100, 100)})));
  again.at(0, [&] { again.send(0, 1, 100, 1); });
  again.run();
  CHECK(again.released(1) == 130);  // 40 + 30 + 30 B
}

TEST_CASE("changes at the start and at the end of a message are before it and after it") {
  FlowProbe probe(three(0, course({step(50, 50), step(250, 100)})));
  probe.at(50, [&] { probe.send(0, 1, 100, 1); });
  probe.at(300, [&] { probe.send(0, 1, 100, 2); });
  probe.run();
  CHECK(probe.released(1) == 250);
  CHECK(probe.released(2) == 400);
}

TEST_CASE("what a change takes from one flow is another's") {
  // Down to 1 there is a quarter from 100 ps on: until then both have half a byte per ps, and 50 B to go.
  FlowProbe probe(three(4, course({step(100, 25)})));
  probe.at(0, [&] {
    probe.send(0, 1, 100, 1);
    probe.send(0, 2, 100, 2);
  });
  probe.run();
  CHECK(probe.released(1) == 300);
  CHECK(probe.released(2) == 167);  // 50 B at 0.75 B/ps, to the next picosecond
}

TEST_CASE("a group of messages is held up on the link that changes only") {
  FlowProbe probe(three(0, course({step(40, 50)})));
  probe.at(0, [&] { probe.send_group({{LinkId(0), Bytes(100)}, {LinkId(1), Bytes(150), 2}}, 3, 1); });
  probe.at(0, [&] { probe.send_group({{LinkId(0), Bytes(20)}}, 0, 2); });
  probe.run();
  CHECK(probe.released(2) == 40);  // beside the first
  // The first had 20 B by then, has 80 to go at half a byte per ps.
  CHECK(probe.released(1) == 200);
  CHECK(probe.arrived(1) == 203);
}

TEST_CASE("shares of several names of a link multiply, and what nobody uses keeps nobody waiting") {
  Fabric fabric = three(0, course({step(10, 50)}));
  fabric.add_course(LinkId(0), course({step(20, 50), step(1'000'000, 100)}));
  FlowProbe probe(std::move(fabric));
  probe.at(0, [&] { probe.send(0, 1, 30, 1); });
  probe.run();
  CHECK(probe.released(1) == 80);  // 10 + 5 B, and 15 B at a quarter
  CHECK(probe.now() == 82);
}

TEST_CASE("a link is busy while messages are on it, whatever its bandwidth") {
  FlowProbe probe(three(0, course({step(40, 50), step(60, 25), step(70, 100)})));
  probe.at(0, [&] { probe.send(0, 1, 100, 1); });
  probe.run();
  CHECK(probe.released(1) == 118);  // rounded up: 40 + 10 + 2.5 + 47.5 B
  CHECK(probe.network.link_usage()[0].busy == Duration(118));
  CHECK(probe.network.link_usage()[0].bytes == Bytes(100));
}

TEST_CASE("others' traffic stays in its range, is the same for a seed, and another from period to period") {
  const BackgroundTraffic traffic{200'000, 600'000, Duration(100), 7};
  LinkCourse course;
  course.traffic = {traffic};
  const Bandwidth whole(1'000'000);
  std::vector<std::int64_t> drawn;
  for (std::int64_t period = 0; period < 1000; ++period) {
    const Time from(Duration(100 * period)), last(Duration(100 * period + 99));
    drawn.push_back(course.bandwidth_at(whole, from).count());
    CHECK(course.bandwidth_at(whole, last).count() == drawn.back());
    CHECK(course.next_change(from) == Time(Duration(100 * period + 100)));
    CHECK(course.next_change(last) == Time(Duration(100 * period + 100)));
  }
  const auto [least, most] = std::ranges::minmax(drawn);
  CHECK(least >= 400'000);
  CHECK(least < 405'000);
  CHECK(most <= 800'000);
  CHECK(most > 795'000);
  double sum = 0;
  for (const std::int64_t left : drawn) sum += static_cast<double>(left);
  CHECK(std::abs(sum / 1000 - 600'000) < 15'000);  // four standard deviations of the mean
  CHECK(course.bandwidth_at(whole, Time{}).count() == drawn.front());
}
