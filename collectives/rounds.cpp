// SPDX-License-Identifier: MIT
#include "collectives/rounds.h"

#include <algorithm>

#include "collectives/algorithms.h"
#include "core/assert.h"

namespace orrery::collectives {
namespace {

constexpr std::uint32_t kNoRound = UINT32_MAX;

// By rank and receive slot, and by rank and send: the round in which it goes.
struct Walked {
  std::vector<std::vector<std::uint32_t>> received;
  std::vector<std::vector<std::uint32_t>> sent;
};

// The round of the rank's next send; kNoRound if something that it needs has no round yet.
std::uint32_t round_of_next(const Walked& walked, std::uint32_t rank, const Step& step) {
  const std::vector<std::uint32_t>& sent = walked.sent[rank];
  std::uint32_t round = sent.empty() ? 0 : sent.back();  // sends start in order
  if (step.after_send) round = std::max(round, sent[*step.after_send] + 1);
  for (std::uint32_t slot = step.needs.begin; slot < step.needs.end; ++slot) {
    if (walked.received[rank][slot] == kNoRound) return kNoRound;
    round = std::max(round, walked.received[rank][slot] + 1);
  }
  return round;
}

Walked walk(const Schedule& schedule) {
  Walked walked{{}, std::vector<std::vector<std::uint32_t>>(schedule.ranks())};
  std::vector<std::uint32_t> pending;  // ranks that may be able to send
  for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
    walked.received.emplace_back(schedule.receives(rank), kNoRound);
    pending.push_back(rank);
  }
  while (!pending.empty()) {
    const std::uint32_t rank = pending.back();
    pending.pop_back();
    std::vector<std::uint32_t>& sent = walked.sent[rank];
    for (const std::uint32_t sends = schedule.sends(rank); sent.size() < sends;) {
      const Step step = schedule.step(rank, static_cast<std::uint32_t>(sent.size()));
      const std::uint32_t round = round_of_next(walked, rank, step);
      if (round == kNoRound) break;
      sent.push_back(round);
      walked.received[step.to][step.slot] = round;
      pending.push_back(step.to);
    }
  }
  return walked;
}

}  // namespace

Rounds rounds_of(std::span<const Schedule> schedules) {
  Rounds rounds;
  std::vector<std::vector<std::uint32_t>> arrivals;  // by rank and round
  for (const Schedule& schedule : schedules) {
    Walked walked = walk(schedule);
    arrivals.resize(schedule.ranks());
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
      ORRERY_ASSERT(walked.sent[rank].size() == schedule.sends(rank));
      if (schedule.is_in_network() && !walked.received[rank].empty()) walked.received[rank].resize(1);
      for (const std::uint32_t round : walked.received[rank]) {
        if (arrivals[rank].size() <= round) arrivals[rank].resize(round + 1);
        rounds.fan_in = std::max(rounds.fan_in, ++arrivals[rank][round]);
        rounds.count = std::max(rounds.count, round + 1);
      }
    }
    rounds.of_message = std::move(walked.sent);
  }
  return rounds;
}

Rounds rounds_of(const Algorithm& algorithm, Request request) {
  std::vector<Schedule> schedules = {make_schedule(algorithm, request)};
  if (algorithm.both_ways && request.kind != CollectiveKind::kBarrier) {
    request.descending = true;
    schedules.push_back(make_schedule(algorithm, std::move(request)));
  }
  return rounds_of(schedules);
}

}  // namespace orrery::collectives
