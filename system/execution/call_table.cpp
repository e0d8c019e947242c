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
  const workload::ExecutionGraph& graph = agents_.execution(rank).graph();
  const Cast::Membership self_in = cast_.membership(rank, graph.communicator_slot(node));
  const Member member{open({self_in.home, graph.call_index(node)}), self_in.seat};
  Call& call = calls_[member.call];
  Seat& self = call.seats[member.seat];
  ORRERY_ASSERT(!self.in);
  self.in = true;
  self.node = node;
  self.entered = engine_.now();
  agents_.take_device(rank, node, call.plan->takes());
  if (++call.entered == 1) opened_.push_back(member.call);
  if (call.all_in()) {
    call.all_entered = engine_.now();
    assembled_.push_back(member.call);
  }
  return member;
}

void CallTable::close_round() {
  for (const std::uint32_t call : opened_)
    if (!calls_[call].all_in()) tell_next_round(News::kOpened, {call, 0});
  opened_.clear();
}

bool CallTable::hold_assembled() {
  if (assembled_.empty()) return false;
  for (const std::uint32_t number : assembled_) {
    const Call& call = calls_[number];
    for (std::uint32_t seat = 0; seat < call.seats.size(); ++seat)
      agents_.hold(call.holder(seat), call.seats[seat].node);
  }
  assembled_.clear();
  return true;
}

std::uint32_t CallTable::open(CallKey key) {
  if (index_of(key.group) >= open_.size()) open_.resize(index_of(key.group) + 1);
  std::vector<std::uint32_t>& open = open_[index_of(key.group)];
  for (const std::uint32_t call : open)
    if (calls_[call].key == key) return call;
  open.push_back(take());
  prepare(calls_[open.back()], key);
  return open.back();
}

// In the place of a call that is over, whose memory it takes. The one chunk of a call of one phase does not wait for
// its turn.
void CallTable::prepare(Call& call, CallKey key) {
  call.key = key;
  call.cast = &cast_.call(key);
  call.plan = &call.cast->plan();
  call.members = &cast_.input().job.communicators[index_of(key.group)].members;
  call.entered = 0;
  call.done = 0;
  call.all_entered = Time{};
  call.is_fast_forwarded = call.cast->is_fast_forwarded();
  const std::size_t seats = call.cast->seats(), phases = call.plan->chunks * call.plan->phases.size();
  call.seats.assign(seats, Seat{});
  call.states.clear();
  if (!call.is_fast_forwarded) call.states.resize(seats * phases);
  const bool takes_turns = !call.is_fast_forwarded && (phases > 1 || scope_ == QueueScope::kRank);
  call.queues_of_seat = takes_turns ? static_cast<std::uint32_t>(2 * call.plan->layout->sizes.size()) : 0;
  call.chunk_queues.clear();
  call.chunk_queues.resize(seats * call.queues_of_seat);
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

void CallTable::call_others(const Call& call) {
  const CollectivePlans& plans = cast_.input().plans;
  for (std::uint32_t seat = 0; seat < call.seats.size(); ++seat) {
    if (call.seats[seat].in) continue;
    const RankId rank = call.holder(seat);
    agents_.call(rank, plans.node_of(call.key.group, call.key.index, rank));
  }
}

void CallTable::announce(CallKey key) {
  const CallCast& cast = cast_.call(key);
  const workload::Members& members = cast_.input().job.communicators[index_of(key.group)].members;
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
  tell_next_round(News::kSeatDone, member);
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
      return call_others(call);
    case News::kSeatDone:
      return report_done({number, static_cast<std::uint32_t>(payload)});
  }
}

void CallTable::report_done(Member member) {
  Call& call = calls_[member.call];
  Seat& seat = call.seats[member.seat];
  seat.reported = true;
  const RankId holder = call.holder(member.seat);
  const NodeId node = seat.node;
  const Time all_entered = call.all_in() ? std::max(call.all_entered, seat.entered) : seat.entered;
  if (++call.done == call.seats.size()) {
    std::erase(open_[index_of(call.key.group)], member.call);
    free_.push_back(member.call);
  }
  agents_.complete(holder, node, all_entered);
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
    for (std::vector<std::uint32_t>* const calls : {&opened_, &assembled_})
      if (std::ranges::find(*calls, number) != calls->end()) calls->push_back(place);
  }
}

Call CallTable::part_of(const Call& whole, CallKey key, std::span<const std::uint32_t> parent_seat, Runner& runner) {
  Call part;
  part.key = key;
  part.cast = &cast_.call(key);
  part.plan = &part.cast->plan();
  part.members = &cast_.input().job.communicators[index_of(key.group)].members;
  part.all_entered = whole.all_entered;
  part.queues_of_seat = whole.queues_of_seat;
  part.is_fast_forwarded = whole.is_fast_forwarded;
  const auto per_seat = static_cast<std::uint32_t>(whole.states.size() / whole.seats.size());
  for (std::uint32_t number = 0; number < parent_seat.size(); ++number) {
    const std::uint32_t parent = parent_seat[number];
    const Seat& seat = part.seats.emplace_back(whole.seats[parent]);
    part.entered += seat.in ? 1 : 0;
    part.done += seat.reported ? 1 : 0;
    for (std::uint32_t queue = 0; queue < whole.queues_of_seat; ++queue) {
      ChunkQueue& chunk_queue =
          part.chunk_queues.emplace_back(whole.chunk_queues[parent * whole.queues_of_seat + queue]);
      ORRERY_ASSERT(!chunk_queue.touched && chunk_queue.called.empty());
      for (ChunkQueue::Place& place : chunk_queue.places) std::get<3>(place) += (number - parent) * per_seat;
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
