// SPDX-License-Identifier: MIT
#include "network/flow/flow.h"

#include <catch2/catch.hpp>

#include "core/error.h"
#include "network/models/alpha_beta.h"
#include "tests/network/flow/probe.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::test;

namespace {

constexpr std::int64_t kBytePerPicosecond = 1'000'000'000'000;

using FlowProbe = Probe<FlowNetwork>;

// Of a switch of `size` members: link i leads up from i, link size + i down to i.
FlowProbe on_switch(std::uint32_t size, std::int64_t bandwidth, std::int64_t latency = 2) {
  return FlowProbe({dimension("switch", size, bandwidth, latency)});
}

}  // namespace

TEST_CASE("two equal flows on one link take twice as long, and arrive their latency later") {
  auto probe = on_switch(3, kBytePerPicosecond);
  probe.at(0, [&] {
    probe.send(0, 1, 100, 1);
    probe.send(0, 2, 100, 2);
  });
  CHECK(probe.run() ==
        std::vector<Notice>{{200, 1, "released"}, {200, 2, "released"}, {202, 1, "arrived"}, {202, 2, "arrived"}});
}

TEST_CASE("a flow that starts alone on links just left, and then has to share one of them, goes at its own rate") {
  // Devices 0, 1 and 2, 3 on switches of 2 B/ps, each with its like on one of 1 B/ps. Two flows 0 -> 3 share all their
  // links and leave together. Of the two that follow at once, the first starts alone, narrowed by the second dimension;
  // the second takes what it leaves of the link from 0.
  FlowProbe probe({dimension("switch", 2, 2 * kBytePerPicosecond, 0), dimension("switch", 2, kBytePerPicosecond, 0)});
  probe.at(0, [&] {
    probe.send(0, 3, 100, 1);
    probe.send(0, 3, 100, 2);
  });
  probe.when_released = [&](std::uint32_t id) {
    if (id == 1) probe.send(0, 3, 100, 3);
    if (id == 2) probe.send(0, 1, 100, 4);
  };
  probe.run();
  CHECK(probe.released(1) == 200);
  CHECK(probe.released(2) == 200);
  CHECK(probe.released(3) == 300);
  CHECK(probe.released(4) == 300);
}

TEST_CASE("when the shorter of two flows is through, the longer goes on at full rate") {
  auto probe = on_switch(3, kBytePerPicosecond);
  probe.at(0, [&] {
    probe.send(0, 1, 100, 1);
    probe.send(0, 2, 300, 2);
  });
  probe.run();
  CHECK(probe.released(1) == 200);
  CHECK(probe.released(2) == 400);  // 400 bytes in all over a link of one byte per picosecond
}

