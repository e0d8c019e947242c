// SPDX-License-Identifier: MIT
// What is fair to groups of messages and to those beside them, over random traffic: every connection on a link has at
// least an equal part of it, however much its group sends elsewhere, and no time jumps as bandwidths change.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <random>

#include "network/flow/flow.h"
#include "tests/network/flow/probe.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::test;

namespace {

constexpr std::uint32_t kRanks = 6;

// All start at once, on a switch, whose links are up of each rank and down to each.
struct Traffic {
  struct Message {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::int64_t bytes = 0;
  };
  std::vector<Message> messages;
  std::vector<std::vector<LinkLoad>> groups;
  std::vector<std::int64_t> bandwidths;  // by link
};

Fabric fabric_of(const Traffic& traffic) {
  Fabric fabric = compose(std::vector<DimensionSpec>{dimension("switch", kRanks, 1'000'000'000, 0)});
  for (std::uint32_t link = 0; link < fabric.link_count(); ++link)
    fabric.set_bandwidth(LinkId(link), Bandwidth(traffic.bandwidths[link]));
  return fabric;
}

// Loads of one group differ by up to a hundred times from link to link.
Traffic random_traffic(std::mt19937& random) {
  const auto below = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  Traffic traffic;
  for (std::uint32_t i = 1 + below(6); i > 0; --i) {
    const std::uint32_t from = below(kRanks);
    traffic.messages.push_back({from, (from + 1 + below(kRanks - 1)) % kRanks, 1'000'000 + below(50'000'000)});
  }
  for (std::uint32_t i = 1 + below(4); i > 0; --i) {
    std::vector<LinkLoad>& loads = traffic.groups.emplace_back();
    for (std::uint32_t link = below(3); link < 2 * kRanks; link += 1 + below(4))
      loads.push_back({LinkId(link), Bytes(1'000'000LL * (1 + below(100))), 1 + below(4)});
  }
  for (std::uint32_t link = 0; link < 2 * kRanks; ++link)
    traffic.bandwidths.push_back(1'000'000'000LL * (1 + below(400)));
  return traffic;
}

// When each message, then each group, is through.
std::vector<std::int64_t> ends(const Traffic& traffic) {
  Probe<FlowNetwork> probe(fabric_of(traffic));
  probe.at(0, [&] {
    std::uint32_t id = 0;
    for (const auto& message : traffic.messages) probe.send(message.from, message.to, message.bytes, id++);
    for (const auto& loads : traffic.groups) probe.send_group(loads, 0, id++);
  });
  probe.run();
  std::vector<std::int64_t> result;
  for (std::uint32_t id = 0; id < traffic.messages.size() + traffic.groups.size(); ++id)
    result.push_back(probe.released(id));
  return result;
}

}  // namespace

TEST_CASE("nobody is later than an equal part for each connection of each link allows") {
  std::mt19937 random(51);
  for (int instance = 0; instance < 500; ++instance) {
    const Traffic traffic = random_traffic(random);
    const Fabric fabric = fabric_of(traffic);
    std::vector<double> connections(fabric.link_count());
    std::vector<LinkId> route;
    for (const auto& message : traffic.messages) {
      fabric.route(DeviceId(message.from), DeviceId(message.to), route);
      for (const LinkId link : route) connections[index_of(link)] += 1;
    }
    for (const auto& loads : traffic.groups)
      for (const LinkLoad& load : loads) connections[index_of(load.link)] += load.connections;
    // In picoseconds. Others only leave, so that the parts only grow.
    const auto latest = [&](LinkId link, double bytes, double of_them) {
      return bytes * connections[index_of(link)] / of_them / static_cast<double>(traffic.bandwidths[index_of(link)]) *
             1e12;
    };
    const std::vector<std::int64_t> end = ends(traffic);
    std::size_t next = 0;
    INFO("instance " << instance);
    for (const auto& message : traffic.messages) {
      fabric.route(DeviceId(message.from), DeviceId(message.to), route);
      double most = 0;
      for (const LinkId link : route) most = std::max(most, latest(link, static_cast<double>(message.bytes), 1));
      REQUIRE(static_cast<double>(end[next++]) <= most * (1 + 1e-6));
    }
    for (const auto& loads : traffic.groups) {
      double most = 0;
      for (const LinkLoad& load : loads)
        most = std::max(most, latest(load.link, static_cast<double>(load.bytes.count()), load.connections));
      REQUIRE(static_cast<double>(end[next++]) <= most * (1 + 1e-6));
    }
  }
}

TEST_CASE("no time jumps as the bandwidth of a link passes that of another") {
  // The group's load on link 0 is eight times that on link 1. Which of the two is its slowest changes where link 0 is
  // eight times as fast; what it and the message have of link 1 does not.
  std::int64_t before = 0;
  for (std::int64_t bandwidth = 70'000'000'000; bandwidth <= 90'000'000'000; bandwidth += 10'000'000) {
    Traffic traffic;
    traffic.bandwidths.assign(2 * kRanks, 10'000'000'000);
    traffic.bandwidths[0] = bandwidth;
    traffic.messages = {{1, 2, 50'000'000}};
    traffic.groups = {{{LinkId(0), Bytes(160'000'000)}, {LinkId(1), Bytes(20'000'000)}}};
    const std::vector<std::int64_t> end = ends(traffic);
    // Half of link 1 until the group's 20 MB are through there, 4 ms; then the message's last 30 MB, 3 ms.
    CHECK(end[0] == 7'000'000'000);
    CHECK(end[1] == 4'000'000'000);
    if (before != 0) CHECK(std::abs(end[1] - before) <= before / 1'000);
    before = end[1];
  }
  std::mt19937 random(52);
  for (int instance = 0; instance < 300; ++instance) {
    Traffic traffic = random_traffic(random);
    const std::vector<std::int64_t> expected = ends(traffic);
    for (std::int64_t& bandwidth : traffic.bandwidths) bandwidth += bandwidth / 1'000'000;
    const std::vector<std::int64_t> found = ends(traffic);
    INFO("instance " << instance);
    for (std::size_t i = 0; i < found.size(); ++i) REQUIRE(std::abs(found[i] - expected[i]) <= expected[i] / 100'000);
  }
}
