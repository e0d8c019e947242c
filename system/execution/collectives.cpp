// SPDX-License-Identifier: MIT
#include "system/execution/collectives.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "core/assert.h"

namespace orrery::system {

void CollectiveExecution::enter(CallKey key, std::uint32_t seat, NodeId node, const CallSetting& setting) {
  const CollectivePlan& plan = *setting.plan;
  const std::uint32_t slot = open(key, setting);
  Call& call = calls_[slot];
  Seat& self = call.seats[seat];
  ORRERY_ASSERT(!self.in);
  self.in = true;
  self.node = node;
  self.entered = engine_.now();
  if (++call.entered == 1) tell_next_round(News::kOpened, slot);
  if (call.entered == call.seats.size()) {
    call.all_entered = engine_.now();
    tell_next_round(News::kAssembled, slot);
  }
  if (setting.fast_forward) {
    if (call.entered == call.seats.size()) fast_forward(slot);
    return;
  }
  if (plan.phases.empty()) {
    finish_seat(slot, seat);
    return;
  }
  for (std::uint32_t chunk = 0; chunk < plan.chunks; ++chunk)
    for (std::uint32_t phase = 0; phase < plan.phases.size(); ++phase)
      if (plan.phases[phase].phase.after.empty()) begin_phase(slot, {seat, chunk, phase});
}

void CollectiveExecution::on_released(std::uint32_t id) {
  const Message& message = messages_[id];
  if (message.index == kWholeLine) return;
  SlotSet& released = running_[calls_[message.call].states[message.from_state].running].released;
  if (!message.is_class)
    released.insert(message.index);
  else
    for (const std::uint32_t send : message.folded->sends) released.insert(send);
  touch(message.call, message.from_state);
}

void CollectiveExecution::on_arrived(std::uint32_t id) {
  const Message message = messages_[id];
  if (engine_.now() < message.not_before) {
    engine_.at(message.not_before, *this, payload_of(News::kHeld, 0, id));
    return;
  }
  messages_.release(id);
  if (message.index == kWholeLine) return on_line_arrived(message.call, message.from_state);
  SlotSet& arrived = calls_[message.call].states[message.to_state].arrived;
  if (!message.is_class)
    arrived.insert(message.slot);
  else
    for (const std::uint32_t slot : message.folded->slots) arrived.insert(slot);
  touch(message.call, message.to_state);
}

void CollectiveExecution::advance() {
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
    // 3. Who is the first of its line calls the others, whatever they took up in this turn.
    for (const Touched& first : new_lines_) call_line(first);
    new_lines_.clear();
  }
}

std::uint32_t CollectiveExecution::open(CallKey key, const CallSetting& setting) {
  if (index_of(key.group) >= open_calls_.size()) open_calls_.resize(index_of(key.group) + 1);
  std::vector<std::uint32_t>& open = open_calls_[index_of(key.group)];
  for (const std::uint32_t slot : open)
    if (calls_[slot].key == key) return slot;
  const std::uint32_t slot = take_call();
  open.push_back(slot);
  const CollectivePlan& plan = *setting.plan;
  const std::size_t seats = setting.home == nullptr ? plan.layout->size() : setting.home->member_of_seat.size();
  Call& call = calls_[slot];
  call = {key,
          setting,
          0,
          0,
          Time{},
          std::vector<Seat>(seats),
          std::vector<PhaseState>(setting.fast_forward ? 0 : seats * plan.chunks * plan.phases.size())};
  for (Seat& seat : call.seats) seat.chunk_queues.resize(2 * plan.layout->sizes.size());
  return slot;
}

std::uint32_t CollectiveExecution::take_call() {
  if (free_calls_.empty()) {
    calls_.emplace_back();
    return static_cast<std::uint32_t>(calls_.size() - 1);
  }
  const std::uint32_t slot = free_calls_.back();
  free_calls_.pop_back();
  return slot;
}

void CollectiveExecution::touch(std::uint32_t call, std::uint32_t state) {
  PhaseState& touched = calls_[call].states[state];
  if (touched.touched) return;
  touched.touched = true;
  touched_.push_back({call, state});
}

void CollectiveExecution::touch_queue(std::uint32_t call, std::uint32_t seat, std::uint32_t queue) {
  ChunkQueue& chunk_queue = calls_[call].seats[seat].chunk_queues[queue];
  if (chunk_queue.touched) return;
  chunk_queue.touched = true;
  touched_queues_.push_back({call, seat, queue});
}

