// SPDX-License-Identifier: MIT
#include "system/execution/call_table.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/assert.h"
#include "system/execution/agents.h"
#include "system/execution/chunk_queues.h"

namespace orrery::system {

CallTable::Member CallTable::enter(RankId rank, NodeId node) {
  const GroupId group = cast_.input().job.communicator(rank, node);
  const std::uint32_t call_index = cast_.input().job.graph(rank).call_index(node);
  const Member member{open({cast_.home_of(group), call_index}), cast_.seat_of(rank, group)};
  Call& call = calls_[member.call];
  Seat& self = call.seats[member.seat];
  ORRERY_ASSERT(!self.in);
  self.in = true;
  self.node = node;
  self.entered = engine_.now();
  agents_.take_device(rank, node, call.plan->takes());
  if (++call.entered == 1) tell_next_round(News::kOpened, {member.call, 0});
  if (call.all_in()) {
    call.all_entered = engine_.now();
    tell_next_round(News::kAssembled, {member.call, 0});
  }
  return member;
}

std::uint32_t CallTable::open(CallKey key) {
  if (index_of(key.group) >= open_.size()) open_.resize(index_of(key.group) + 1);
  std::vector<std::uint32_t>& open = open_[index_of(key.group)];
  for (const std::uint32_t call : open)
    if (calls_[call].key == key) return call;
  open.push_back(take());
  CallCast& cast = cast_.call(key);
  const CollectivePlan& plan = cast.plan();
  const std::size_t seats = cast.seats(), states = seats * plan.chunks * plan.phases.size();
  Call& call = calls_[open.back()];
  call = {key, &cast, &plan, 0, 0, Time{}, std::vector<Seat>(seats), {}, cast.is_fast_forwarded()};
  if (!call.is_fast_forwarded) call.states.resize(states);
  for (Seat& seat : call.seats) seat.chunk_queues.resize(2 * plan.layout->sizes.size());
  return open.back();
}

std::uint32_t CallTable::take() {
  if (free_.empty()) {
    calls_.emplace_back();
    return static_cast<std::uint32_t>(calls_.size() - 1);
  }
  const std::uint32_t call = free_.back();
  free_.pop_back();
  return call;
}

void CallTable::announce(CallKey key) {
  const CallCast& cast = cast_.call(key);
  const std::vector<RankId>& members = cast_.input().job.communicators[index_of(key.group)].members;
  const CollectivePlans& plans = cast_.input().plans;
  for (std::uint32_t seat = 0; seat < cast.seats(); ++seat) {
    const RankId rank = members[cast.member(seat)];
    agents_.call(rank, plans.node_of(key.group, key.index, rank));
  }
}

void CallTable::finish(Member member) {
  Seat& seat = calls_[member.call].seats[member.seat];
  ORRERY_ASSERT(!seat.done);
  seat.done = true;
  const bool took_no_time = seat.entered == engine_.now();
  if (took_no_time) return tell_next_round(News::kSeatDone, member);
  report_done(member);
}

void CallTable::tell_next_round(News news, Member member) {
  ORRERY_ASSERT(member.call < kMostCalls);
  engine_.after(Duration::zero(), *this, payload_of(news, member));
}

void CallTable::on_event(std::uint64_t payload) {
  const std::uint32_t number = static_cast<std::uint32_t>(payload >> 32) & (kMostCalls - 1);
  const Call& call = calls_[number];
  switch (static_cast<News>(payload >> kNewsShift)) {
    case News::kOpened:
      return announce(call.key);
    case News::kAssembled:
      for (std::uint32_t seat = 0; seat < call.seats.size(); ++seat)
        agents_.hold(cast_.holder(call.key, seat), call.seats[seat].node);
      return;
    case News::kSeatDone:
      return report_done({number, static_cast<std::uint32_t>(payload)});
  }
}

void CallTable::report_done(Member member) {
  Call& call = calls_[member.call];
  Seat& seat = call.seats[member.seat];
  seat.reported = true;
  const CallKey key = call.key;
  const NodeId node = seat.node;
  const Time all_entered = call.all_in() ? std::max(call.all_entered, seat.entered) : seat.entered;
  if (++call.done == call.seats.size()) {
    std::erase(open_[index_of(key.group)], member.call);
    free_.push_back(member.call);
  }
  agents_.complete(cast_.holder(key, member.seat), node, all_entered);
}

void CallTable::split(const ClassSplit& split, Runner& runner) {
  parts_.clear();
  runner.begin_split();
  std::map<GroupId, std::vector<const ClassSplit::Home*>> homes;  // by parent, which comes first
  for (const ClassSplit::Home& home : split.homes) homes[home.parent].push_back(&home);
  for (const auto& [parent, parts] : homes) {
    ORRERY_ASSERT(parts.front()->home == parent);
    if (index_of(parent) >= open_.size()) continue;
    const std::vector<std::uint32_t> open = open_[index_of(parent)];
    for (const std::uint32_t call : open) split_call(call, parts, runner);
  }
}

void CallTable::split_call(std::uint32_t number, const std::vector<const ClassSplit::Home*>& parts, Runner& runner) {
  const Call whole = calls_[number];
  std::vector<Part>& call_parts = parts_[number];
  for (const ClassSplit::Home* part : parts) {
    const std::uint32_t place = part->home == part->parent ? number : take();
    calls_[place] = part_of(whole, {part->home, whole.key.index}, part->parent_seat, runner);
    call_parts.push_back({place, part->parent_seat});
    if (place == number) continue;
    if (index_of(part->home) >= open_.size()) open_.resize(index_of(part->home) + 1);
    open_[index_of(part->home)].push_back(place);
  }
}

Call CallTable::part_of(const Call& whole, CallKey key, std::span<const std::uint32_t> parent_seat, Runner& runner) {
  CallCast& cast = cast_.call(key);
  Call part{key, &cast, &cast.plan(), 0, 0, whole.all_entered, {}, {}, whole.is_fast_forwarded};
  const auto per_seat = static_cast<std::uint32_t>(whole.states.size() / whole.seats.size());
  for (std::uint32_t number = 0; number < parent_seat.size(); ++number) {
    const std::uint32_t parent = parent_seat[number];
    Seat& seat = part.seats.emplace_back(whole.seats[parent]);
    part.entered += seat.in ? 1 : 0;
    part.done += seat.reported ? 1 : 0;
    for (ChunkQueue& chunk_queue : seat.chunk_queues) {
      ORRERY_ASSERT(!chunk_queue.touched && chunk_queue.called.empty());
      std::set<ChunkQueue::Place> waiting;
      for (const auto& [since, chunk, phase, state] : chunk_queue.waiting)
        waiting.emplace(since, chunk, phase, state - parent * per_seat + number * per_seat);
      chunk_queue.waiting = std::move(waiting);
    }
    const auto states = whole.states.begin() + parent * per_seat;
    part.states.insert(part.states.end(), states, states + per_seat);
  }
  if (!part.states.empty()) runner.split(whole, part, parent_seat);
  return part;
}

std::span<const CallTable::Part> CallTable::parts_of(std::uint32_t call) const {
  const auto parts = parts_.find(call);
  if (parts == parts_.end()) return {};
  return parts->second;
}

void CallTable::add_parts(std::uint64_t payload, std::vector<std::uint64_t>& parts) {
  const std::uint32_t call = static_cast<std::uint32_t>(payload >> 32) & (kMostCalls - 1);
  const auto number = static_cast<std::uint32_t>(payload);
  const auto news = static_cast<News>(payload >> kNewsShift);
  for (const Part& part : parts_of(call)) {
    if (news != News::kSeatDone) {
      if (part.call != call) parts.push_back(payload_of(news, {part.call, 0}));
      continue;
    }
    for (std::uint32_t seat = 0; seat < part.parent_seat.size(); ++seat)
      if (part.parent_seat[seat] == number && (part.call != call || seat != number))
        parts.push_back(payload_of(news, {part.call, seat}));
  }
}

}  // namespace orrery::system
