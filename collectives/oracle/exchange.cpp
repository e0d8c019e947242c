// SPDX-License-Identifier: MIT
#include "collectives/oracle/exchange.h"

#include <map>
#include <optional>
#include <set>

#include "core/assert.h"

namespace orrery::collectives {
namespace {

constexpr std::uint32_t kNobody = UINT32_MAX;

// Numbers of each rank's messages in the list: its sends from first[rank] on, its receives as slots are filled.
struct Numbering {
  std::vector<std::uint32_t> first;
  std::vector<std::vector<std::uint32_t>> received;  // [rank][slot]
};

Numbering number_messages(const Schedule& schedule) {
  Numbering numbering;
  std::uint32_t count = 0;
  for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
    numbering.first.push_back(count);
    numbering.received.emplace_back(schedule.receives(rank), kNobody);
    count += schedule.sends(rank);
  }
  for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank)
    for (std::uint32_t i = 0; i < schedule.sends(rank); ++i) {
      const Step step = schedule.step(rank, i);
      ORRERY_ASSERT(step.to < schedule.ranks() && step.slot < numbering.received[step.to].size());
      std::uint32_t& slot = numbering.received[step.to][step.slot];
      ORRERY_ASSERT(slot == kNobody);
      slot = numbering.first[rank] + i;
    }
  for (const std::vector<std::uint32_t>& slots : numbering.received)
    for (const std::uint32_t message : slots) ORRERY_ASSERT(message != kNobody);
  return numbering;
}

// All ranks send up to one switch. From there a receiving rank gets the data, except what it alone has sent, once all
// of them have come.
Exchange expand_in_network(const Schedule& schedule) {
  const Request& request = schedule.request();
  Exchange exchange{request.kind, request.ranks, request.root, schedule.piece_kinds(), {}, 1};
  const std::uint32_t the_switch = request.ranks;
  std::vector<std::optional<Combine>> receives(request.ranks);
  std::map<PieceId, std::vector<std::uint32_t>> sent;  // up, by piece: messages, which are in the order of the ranks
  for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
    if (schedule.sends(rank) == 0) continue;
    const std::vector<PieceId> pieces = schedule.pieces(rank, 0);
    for (const PieceId piece : pieces) sent[piece].push_back(static_cast<std::uint32_t>(exchange.messages.size()));
    exchange.messages.push_back({rank, the_switch, pieces, Combine::kReduce, {}});
    for (std::uint32_t i = 0; i < schedule.sends(rank); ++i) {
      const Step step = schedule.step(rank, i);
      ORRERY_ASSERT(step.to < schedule.ranks() && schedule.pieces(rank, i) == pieces);
      receives[step.to] = step.combine;
    }
  }
  for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
    if (!receives[rank]) continue;
    Message down{the_switch, rank, {}, *receives[rank], {}};
    std::set<std::uint32_t> after;
    for (const auto& [piece, messages] : sent) {
      if (messages.size() == 1 && exchange.messages[messages.front()].from == rank) continue;
      down.pieces.push_back(piece);
      after.insert(messages.begin(), messages.end());
    }
    down.after.assign(after.begin(), after.end());
    exchange.messages.push_back(std::move(down));
  }
  return exchange;
}

}  // namespace

Exchange expand(const Schedule& schedule) {
  if (schedule.is_in_network()) return expand_in_network(schedule);
  const Request& request = schedule.request();
  Exchange exchange{request.kind, request.ranks, request.root, schedule.piece_kinds(), {}, 0};
  const Numbering numbering = number_messages(schedule);
  for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank)
    for (std::uint32_t i = 0; i < schedule.sends(rank); ++i) {
      const Step step = schedule.step(rank, i);
      ORRERY_ASSERT(step.needs.end <= numbering.received[rank].size());
      Message message{rank, step.to, schedule.pieces(rank, i), step.combine, {}};
      for (std::uint32_t slot = step.needs.begin; slot < step.needs.end; ++slot)
        message.after.push_back(numbering.received[rank][slot]);
      if (step.after_send) message.after.push_back(numbering.first[rank] + *step.after_send);
      exchange.messages.push_back(std::move(message));
    }
  return exchange;
}

}  // namespace orrery::collectives
