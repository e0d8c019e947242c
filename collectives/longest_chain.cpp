// SPDX-License-Identifier: MIT
#include "collectives/longest_chain.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/message_table.h"
#include "core/assert.h"

namespace orrery::collectives {
namespace {

constexpr Duration kNotThere{-1};

// Runs the programs of all ranks on a clock of latencies alone.
class ChainWalk {
 public:
  ChainWalk(const Schedule& schedule, const LatencyOf& latency)
      : schedule_(schedule), latency_(latency), ranks_(schedule.ranks()) {
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      ranks_[rank].arrivals.assign(schedule.receives(rank), kNotThere);
      add_lanes(rank);
      pending_.push_back(rank);
    }
  }

  Duration run() {
    while (!pending_.empty()) {
      const std::uint32_t rank = pending_.back();
      pending_.pop_back();
      advance(rank);
    }
    for (const Rank& rank : ranks_)
      for (const Lane& lane : rank.lanes) ORRERY_ASSERT(lane.next_send == lane.end);
    return last_;
  }

 private:
  // Sends that start in order; of all but a table there is one.
  struct Lane {
    std::uint32_t next_send = 0;
    std::uint32_t end = 0;
    Duration now{};  // start of the latest send
    // The needs that were met last: many sends in a row often wait for the same.
    SlotRange met;
  };
  struct Rank {
    std::vector<Duration> arrivals;  // by receive slot
    std::vector<Lane> lanes;
    std::vector<Duration> starts;  // of the sends, of a table
  };

  void add_lanes(std::uint32_t number) {
    Rank& rank = ranks_[number];
    if (schedule_.table() == nullptr) {
      rank.lanes.push_back({0, schedule_.sends(number), {}, {}});
      return;
    }
    std::uint32_t first = 0;
    for (const std::uint32_t end : schedule_.table()->program(number).lane_ends)
      rank.lanes.push_back({std::exchange(first, end), end, {}, {}});
    rank.starts.assign(schedule_.sends(number), kNotThere);
  }

  // A send of one lane may be what another lane waits for.
  void advance(std::uint32_t number) {
    Rank& rank = ranks_[number];
    bool goes_on = true;
    while (goes_on) {
      goes_on = false;
      for (Lane& lane : rank.lanes) goes_on = advance(number, rank, lane) || goes_on;
      goes_on = goes_on && rank.lanes.size() > 1;
    }
  }

  // Each send starts no earlier than the one before; that one's release adds no latency. Whether there was one.
  bool advance(std::uint32_t number, Rank& rank, Lane& lane) {
    const std::uint32_t first = lane.next_send;
    for (; lane.next_send < lane.end; ++lane.next_send) {
      const Step step = schedule_.step(number, lane.next_send);
      if (!meet(rank, lane, step.needs) || !meet_rest(number, rank, lane, step)) break;
      Rank& receiver = ranks_[step.to];
      const Duration arrival = saturating_add(lane.now, latency_(number, step.to));
      receiver.arrivals[step.slot] = arrival;
      last_ = std::max(last_, arrival);
      pending_.push_back(step.to);
    }
    return lane.next_send > first;
  }

  static bool meet(Rank& rank, Lane& lane, SlotRange needs) {
    if (needs == lane.met) return true;
    Duration latest = lane.now;
    for (std::uint32_t slot = needs.begin; slot < needs.end; ++slot) {
      if (rank.arrivals[slot] == kNotThere) return false;
      latest = std::max(latest, rank.arrivals[slot]);
    }
    lane.now = latest;
    lane.met = needs;
    return true;
  }

  // Further dependencies of a send in a table; schedules of functions have none, since they send in order.
  bool meet_rest(std::uint32_t number, Rank& rank, Lane& lane, const Step& step) {
    if (schedule_.table() == nullptr) return true;
    const auto meet_send = [&](std::uint32_t send) {
      if (rank.starts[send] == kNotThere) return false;
      lane.now = std::max(lane.now, rank.starts[send]);
      return true;
    };
    if (step.after_send && !meet_send(*step.after_send)) return false;
    if (const MoreWaits* more = schedule_.table()->more_waits(number, lane.next_send)) {
      for (const SlotRange& needs : more->needs)
        if (!meet(rank, lane, needs)) return false;
      if (!std::ranges::all_of(more->after_sends, meet_send)) return false;
    }
    rank.starts[lane.next_send] = lane.now;
    return true;
  }

  const Schedule& schedule_;
  const LatencyOf& latency_;
  std::vector<Rank> ranks_;
  std::vector<std::uint32_t> pending_;  // ranks that may be able to send
  Duration last_{};
};

// A uniform ring's chains run along the way from rank to rank, one message further each time, `length` messages in all;
// so the longest is the largest sum of that many latencies in a row, round and round.
Duration longest_uniform_ring(const Schedule& schedule, const LatencyOf& latency) {
  const std::uint32_t ranks = schedule.ranks();
  const std::uint32_t length = schedule.sends(0);
  std::vector<Duration> hops;
  std::uint32_t rank = 0;
  do {
    const std::uint32_t to = schedule.step(rank, 0).to;
    hops.push_back(latency(rank, to));
    rank = to;
  } while (rank != 0);
  ORRERY_ASSERT(hops.size() == ranks);
  Int128 turn = 0;
  for (const Duration hop : hops) turn += hop.count();
  Int128 window = 0;
  for (std::uint32_t hop = 0; hop < length % ranks; ++hop) window += hops[hop].count();
  Int128 longest = window;
  for (std::uint32_t first = 0; first < ranks; ++first) {
    window += hops[(first + length % ranks) % ranks].count() - hops[first].count();
    longest = std::max(longest, window);
  }
  longest += turn * (length / ranks);
  return Duration(static_cast<std::int64_t>(std::min<Int128>(longest, std::numeric_limits<std::int64_t>::max())));
}

}  // namespace

Duration longest_chain(const Schedule& schedule, const LatencyOf& latency) {
  if (schedule.ranks() > 1 && schedule.is_uniform_ring()) return longest_uniform_ring(schedule, latency);
  return ChainWalk(schedule, latency).run();
}

}  // namespace orrery::collectives