void CollectiveExecution::advance_state(std::uint32_t slot, std::uint32_t state) {
  Call& call = calls_[slot];
  PhaseState& phase = call.states[state];
  if (phase.status != Status::kActive && phase.status != Status::kWaiting) return;
  if (phase.status == Status::kActive && !is_through(slot, state)) return;
  const StateKey key = key_of(call, state);
  const std::uint32_t queue = planned(call, key).phase.queue();
  if (phase.status == Status::kWaiting) {  // touched by an arrival
    call.seats[key.seat].chunk_queues[queue].called.push_back(state);
    return touch_queue(slot, key.seat, queue);
  }
  phase.status = Status::kDone;
  if (phase.running != kNone) running_.release(phase.running);
  --call.seats[key.seat].chunk_queues[queue].active;
  touch_queue(slot, key.seat, queue);
  end_phase(slot, key);
}

bool CollectiveExecution::is_through(std::uint32_t slot, std::uint32_t state) {
  return options_.granularity == Granularity::kPhase ? calls_[slot].states[state].through : start_sends(slot, state);
}

// The chunk waits for its turn in the queue; a phase in which the member takes no part is over at once.
void CollectiveExecution::begin_phase(std::uint32_t slot, StateKey key) {
  Call& call = calls_[slot];
  const std::uint32_t state = state_of(call, key);
  const std::uint32_t queue = planned(call, key).phase.queue();
  ORRERY_ASSERT(call.states[state].status == Status::kAhead);
  if (!call.setting.plan->participates(key.phase, position_of(call, key.seat))) {
    call.states[state].status = Status::kPassed;
    return end_phase(slot, key);
  }
  call.states[state].status = Status::kWaiting;
  call.states[state].waiting_since = engine_.now();
  ChunkQueue& chunk_queue = call.seats[key.seat].chunk_queues[queue];
  chunk_queue.waiting.insert(place_of(call, state));
  if (has_been_called(call, key)) chunk_queue.called.push_back(state);
  touch_queue(slot, key.seat, queue);
}

// What came after the phase alone begins.
void CollectiveExecution::end_phase(std::uint32_t slot, StateKey key) {
  Call& call = calls_[slot];
  const CollectivePlan& plan = *call.setting.plan;
  if (++call.seats[key.seat].phases_done == plan.chunks * plan.phases.size()) return finish_seat(slot, key.seat);
  for (const std::uint32_t next : planned(call, key).then)
    if (may_begin(call, {key.seat, key.chunk, next})) begin_phase(slot, {key.seat, key.chunk, next});
}

bool CollectiveExecution::may_begin(const Call& call, StateKey key) {
  return std::ranges::all_of(planned(call, key).phase.after, [&](std::uint32_t before) {
    return call.states[state_of(call, {key.seat, key.chunk, before})].status >= Status::kDone;
  });
}

// Whether a peer waits for this seat in the phase.
bool CollectiveExecution::has_been_called(const Call& call, StateKey key) {
  if (options_.granularity == Granularity::kStep) return !call.states[state_of(call, key)].arrived.empty();
  return call.states[state_of(call, {line_of(call, key).seats.front(), key.chunk, key.phase})].gathered > 0;
}

// All chunks of a call have its priority, so kPriority orders them like kFifo.
CollectiveExecution::Place CollectiveExecution::place_of(const Call& call, std::uint32_t state) const {
  const StateKey key = key_of(call, state);
  const std::int64_t since = call.states[state].waiting_since.time_since_epoch().count();
  return {options_.queue == QueuePolicy::kLifo ? -since : since, key.chunk, key.phase, state};
}

void CollectiveExecution::fill(const TouchedQueue& touched) {
  Call& call = calls_[touched.call];
  ChunkQueue& chunk_queue = call.seats[touched.seat].chunk_queues[touched.queue];
  chunk_queue.touched = false;
  while (chunk_queue.active < options_.active_chunks && !chunk_queue.waiting.empty())
    activate(touched.call, std::get<3>(*chunk_queue.waiting.begin()), chunk_queue);
  for (const std::uint32_t state : chunk_queue.called)
    if (call.states[state].status == Status::kWaiting) activate(touched.call, state, chunk_queue);
  chunk_queue.called.clear();
}

void CollectiveExecution::activate(std::uint32_t slot, std::uint32_t state, ChunkQueue& chunk_queue) {
  Call& call = calls_[slot];
  chunk_queue.waiting.erase(place_of(call, state));
  ++chunk_queue.active;
  call.states[state].status = Status::kActive;
  if (options_.granularity == Granularity::kPhase) return join_line(slot, state);
  touch(slot, state);
}