TEST_CASE("incast of 8: the k-th of 8 unequal flows ends when the shares say") {
  // Flow k has 84 k bytes; the link 840 GB/s, 0.84 B/ps. While 8 are left each has 0.105 B/ps, so 84 bytes take
  // 800 ps; the next 84 with 7 left 700 ps; and so on.
  auto probe = on_switch(9, 840'000'000'000);
  probe.at(0, [&] {
    for (std::uint32_t k = 1; k <= 8; ++k) probe.send(k, 0, 84 * k, k);
  });
  probe.run();
  const std::vector<std::int64_t> expected = {800, 1500, 2100, 2600, 3000, 3300, 3500, 3600};
  for (std::uint32_t k = 1; k <= 8; ++k) CHECK(probe.released(k) == expected[k - 1]);
}

TEST_CASE("incast of 8 on a link that 8 does not divide is late by less than 1 ppm") {
  auto probe = on_switch(9, 25'000'000'003);
  probe.at(0, [&] {
    for (std::uint32_t k = 1; k <= 8; ++k) probe.send(k, 0, 1'000'000, k);
  });
  probe.run();
  // 8 MB at 25.000000003 GB/s are 319,999,999.96 ps; the floor of the rate costs at most 8 in 25 * 10^9.
  for (std::uint32_t k = 1; k <= 8; ++k) {
    CHECK(probe.released(k) >= 320'000'000);
    CHECK(probe.released(k) <= 320'000'000 + 320);
  }
}

TEST_CASE("all-to-all through oversubscribed uplinks: the uplink sets its flows' rate, the others take the rest") {
  // Two pods of 4 devices. A message goes to its receiver's column inside the pod, then over that column's uplink of
  // 10 GB/s, which 4 messages share: 2.5 GB/s each. A device's link of 97.5 GB/s carries 3 of these and 3 that stay in
  // the pod: (97.5 - 7.5) / 3 = 30 GB/s each. 30 MB take 12 ms and 1 ms; the former never share anything else.
  FlowProbe probe({dimension("switch", 4, 97'500'000'000, 4), dimension("switch", 2, 10'000'000'000, 6)});
  probe.at(0, [&] {
    for (std::uint32_t from = 0; from < 8; ++from)
      for (std::uint32_t to = 0; to < 8; ++to)
        if (from != to) probe.send(from, to, 30'000'000, 8 * from + to);
  });
  probe.run();
  for (std::uint32_t from = 0; from < 8; ++from)
    for (std::uint32_t to = 0; to < 8; ++to)
      if (from != to) {
        CHECK(probe.released(8 * from + to) == (from / 4 == to / 4 ? 1'000'000'000 : 12'000'000'000));
        const int latency = (from % 4 == to % 4 ? 0 : 4) + (from / 4 == to / 4 ? 0 : 6);
        CHECK(probe.arrived(8 * from + to) == probe.released(8 * from + to) + latency);
      }
}

TEST_CASE("unequal paths with two bottlenecks: a long flow is held by one, its neighbour takes what it leaves") {
  // Ring links of 0.9 B/ps. Link 0 -> 1 has the long flow (0 -> 2) and two more: 0.3 each. Link 1 -> 2 has the long one
  // and one of 1500 bytes, which gets 0.6. At 1000 ps the three of 300 bytes are through; 900 bytes are left for 1000
  // ps.
  FlowProbe probe({dimension("ring", 8, 900'000'000'000, 1)});
  probe.at(0, [&] {
    probe.send(0, 2, 300, 1);
    probe.send(0, 1, 300, 2);
    probe.send(0, 1, 300, 3);
    probe.send(1, 2, 1500, 4);
  });
  probe.run();
  CHECK(probe.released(1) == 1000);
  CHECK(probe.released(2) == 1000);
  CHECK(probe.released(3) == 1000);
  CHECK(probe.released(4) == 2000);
}

TEST_CASE("a flow that joins and leaves costs the other exactly what it took") {
  auto probe = on_switch(3, kBytePerPicosecond);
  probe.at(0, [&] { probe.send(0, 1, 1000, 1); });
  probe.at(100, [&] { probe.send(0, 2, 100, 2); });  // [100, 300) at half rate
  probe.run();
  CHECK(probe.released(2) == 300);
  CHECK(probe.released(1) == 1100);
}

TEST_CASE("a flow that was alone, shared and is alone again keeps every fraction of a byte") {
  // From 100 on three share: floor(10^12 / 3) = 333,333,333,333 B/s each. 100 bytes take ceil(300.0000000003) = 301 ps.
  // The first has 900 - 301 * 0.333333333333 = 799.66... bytes left: 800 ps more.
  auto probe = on_switch(4, kBytePerPicosecond);
  probe.at(0, [&] { probe.send(0, 1, 1000, 1); });
  probe.at(100, [&] {
    probe.send(0, 2, 100, 2);
    probe.send(0, 3, 100, 3);
  });
  probe.run();
  CHECK(probe.released(2) == 401);
  CHECK(probe.released(3) == 401);
  CHECK(probe.released(1) == 1201);
}

TEST_CASE("a message that is started when another is released shares nothing with it") {
  auto probe = on_switch(3, kBytePerPicosecond);
  probe.when_released = [&](std::uint32_t id) {
    if (id < 5) probe.send(0, 1, 10, id + 1);
  };
  probe.at(0, [&] { probe.send(0, 1, 10, 1); });
  probe.run();
  for (std::uint32_t id = 1; id <= 5; ++id) CHECK(probe.released(id) == 10 * static_cast<std::int64_t>(id));
}

TEST_CASE("a group over one message's route is that message") {
  auto probe = on_switch(4, 7, 11);  // odd figures
  auto group = on_switch(4, 7, 11);
  probe.at(5, [&] { probe.send(0, 1, 10, 1); });
  probe.at(5, [&] { probe.send(0, 2, 30, 2); });
  const std::vector<LinkLoad> route = {{LinkId(0), Bytes(10)}, {LinkId(4 + 1), Bytes(10)}};
  group.at(5, [&] { group.send_group(route, 11, 1); });
  group.at(5, [&] { group.send(0, 2, 30, 2); });
  CHECK(group.run() == probe.run());
}

TEST_CASE("a group ends like the equal messages it stands for") {
  // Two messages of 600 bytes leave 0, one goes to 1 and one to 2, beside a message 0 -> 3 of 900 bytes: 0.3 B/ps each
  // of 0.9. As a group: two connections on the link up, of three.
  auto plain = on_switch(4, 900'000'000'000);
  plain.at(0, [&] {
    plain.send(0, 1, 600, 1);
    plain.send(0, 2, 600, 2);
    plain.send(0, 3, 900, 3);
  });
  plain.run();
  CHECK(plain.released(1) == 2000);
  CHECK(plain.released(2) == 2000);
  CHECK(plain.released(3) == 2334);  // 600 by 2000, then 300 at 0.9 B/ps: 333.3
  auto group = on_switch(4, 900'000'000'000);
  const std::vector<LinkLoad> loads = {
      {LinkId(0), Bytes(1200), 2}, {LinkId(4 + 1), Bytes(600)}, {LinkId(4 + 2), Bytes(600)}};
  group.at(0, [&] {
    group.send_group(loads, 2, 1);
    group.send(0, 3, 900, 3);
  });
  group.run();
  CHECK(group.released(1) == 2000);
  CHECK(group.arrived(1) == 2002);
  CHECK(group.released(3) == 2334);
  CHECK(group.network.link_usage()[0].bytes == Bytes(1200 + 900));
  CHECK(group.network.link_usage()[5].bytes == Bytes(600));
}

TEST_CASE("a group has its part of every link, however little it sends there beside what it sends elsewhere") {
  // Half of the shared link each, 0.5 B/ps, until the group's 100 bytes are through at 200; then the message has 500
  // left, alone. The group's own link, of which nobody else wants anything, takes it 700.
  auto probe = on_switch(4, kBytePerPicosecond);
  const std::vector<LinkLoad> loads = {{LinkId(0), Bytes(100)}, {LinkId(1), Bytes(700)}};
  probe.at(0, [&] {
    probe.send_group(loads, 0, 1);
    probe.send(0, 3, 600, 2);
  });
  probe.run();
  CHECK(probe.released(1) == 700);
  CHECK(probe.arrived(1) == 700);
  CHECK(probe.released(2) == 700);
  const std::vector<LinkUsage> usage = probe.network.link_usage();
  CHECK(usage[0].busy == Duration(700));
  CHECK(usage[1].busy == Duration(700));
}

TEST_CASE("two groups that meet share the link where they meet, whatever they send elsewhere") {
  // Link 1 carries 100 bytes of the first and 300 of the second: half each until 200, then the second has 200 left.
  auto probe = on_switch(4, kBytePerPicosecond);
  probe.at(0, [&] {
    probe.send_group({{LinkId(0), Bytes(800)}, {LinkId(1), Bytes(100)}}, 0, 1);
    probe.send_group({{LinkId(1), Bytes(300)}, {LinkId(2), Bytes(50)}}, 0, 2);
  });
  probe.run();
  CHECK(probe.released(1) == 800);
  CHECK(probe.released(2) == 400);
  const std::vector<LinkUsage> usage = probe.network.link_usage();
  CHECK(usage[0].busy == Duration(800));
  CHECK(usage[1].busy == Duration(400));
  CHECK(usage[2].busy == Duration(50));
}

TEST_CASE("a message that comes later finds what a group has left on the link") {
  // At 40 the group has 60 of 100 bytes left on link 0: half each, it is through at 160. On link 1 nothing changes.
  auto probe = on_switch(4, kBytePerPicosecond);
  probe.at(0, [&] {
    probe.send_group({{LinkId(0), Bytes(100)}, {LinkId(1), Bytes(30)}, {LinkId(2), Bytes(90)}}, 5, 1);
  });
  probe.at(40, [&] { probe.send(0, 3, 100, 2); });
  probe.run();
  CHECK(probe.released(1) == 160);
  CHECK(probe.arrived(1) == 165);
  CHECK(probe.released(2) == 40 + 120 + 40);
  const std::vector<LinkUsage> usage = probe.network.link_usage();
  CHECK(usage[0].busy == Duration(200));
  CHECK(usage[1].busy == Duration(30));
  CHECK(usage[2].busy == Duration(90));
}

TEST_CASE("what crosses a link twice takes it twice") {
  auto probe = on_switch(3, kBytePerPicosecond);
  const std::vector<LinkShare> shares = {{LinkId(0), 2}, {LinkId(5)}};
  const PathId twice = probe.network.class_path(shares, Duration(0));
  probe.at(0, [&] { probe.network.start({twice, Bytes(100), &probe, 1}); });  // alone: half the rate
  probe.at(1000, [&] {
    probe.network.start({twice, Bytes(100), &probe, 2});  // 2 x + x = 1 B/ps
    probe.send(0, 1, 100, 3);
  });
  probe.run();
  CHECK(probe.released(1) == 200);
  CHECK(probe.released(2) == 1000 + 301);  // 100 bytes at floor(10^12 / 3) B/s
  CHECK(probe.released(3) == 1000 + 301);
  CHECK(probe.network.link_usage()[0].bytes == Bytes(200 + 200 + 100));
}

TEST_CASE("groups without links take their latency only") {
  auto probe = on_switch(3, 1);
  probe.at(7, [&] {
    probe.send_group({}, 5, 1);
    probe.send_group({}, 0, 2);
  });
  CHECK(probe.run() ==
        std::vector<Notice>{{7, 1, "released"}, {7, 2, "arrived"}, {7, 2, "released"}, {12, 1, "arrived"}});
}

TEST_CASE("messages without bytes, and from a device to itself, are as in the alpha-beta model") {
  const std::vector<DimensionSpec> ring = {dimension("ring", 4, 1, 9)};
  FlowProbe flow(ring);
  Probe<AlphaBetaNetwork> alpha_beta(ring);
  const auto send = [](auto& probe) {
    probe.at(5, [&] {
      probe.send(0, 1, 0, 1);
      probe.send(2, 2, 1'000'000, 2);
      CHECK(probe.notices.empty());
    });
  };
  send(flow);
  send(alpha_beta);
  CHECK(flow.run() == alpha_beta.run());
  for (const LinkUsage& usage : flow.network.link_usage()) CHECK(usage.bytes == Bytes(0));
}

TEST_CASE("links count the bytes that cross them and the time in which anything does") {
  auto probe = on_switch(3, kBytePerPicosecond, 10);
  probe.at(0, [&] { probe.send(0, 1, 100, 1); });  // shares [50, 110) with the next: ends at 130
  probe.at(50, [&] { probe.send(0, 2, 30, 2); });  // ends at 110
  probe.at(200, [&] { probe.send(2, 1, 7, 3); });
  probe.at(300, [&] { probe.send(0, 1, 0, 4); });
  probe.at(400, [&] { probe.send(0, 1, 1000, 5); });
  std::vector<LinkUsage> meanwhile;
  probe.at(500, [&] { meanwhile = probe.network.link_usage(); });
  probe.run();
  CHECK(probe.released(1) == 130);
  CHECK(probe.released(2) == 110);
  CHECK(meanwhile[0].bytes == Bytes(100 + 30 + 1000));
  CHECK(meanwhile[0].busy == Duration(130 + 100));  // up to the moment it was asked for
  const std::vector<LinkUsage> usage = probe.network.link_usage();
  CHECK(usage[0].busy == Duration(130 + 1000));
  CHECK(usage[1].bytes == Bytes(0));
  CHECK(usage[2].busy == Duration(7));
  CHECK(usage[4].bytes == Bytes(100 + 7 + 1000));
  CHECK(usage[4].busy == Duration(130 + 7 + 1000));
  CHECK(usage[5].busy == Duration(60));
}

TEST_CASE("a link with fewer bytes per second than flows still ends them all") {
  auto probe = on_switch(4, 2);
  probe.at(0, [&] {
    for (std::uint32_t to = 1; to < 4; ++to) probe.send(0, to, 3, to);
  });
  probe.run();
  for (std::uint32_t to = 1; to < 4; ++to) CHECK(probe.released(to) == 3 * kBytePerPicosecond);  // 1 B/s each
}

TEST_CASE("absurd sizes end in an error, not in an overflow, with flows that share too") {
  for (const std::uint64_t flows : {1U, 3U}) {
    FlowProbe slow({dimension("ring", 2, 1, 1)});
    slow.at(0, [&] {
      for (std::uint32_t id = 0; id < flows; ++id) slow.send(0, 1, Bytes::max().count(), id);
    });
    CHECK_THROWS_AS(slow.run(), InputError);  // longer than 106 days
  }
  FlowProbe far({dimension("ring", 8, 1, Duration::max().count() / 2)});
  far.at(0, [&] { far.send(0, 4, 1, 1); });
  CHECK_THROWS_AS(far.run(), InputError);  // four latencies of 53 days
  FlowProbe fast({dimension("ring", 2, Bandwidth::max().count(), 1)});
  fast.at(0, [&] {
    fast.send(0, 1, Bytes::max().count(), 1);
    fast.send(0, 1, Bytes::max().count(), 2);
  });
  fast.run();
  CHECK(fast.released(1) == 2 * kBytePerPicosecond + 1);  // (2^63 - 1) bytes at floor((2^63 - 1) / 2) B/s
  CHECK(fast.network.link_usage()[0].bytes == Bytes::max());
}
