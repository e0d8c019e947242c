// SPDX-License-Identifier: MIT
#include "collectives/rounds.h"

#include <algorithm>

#include "collectives/algorithms.h"
#include "core/assert.h"

namespace orrery::collectives {
namespace {

constexpr std::uint32_t kNoRound = UINT32_MAX;

using RoundsBySend = std::vector<std::vector<std::uint32_t>>;  // by rank and send

// Rounds in which messages go, by rank and receive slot, and by rank and send.
struct Walked {
  std::vector<std::vector<std::uint32_t>> received;
  RoundsBySend sent;
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

// Walks the schedule in rounds; no message goes before its round in `earliest`.
Walked walk(const Schedule& schedule, const RoundsBySend& earliest) {
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
      std::uint32_t round = round_of_next(walked, rank, step);
      if (round == kNoRound) break;
      round = std::max(round, earliest[rank][sent.size()]);
      sent.push_back(round);
      walked.received[step.to][step.slot] = round;
      pending.push_back(step.to);
    }
  }
  return walked;
}

// The first send of a rank that waits for a receive; the number of sends if none does.
std::uint32_t first_use(const Schedule& schedule, std::uint32_t rank, std::uint32_t slot) {
  const std::uint32_t sends = schedule.sends(rank);
  for (std::uint32_t send = 0; send < sends; ++send) {
    const SlotRange needs = schedule.step(rank, send).needs;
    if (needs.begin <= slot && slot < needs.end) return send;
  }
  return sends;
}

bool share_a_piece(std::vector<PieceId> a, std::vector<PieceId> b) {
  std::ranges::sort(a);
  return std::ranges::any_of(b, [&](PieceId piece) { return std::ranges::binary_search(a, piece); });
}

// Raises the round of messages that change a piece which their receiver still sends without them: they go with the last
// of these sends. Whether there was any.
bool meet_partners(const Schedule& schedule, const Walked& walked, RoundsBySend& earliest) {
  bool has_raised = false;
  for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank)
    for (std::uint32_t send = 0; send < schedule.sends(rank); ++send) {
      const Step step = schedule.step(rank, send);
      const std::vector<std::uint32_t>& of_receiver = walked.sent[step.to];
      for (std::uint32_t without = first_use(schedule, step.to, step.slot); without-- > 0;) {
        if (of_receiver[without] <= walked.sent[rank][send]) break;
        if (!share_a_piece(schedule.pieces(rank, send), schedule.pieces(step.to, without))) continue;
        earliest[rank][send] = of_receiver[without];
        has_raised = true;
        break;
      }
    }
  return has_raised;
}

// The rounds as partners count them: both messages of an exchange are in one. Where ranks send what they had in the
// beginning, whatever has come meanwhile, there are no such rounds, and messages go as early as they can.
Walked walk(const Schedule& schedule) {
  RoundsBySend earliest;
  for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) earliest.emplace_back(schedule.sends(rank));
  const Walked first = walk(schedule, earliest);
  if (schedule.is_in_network()) return first;
  Walked walked = first;
  for (std::uint32_t turn = 0; turn < schedule.ranks(); ++turn) {
    if (!meet_partners(schedule, walked, earliest)) return walked;
    walked = walk(schedule, earliest);
  }
  return first;
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
