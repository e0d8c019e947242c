// SPDX-License-Identifier: MIT
// What must hold for any traffic: the flow model against a direct simulation of its definition, against itself with
// messages reordered and rates solved at odd times, and against the alpha-beta model where nothing is shared.
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "network/flow/flow.h"
#include "network/models/alpha_beta.h"
#include "tests/network/flow/max_min.h"
#include "tests/network/flow/probe.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::test;

namespace {

constexpr std::int64_t kGroupLatency = 5;

struct Sending {
  std::int64_t start = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::int64_t bytes = 0;
  std::vector<LinkLoad> loads;  // a group, if not empty
};

struct Traffic {
  std::vector<DimensionSpec> fabric;
  std::vector<Sending> messages;
};

// Messages in bursts, so that many start or end at one instant; every eighth is a group flow. `at_once` times as many
// are under way together.
Traffic random_traffic(std::mt19937& random, std::size_t messages, std::int64_t at_once = 1) {
  const auto below = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  const std::vector<std::vector<DimensionSpec>> fabrics = {
      {dimension("switch", 8, 25'000'000'000, 700)},
      {dimension("ring", 12, 50'000'000'001, 500)},
      {dimension("switch", 4, 97'300'000'000, 4), dimension("switch", 3, 10'000'000'000, 6)},
      {dimension("fully-connected", 4, 300'000'000'000, 0), dimension("ring", 5, 25'000'000'000, 1'000)},
      {dimension("switch", 16, 7, 3)}};
  Traffic traffic{fabrics[below(5)], {}};
  const Fabric fabric = compose(traffic.fabric);
  const bool slow = traffic.fabric[0].bandwidth < Bandwidth(100);
  const std::int64_t spacing = slow ? 1'000'000'000'000 : 1'000'000;
  std::int64_t now = 0;
  while (traffic.messages.size() < messages) {
    now += below(4) == 0 ? 0 : spacing * below(30) / (10 * at_once);
    const std::int64_t size = slow ? 1 + below(40) : 1 + below(below(2) == 0 ? 4 : 400'000);
    for (std::uint32_t burst = 1 + below(6); burst > 0; --burst) {
      Sending message{now, below(fabric.device_count()), below(fabric.device_count()), size, {}};
      if (below(8) == 0)
        for (std::uint32_t link = below(4); link < fabric.link_count() && message.loads.size() < 6;
             link += 1 + below(5))
          message.loads.push_back({LinkId(link), Bytes(1 + below(static_cast<std::uint32_t>(size))), 1 + below(3)});
      traffic.messages.push_back(message);
    }
  }
  return traffic;
}

// What a run comes to: all notices, and of each link its bytes and how long it was busy, in picoseconds.
struct Outcome {
  std::vector<Notice> notices;
  std::vector<std::pair<std::int64_t, std::int64_t>> links;

  bool operator==(const Outcome&) const = default;
};

template <class Model>
Outcome outcome_of(Probe<Model>& probe) {
  Outcome outcome{probe.run(), {}};
  for (const LinkUsage& usage : probe.network.link_usage())
    outcome.links.emplace_back(usage.bytes.count(), usage.busy.count());
  return outcome;
}

template <class Model>
void add_traffic(Probe<Model>& probe, const Traffic& traffic, const std::vector<std::uint32_t>& order) {
  for (const std::uint32_t id : order) {
    const Sending& message = traffic.messages[id];
    probe.at(message.start, [&probe, &message, id] {
      if constexpr (std::is_same_v<Model, FlowNetwork>)
        if (!message.loads.empty()) return probe.send_group(message.loads, kGroupLatency, id);
      probe.send(message.from, message.to, message.bytes, id);
    });
  }
}

template <class Model>
Outcome simulate(const Traffic& traffic, const std::vector<std::uint32_t>& order,
                 const std::vector<std::int64_t>& settles) {
  Probe<Model> probe(traffic.fabric);
  for (const std::int64_t time : settles) probe.at(time, [] {});  // nothing happens, but the instant is settled
  add_traffic(probe, traffic, order);
  return outcome_of(probe);
}

std::vector<std::uint32_t> in_order(const Traffic& traffic) {
  std::vector<std::uint32_t> order(traffic.messages.size());
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

// The definition, without any of the bookkeeping: whenever something starts or ends, solve everything anew, and move
// all flows on to the next such instant. A group is a flow on each of its links, and ends with the last.
class DirectSimulation {
 public:
  explicit DirectSimulation(const Traffic& traffic)
      : traffic_(traffic), fabric_(compose(traffic.fabric)), outcome_{{}, {fabric_.link_count(), {0, 0}}} {}

  Outcome run() {
    for (std::uint32_t next = 0; next < traffic_.messages.size() || !running_.empty();) {
      for (; next < traffic_.messages.size() && traffic_.messages[next].start == now_; ++next) start(next);
      solve();
      std::int64_t until = next < traffic_.messages.size() ? traffic_.messages[next].start : INT64_MAX;
      for (const Running& flow : running_)
        until = std::min(until, now_ + static_cast<std::int64_t>((flow.left + flow.rate - 1) / flow.rate));
      move_on(until);
    }
    std::ranges::sort(outcome_.notices);
    return outcome_;
  }

 private:
  struct Running {
    std::uint32_t id;
    std::vector<LinkId> route;
    Int128 left;
    std::uint32_t connections;
    std::int64_t rate;  // of all of them
  };

  void start(std::uint32_t id) {
    const Sending& message = traffic_.messages[id];
    if (message.loads.empty()) {
      std::vector<LinkId> route;
      fabric_.route(DeviceId(message.from), DeviceId(message.to), route);
      if (route.empty()) return release(id);
      run_on(id, route, Bytes(message.bytes), 1);
    }
    for (const LinkLoad& load : message.loads) run_on(id, {load.link}, load.bytes, load.connections);
  }

  void run_on(std::uint32_t id, const std::vector<LinkId>& route, Bytes bytes, std::uint32_t connections) {
    running_.push_back({id, route, work_of(bytes), connections, 0});
    for (const LinkId link : route) outcome_.links[index_of(link)].first += bytes.count();
  }

  void solve() {
    MaxMin solver;
    for (std::uint32_t link = 0; link < fabric_.link_count(); ++link)
      solver.add_link(fabric_.link(LinkId(link)).bandwidth);
    for (const Running& flow : running_) {
      solver.add_flow();
      for (const LinkId link : flow.route) solver.cross(index_of(link), flow.connections);
    }
    solver.solve();
    for (std::uint32_t i = 0; i < running_.size(); ++i) running_[i].rate = solver.rate(i) * running_[i].connections;
  }

  void move_on(std::int64_t until) {
    std::set<LinkId> busy;
    for (Running& flow : running_) {
      flow.left -= Int128{flow.rate} * (until - now_);
      busy.insert(flow.route.begin(), flow.route.end());
    }
    for (const LinkId link : busy) outcome_.links[index_of(link)].second += until - now_;
    now_ = until;
    std::set<std::uint32_t> ended;
    for (const Running& flow : running_)
      if (flow.left <= 0) ended.insert(flow.id);
    std::erase_if(running_, [](const Running& flow) { return flow.left <= 0; });
    for (const Running& flow : running_) ended.erase(flow.id);
    for (const std::uint32_t id : ended) release(id);
  }

  void release(std::uint32_t id) {
    const Sending& message = traffic_.messages[id];
    const Duration latency = message.loads.empty()
                                 ? route_latency(fabric_, DeviceId(message.from), DeviceId(message.to))
                                 : Duration(kGroupLatency);
    outcome_.notices.emplace_back(now_, id, "released");
    outcome_.notices.emplace_back(now_ + latency.count(), id, "arrived");
  }

  const Traffic& traffic_;
  Fabric fabric_;
  Outcome outcome_;
  std::vector<Running> running_;
  std::int64_t now_ = 0;
};

}  // namespace

TEST_CASE("all that is told and counted is that of a direct simulation that solves everything at every change") {
  std::mt19937 random(31);
  for (int instance = 0; instance < 170; ++instance) {
    const bool large = instance >= 150;
    INFO("instance " << instance);
    const Traffic traffic = large ? random_traffic(random, 500, 8) : random_traffic(random, 120);
    REQUIRE(simulate<FlowNetwork>(traffic, in_order(traffic), {}) == DirectSimulation(traffic).run());
  }
}

TEST_CASE("an all-to-all at once, where every end moves most rates, is that of the direct simulation too") {
  std::mt19937 random(34);
  for (const std::uint32_t ranks : {3U, 8U, 14U}) {
    Traffic traffic{{dimension("switch", ranks, 25'000'000'000, 700)}, {}};
    for (std::uint32_t from = 0; from < ranks; ++from)
      for (std::uint32_t to = 0; to < ranks; ++to)
        traffic.messages.push_back({0, from, to, 1'000'000 + static_cast<std::int64_t>(random() % 100'000), {}});
    INFO(ranks << " ranks");
    REQUIRE(simulate<FlowNetwork>(traffic, in_order(traffic), {}) == DirectSimulation(traffic).run());
  }
}

TEST_CASE("results depend neither on the order of messages nor on when and how much is solved again") {
  std::mt19937 random(32);
  for (int instance = 0; instance < 60; ++instance) {
    const bool large = instance >= 50;
    const Traffic traffic = large ? random_traffic(random, 600, 8) : random_traffic(random, 150);
    const Outcome expected = DirectSimulation(traffic).run();
    std::vector<std::uint32_t> order = in_order(traffic);
    std::ranges::shuffle(order, random);
    INFO("instance " << instance);
    REQUIRE(simulate<FlowNetwork>(traffic, order, {}) == expected);
    std::vector<std::int64_t> settles;
    const auto end = static_cast<std::uint64_t>(std::get<0>(expected.notices.back()));
    for (int i = 0; i < 300; ++i)
      settles.push_back(static_cast<std::int64_t>((std::uint64_t{random()} << 32 | random()) % (end + 1)));
    for (const Notice& notice : expected.notices) settles.push_back(std::max(std::int64_t{0}, std::get<0>(notice) - 1));
    REQUIRE(simulate<FlowNetwork>(traffic, order, settles) == expected);
  }
}

TEST_CASE("messages that come apart into themselves, now and then and several times in one instant, change nothing") {
  std::mt19937 random(35);
  for (int instance = 0; instance < 60; ++instance) {
    const Traffic traffic = random_traffic(random, instance >= 50 ? 600 : 150, instance >= 50 ? 8 : 1);
    const Outcome expected = DirectSimulation(traffic).run();
    INFO("instance " << instance);
    Probe<FlowNetwork> probe(traffic.fabric);
    probe.when_decided = [&] {
      for (auto times = random() % 6; times > 3; --times) probe.network.split({});
    };
    add_traffic(probe, traffic, in_order(traffic));
    REQUIRE(outcome_of(probe) == expected);
  }
}

TEST_CASE("where nothing is shared, flow is alpha-beta to the picosecond, and so is what links count") {
  // One message at a time between each pair of a fully connected fabric, which has a link of its own: the next starts
  // when the one before is released, or some time later.
  std::mt19937 random(33);
  for (int instance = 0; instance < 40; ++instance) {
    const std::vector<DimensionSpec> fabric = {
        dimension("fully-connected", 7, 1 + static_cast<std::int64_t>(random()) * 100, instance % 3)};
    std::vector<std::vector<std::int64_t>> sizes(49);
    for (auto& of_pair : sizes)
      for (int i = 0; i < 5; ++i) of_pair.push_back(static_cast<std::int64_t>(random() >> random() % 32));
    const auto run = [&](auto& probe) {
      const auto send = [&](std::uint32_t id) {
        const std::uint32_t pair = id % 49;
        probe.send(pair / 7, pair % 7, sizes[pair][id / 49], id);
      };
      probe.when_released = [&probe, send](std::uint32_t id) {
        if (id + 49 >= 5 * 49) return;
        if (id % 3 == 0)
          probe.at(probe.now() + static_cast<std::int64_t>(id), [send, id] { send(id + 49); });
        else
          send(id + 49);
      };
      for (std::uint32_t pair = 0; pair < 49; ++pair)
        probe.at(static_cast<std::int64_t>(pair / 2), [send, pair] { send(pair); });
      return probe.run();
    };
    Probe<FlowNetwork> flow(fabric);
    Probe<AlphaBetaNetwork> alpha_beta(fabric);
    const std::vector<Notice> expected = run(alpha_beta);
    REQUIRE(expected.size() == 2 * 5 * 49);
    REQUIRE(run(flow) == expected);
    const auto usage = flow.network.link_usage();
    const auto expected_usage = alpha_beta.network.link_usage();
    for (std::size_t link = 0; link < usage.size(); ++link) {
      REQUIRE(usage[link].bytes == expected_usage[link].bytes);
      REQUIRE(usage[link].busy == expected_usage[link].busy);
    }
  }
}

TEST_CASE("a link is never faster than its bandwidth, and no message beats alpha-beta") {
  std::mt19937 random(34);
  for (int instance = 0; instance < 40; ++instance) {
    Traffic traffic = random_traffic(random, 100);
    for (Sending& message : traffic.messages) message.loads.clear();
    if (traffic.fabric[0].bandwidth < Bandwidth(100)) continue;  // may be overbooked
    Probe<FlowNetwork> probe(traffic.fabric);
    for (std::uint32_t id = 0; id < traffic.messages.size(); ++id) {
      const Sending& message = traffic.messages[id];
      probe.at(message.start, [&probe, &message, id] { probe.send(message.from, message.to, message.bytes, id); });
    }
    const std::vector<Notice> shared = probe.run();
    std::map<std::pair<std::uint64_t, std::string>, std::int64_t> alone;
    for (const auto& [time, id, what] : simulate<AlphaBetaNetwork>(traffic, in_order(traffic), {}).notices)
      alone[{id, what}] = time;
    for (const auto& [time, id, what] : shared) REQUIRE(time >= alone.at({id, what}));
    const auto usage = probe.network.link_usage();
    for (std::uint32_t link = 0; link < usage.size(); ++link)
      REQUIRE(usage[link].bytes / probe.fabric.link(LinkId(link)).bandwidth <= usage[link].busy);
  }
}
