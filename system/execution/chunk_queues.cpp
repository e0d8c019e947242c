// SPDX-License-Identifier: MIT
#include "system/execution/chunk_queues.h"

#include <algorithm>
#include <tuple>

#include "core/assert.h"

namespace orrery::system {

namespace {

using Status = PhaseState::Status;

// Direction that a queue of a call serves: dimension, axis and way; all logical rings are one.
using Way = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
Way way_of(const CommunicatorLayout& layout, std::uint32_t queue) {
  if (!layout.cuboid) return {UINT32_MAX, 0, queue % 2};
  const std::uint32_t axis = queue / 2, dimension = layout.dimensions[axis];
  const auto first = std::ranges::find(layout.dimensions, dimension) - layout.dimensions.begin();
  return {dimension, axis - static_cast<std::uint32_t>(first), queue % 2};
}

// Order of a rank's calls; no two have equal places.
using CallPlace = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
CallPlace place_among_calls(QueuePolicy policy, Time entered, NodeId node, std::uint32_t priority) {
  const std::int64_t since = entered.time_since_epoch().count(), number = index_of(node);
  switch (policy) {
    case QueuePolicy::kFifo:
      return {0, since, number};
    case QueuePolicy::kLifo:
      return {0, -since, -number};
    case QueuePolicy::kPriority:
      return {-std::int64_t{priority}, since, number};
  }
  ORRERY_ASSERT(false);
}

}  // namespace

void ChunkQueues::begin(CallTable::Member member) {
  const CollectivePlan& plan = *calls_[member.call].plan;
  if (plan.phases.empty()) return calls_.finish(member);
  if (calls_[member.call].queues_of_seat == 0) return begin_at_once(member);
  if (options_.queue_scope == QueueScope::kRank) note_in_flight(member);
  for (std::uint32_t chunk = 0; chunk < plan.chunks; ++chunk)
    for (std::uint32_t phase = 0; phase < plan.phases.size(); ++phase)
      if (plan.phases[phase].phase.after.empty()) begin_phase(member.call, {member.seat, chunk, phase});
}

// The call is of one phase of one chunk, which competes with nothing.
void ChunkQueues::begin_at_once(CallTable::Member member) {
  Call& call = calls_[member.call];
  const StateKey key{member.seat, 0, 0};
  const std::uint32_t state = call.state_of(key);
  const bool participates = call.plan->participates(0, call.cast->position(member.seat));
  call.states[state].status = participates ? Status::kActive : Status::kPassed;
  participates ? runner_.begin(member.call, state) : end_phase(member.call, key);
}

void ChunkQueues::advance() {
  while (!touched_.empty() || !touched_queues_.empty()) {
    // 1. Book what has ended and start sends; an ended phase puts its chunk into the next chunk queues.
    for (std::size_t i = 0; i < touched_.size(); ++i) {
      const Touched touched = touched_[i];
      calls_[touched.call].states[touched.state].touched = false;
      advance_state(touched.call, touched.state);
    }
    touched_.clear();
    // 2. Fill the queues that were touched; who is taken in decides in the next turn.
    for (const TouchedQueue& touched : touched_queues_) fill(touched);
    touched_queues_.clear();
    // 3. Who came first to a phase calls the others, whatever they took up in this turn.
    runner_.end_turn();
  }
}

void ChunkQueues::touch(std::uint32_t call, std::uint32_t state) {
  PhaseState& touched = calls_[call].states[state];
  if (touched.touched) return;
  touched.touched = true;
  touched_.push_back({call, state});
}

void ChunkQueues::touch_queue(CallTable::Member member, std::uint32_t queue) {
  ChunkQueue& chunk_queue = calls_[member.call].chunk_queue(member.seat, queue);
  if (chunk_queue.touched) return;
  chunk_queue.touched = true;
  touched_queues_.push_back({member, queue});
}

void ChunkQueues::summon(std::uint32_t number, std::uint32_t state) {
  Call& call = calls_[number];
  if (call.states[state].status != Status::kWaiting) return;
  const StateKey key = call.key_of(state);
  const std::uint32_t queue = call.phase(key).phase.queue();
  call.chunk_queue(key.seat, queue).called.push_back(state);
  touch_queue({number, key.seat}, queue);
}

void ChunkQueues::advance_state(std::uint32_t number, std::uint32_t state) {
  Call& call = calls_[number];
  PhaseState& phase = call.states[state];
  if (phase.status == Status::kWaiting) return summon(number, state);  // touched by an arrival
  if (phase.status != Status::kActive || !runner_.advance(number, state)) return;
  const StateKey key = call.key_of(state);
  phase.status = Status::kDone;
  if (call.queues_of_seat > 0) {
    const std::uint32_t queue = call.phase(key).phase.queue();
    --call.chunk_queue(key.seat, queue).active;
    touch_queue({number, key.seat}, queue);
  }
  end_phase(number, key);
}

// The chunk waits for its turn in the queue; a phase in which the member takes no part is over at once.
void ChunkQueues::begin_phase(std::uint32_t number, StateKey key) {
  Call& call = calls_[number];
  const std::uint32_t state = call.state_of(key);
  PhaseState& phase = call.states[state];
  ORRERY_ASSERT(phase.status == Status::kAhead);
  if (!call.plan->participates(key.phase, call.cast->position(key.seat))) {
    phase.status = Status::kPassed;
    return end_phase(number, key);
  }
  phase.status = Status::kWaiting;
  phase.waiting_since = engine_.now();
  const std::uint32_t queue = call.phase(key).phase.queue();
  call.chunk_queue(key.seat, queue).add(place_of(call, state));
  if (runner_.is_awaited(call, key)) return summon(number, state);
  touch_queue({number, key.seat}, queue);
}

// Begins the phases that waited for this one alone.
void ChunkQueues::end_phase(std::uint32_t number, StateKey key) {
  Call& call = calls_[number];
  const CollectivePlan& plan = *call.plan;
  if (++call.seats[key.seat].phases_done == plan.chunks * plan.phases.size()) {
    const CallTable::Member member{number, key.seat};
    if (options_.queue_scope == QueueScope::kRank) std::erase(in_flight_[calls_.agent_of(member)], member);
    return calls_.finish(member);
  }
  const auto is_over = [&](std::uint32_t phase) {
    return call.states[call.state_of({key.seat, key.chunk, phase})].status >= Status::kDone;
  };
  for (const std::uint32_t next : call.phase(key).then)
    if (std::ranges::all_of(plan.phases[next].phase.after, is_over)) begin_phase(number, {key.seat, key.chunk, next});
}

// All chunks of a call have its priority, so kPriority orders them like kFifo; so does what orders whole calls.
ChunkQueue::Place ChunkQueues::place_of(const Call& call, std::uint32_t state) const {
  const StateKey key = call.key_of(state);
  const std::int64_t since = call.states[state].waiting_since.time_since_epoch().count();
  const bool is_lifo = options_.queue == QueuePolicy::kLifo && options_.queue_scope == QueueScope::kCollective;
  return {is_lifo ? -since : since, key.chunk, key.phase, state};
}

void ChunkQueues::fill(const TouchedQueue& touched) {
  const std::uint32_t number = touched.member.call;
  Call& call = calls_[number];
  ChunkQueue& chunk_queue = call.chunk_queue(touched.member.seat, touched.queue);
  chunk_queue.touched = false;
  if (options_.queue_scope == QueueScope::kRank) {
    fill_shared(touched);
  } else {
    while (chunk_queue.active < options_.active_chunks && is_wanted(call, chunk_queue))
      activate(number, std::get<3>(chunk_queue.places.front()), chunk_queue);
  }
  for (const std::uint32_t state : chunk_queue.called)
    if (call.states[state].status == Status::kWaiting) activate(number, state, chunk_queue);
  chunk_queue.called.clear();
}

// The queues for the same dimension of all calls of the member's rank that are under way, and its own.
std::vector<ChunkQueues::TouchedQueue> ChunkQueues::shared_with(const TouchedQueue& touched) {
  const Way way = way_of(*calls_[touched.member.call].plan->layout, touched.queue);
  std::vector<TouchedQueue> shared;
  for (const CallTable::Member member : in_flight_[calls_.agent_of(touched.member)]) {
    const CommunicatorLayout& layout = *calls_[member.call].plan->layout;
    for (std::uint32_t queue = 0; queue < calls_[member.call].queues_of_seat; ++queue)
      if (way_of(layout, queue) == way) shared.push_back({member, queue});
  }
  return shared;
}

void ChunkQueues::fill_shared(const TouchedQueue& touched) {
  const auto queue_of = [&](const TouchedQueue& shared) -> ChunkQueue& {
    return calls_[shared.member.call].chunk_queue(shared.member.seat, shared.queue);
  };
  const auto place = [&](const TouchedQueue& shared) {
    const Seat& seat = calls_[shared.member.call].seats[shared.member.seat];
    return place_among_calls(options_.queue, seat.entered, seat.node, calls_.priority_of(shared.member));
  };
  std::vector<TouchedQueue> shared = shared_with(touched);
  std::uint32_t active = 0;
  for (const TouchedQueue& one : shared) active += queue_of(one).active;
  std::ranges::sort(shared, {}, place);
  for (const TouchedQueue& one : shared)
    for (ChunkQueue& queue = queue_of(one);
         active < options_.active_chunks && is_wanted(calls_[one.member.call], queue); ++active)
      activate(one.member.call, std::get<3>(queue.places.front()), queue);
}

// True if a chunk waits, which is then the first of its places: those of chunks that do not wait any more are left.
bool ChunkQueues::is_wanted(const Call& call, ChunkQueue& chunk_queue) {
  while (!chunk_queue.places.empty()) {
    if (call.states[std::get<3>(chunk_queue.places.front())].status == Status::kWaiting) return true;
    chunk_queue.remove_first();
  }
  return false;
}

void ChunkQueues::split() {
  in_flight_.clear();
  if (options_.queue_scope == QueueScope::kCollective) return;
  for (const std::vector<std::uint32_t>& open : calls_.open())
    for (const std::uint32_t call : open)
      for (std::uint32_t seat = 0; seat < calls_[call].seats.size(); ++seat)
        if (calls_[call].seats[seat].in && !calls_[call].seats[seat].done) note_in_flight({call, seat});
}

void ChunkQueues::activate(std::uint32_t number, std::uint32_t state, ChunkQueue& chunk_queue) {
  Call& call = calls_[number];
  ++chunk_queue.active;
  call.states[state].status = Status::kActive;
  runner_.begin(number, state);
}

bool ChunkQueues::relieve() {
  std::vector<TouchedQueue> held_up;
  for (const std::vector<std::uint32_t>& open : calls_.open())
    for (const std::uint32_t call : open)
      for (std::uint32_t seat = 0; seat < calls_[call].seats.size(); ++seat)
        for (std::uint32_t queue = 0; queue < calls_[call].queues_of_seat; ++queue)
          if (is_wanted(calls_[call], calls_[call].chunk_queue(seat, queue))) held_up.push_back({{call, seat}, queue});
  for (const auto& [member, queue] : held_up) {
    ChunkQueue& chunk_queue = calls_[member.call].chunk_queue(member.seat, queue);
    activate(member.call, std::get<3>(chunk_queue.places.front()), chunk_queue);
  }
  return !held_up.empty();
}

network::MessagePlace Runner::place_between(const Sender& sender, DeviceId from, DeviceId to,
                                            std::uint32_t index) const {
  const Call& call = calls_[sender.call];
  const StateKey key = call.key_of(sender.state);
  return {index_of(from),
          index_of(to),
          1 + std::uint64_t{index_of(call.key.group)},
          call.key.index,
          std::uint64_t{key.chunk} << 32 | key.phase,
          index};
}

std::span<const network::MessagePart> Runner::parts_of(std::uint32_t id) {
  const auto [known, is_new] = parts_.try_emplace(id);
  std::vector<network::MessagePart>& parts = known->second;
  if (!is_new) return parts;
  const Sender sender = sender_of(id);
  const std::span<const CallTable::Part> calls = calls_.parts_of(sender.call);
  if (calls.empty()) {
    parts.push_back({id, path_of(id)});
    return parts;
  }
  const StateKey key = calls_[sender.call].key_of(sender.state);
  std::vector<Sender> senders;
  for (const CallTable::Part& part : calls)
    for (std::uint32_t seat = 0; seat < part.parent_seat.size(); ++seat)
      if (part.parent_seat[seat] == key.seat)
        senders.push_back({part.call, calls_[part.call].state_of({seat, key.chunk, key.phase})});
  parts = split_message(id, senders);
  return parts;
}

void Runner::add_parts(std::uint64_t id, std::vector<std::uint64_t>& parts) {
  for (const network::MessagePart& part : parts_of(static_cast<std::uint32_t>(id)).subspan(1)) parts.push_back(part.id);
}

}  // namespace orrery::system
