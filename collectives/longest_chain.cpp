// SPDX-License-Identifier: MIT
#include "collectives/longest_chain.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

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
      pending_.push_back(rank);
    }
  }

  Duration run() {
    while (!pending_.empty()) {
      const std::uint32_t rank = pending_.back();
      pending_.pop_back();
      advance(rank);
    }
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
      ORRERY_ASSERT(ranks_[rank].next_send == schedule_.sends(rank));
    return last_;
  }

 private:
  struct Rank {
    std::vector<Duration> arrivals;  // by receive slot
    std::uint32_t next_send = 0;
    Duration now{};  // start of the latest send
    // The needs that were met last: many sends in a row often wait for the same.
    SlotRange met;
  };

  // Sends start in order, so each starts no earlier than the one before; that one's release adds no latency.
  void advance(std::uint32_t number) {
    Rank& rank = ranks_[number];
    for (const std::uint32_t sends = schedule_.sends(number); rank.next_send < sends; ++rank.next_send) {
      const Step step = schedule_.step(number, rank.next_send);
      if (!meet(rank, step.needs)) return;
      Rank& receiver = ranks_[step.to];
      const Duration arrival = saturating_add(rank.now, latency_(number, step.to));
      receiver.arrivals[step.slot] = arrival;
      last_ = std::max(last_, arrival);
      pending_.push_back(step.to);
    }
  }

  static bool meet(Rank& rank, SlotRange needs) {
    if (needs == rank.met) return true;
    Duration latest = rank.now;
    for (std::uint32_t slot = needs.begin; slot < needs.end; ++slot) {
      if (rank.arrivals[slot] == kNotThere) return false;
      latest = std::max(latest, rank.arrivals[slot]);
    }
    rank.now = latest;
    rank.met = needs;
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