bool CollectiveExecution::relieve() {
  std::vector<TouchedQueue> held_up;
  for (const std::vector<std::uint32_t>& open : open_calls_)
    for (const std::uint32_t slot : open)
      for (std::uint32_t seat = 0; seat < calls_[slot].seats.size(); ++seat)
        for (std::uint32_t queue = 0; queue < calls_[slot].seats[seat].chunk_queues.size(); ++queue)
          if (!calls_[slot].seats[seat].chunk_queues[queue].waiting.empty()) held_up.push_back({slot, seat, queue});
  for (const auto& [slot, seat, queue] : held_up) {
    ChunkQueue& chunk_queue = calls_[slot].seats[seat].chunk_queues[queue];
    activate(slot, std::get<3>(*chunk_queue.waiting.begin()), chunk_queue);
  }
  return !held_up.empty();
}

void CollectiveExecution::finish_seat(std::uint32_t slot, std::uint32_t number) {
  Seat& seat = calls_[slot].seats[number];
  ORRERY_ASSERT(!seat.done);
  seat.done = true;
  const bool took_no_time = seat.entered == engine_.now();
  if (took_no_time) return tell_next_round(News::kSeatDone, slot, number);
  report_done(slot, number);
}

void CollectiveExecution::tell_next_round(News news, std::uint32_t call, std::uint32_t seat) {
  ORRERY_ASSERT(call < kMostCalls);
  engine_.after(Duration::zero(), *this, payload_of(news, call, seat));
}

void CollectiveExecution::on_event(std::uint64_t payload) {
  const auto call = static_cast<std::uint32_t>(payload >> 32) & (kMostCalls - 1);
  switch (static_cast<News>(payload >> kNewsShift)) {
    case News::kOpened:
      return listener_.on_call_opened(calls_[call].key);
    case News::kAssembled:
      for (std::uint32_t seat = 0; seat < calls_[call].seats.size(); ++seat)
        listener_.on_call_assembled(calls_[call].key, seat, calls_[call].seats[seat].node);
      return;
    case News::kSeatDone:
      return report_done(call, static_cast<std::uint32_t>(payload));
    case News::kReleased:
      return on_released(static_cast<std::uint32_t>(payload));
    case News::kHeld:
      return on_arrived(static_cast<std::uint32_t>(payload));
  }
}

void CollectiveExecution::report_done(std::uint32_t slot, std::uint32_t seat) {
  Call& call = calls_[slot];
  const bool all_in = call.entered == call.seats.size();
  const Time since = call.seats[seat].entered;
  const CallKey key = call.key;
  const NodeId node = call.seats[seat].node;
  call.seats[seat].reported = true;
  const Time all_entered = all_in ? std::max(call.all_entered, since) : since;
  if (++call.done == call.seats.size()) {
    std::erase(open_calls_[index_of(key.group)], slot);
    free_calls_.push_back(slot);
  }
  listener_.on_collective_done(key, seat, node, all_entered);
}

// The line of a phase is known by its first and last member, among all lines of the communicators.
network::MessagePlace CollectiveExecution::place_of(std::uint32_t id) const {
  const Message& message = messages_[id];
  const Call& call = calls_[message.call];
  ORRERY_ASSERT(call.setting.home == nullptr);
  const StateKey key = key_of(call, message.from_state);
  std::uint32_t from = key.seat, to = key_of(call, message.to_state).seat;
  if (message.index == kWholeLine) {
    const CommunicatorLayout& layout = *call.setting.plan->layout;
    const std::uint32_t axis = planned(call, key).phase.axis, position = position_of(call, key.seat);
    from = layout.member_at[layout.moved_to(position, axis, 0)];
    to = layout.member_at[layout.moved_to(position, axis, layout.sizes[axis] - 1)];
  }
  return {index_of(call.setting.devices[from]),        index_of(call.setting.devices[to]),
          1 + std::uint64_t{index_of(call.key.group)}, call.key.index,
          std::uint64_t{key.chunk} << 32 | key.phase,  message.index};
}

CollectiveExecution::StateKey CollectiveExecution::key_of(const Call& call, std::uint32_t state) const {
  const auto phases = static_cast<std::uint32_t>(call.setting.plan->phases.size());
  const std::uint32_t chunk = state / phases;
  return {chunk / call.setting.plan->chunks, chunk % call.setting.plan->chunks, state % phases};
}

std::uint32_t CollectiveExecution::state_of(const Call& call, StateKey key) {
  const auto phases = static_cast<std::uint32_t>(call.setting.plan->phases.size());
  return (key.seat * call.setting.plan->chunks + key.chunk) * phases + key.phase;
}

std::uint32_t CollectiveExecution::position_of(const Call& call, std::uint32_t seat) {
  const std::uint32_t member = call.setting.home == nullptr ? seat : call.setting.home->member_of_seat[seat];
  return call.setting.plan->layout->position_of[member];
}

std::uint32_t CollectiveExecution::line_position(const Call& call, StateKey key) {
  return call.setting.plan->layout->coordinate(position_of(call, key.seat), planned(call, key).phase.axis);
}

}  // namespace orrery::system
