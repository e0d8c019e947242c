#include "system/collective_execution.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "core/assert.h"

namespace orrery {
namespace {

constexpr std::uint32_t kMostCalls = 1u << 30;  // under way at once; what is left of the payload of an event

}  // namespace

void CollectiveExecution::enter(CallKey key, std::uint32_t member, const CollectivePlan& plan,
                                std::span<const DeviceId> devices) {
  const std::uint32_t slot = open(key, plan, devices);
  Call& call = calls_[slot];
  Member& self = call.members[member];
  ORRERY_ASSERT(!self.in);
  self.in = true;
  self.entered = engine_.now();
  if (++call.entered == 1) tell_next_round(News::kOpened, slot);
  if (call.entered == call.members.size()) {
    call.all_entered = engine_.now();
    tell_next_round(News::kAssembled, slot);
  }
  if (plan.phases.empty()) {
    finish_member(slot, member);
    return;
  }
  for (std::uint32_t chunk = 0; chunk < plan.chunks; ++chunk) enqueue_next_phase(slot, {member, chunk, UINT32_MAX});
}

void CollectiveExecution::on_released(std::uint32_t id) {
  const Message& message = messages_[id];
  running_[calls_[message.call].states[message.from_state].running].released.insert(message.index);
  touch(message.call, message.from_state);
}

void CollectiveExecution::on_arrived(std::uint32_t id) {
  const Message message = messages_[id];
  messages_.release(id);
  calls_[message.call].states[message.to_state].arrived.insert(message.slot);
  touch(message.call, message.to_state);
}

void CollectiveExecution::advance() {
  while (!touched_.empty() || !touched_lineups_.empty()) {
    // 1. Book what has ended and start sends; an ended phase puts its chunk into the next lineup.
    for (std::size_t i = 0; i < touched_.size(); ++i) {
      const Touched touched = touched_[i];
      calls_[touched.call].states[touched.state].touched = false;
      advance_state(touched.call, touched.state);
    }
    touched_.clear();
    // 2. Fill the dimensions that were touched; who is taken in decides in the next turn.
    for (const TouchedLineup& touched : touched_lineups_) fill(touched);
    touched_lineups_.clear();
  }
}

std::vector<bool> CollectiveExecution::entered(CallKey key) const {
  std::vector<bool> result;
  if (index_of(key.group) >= open_calls_.size()) return result;
  for (const std::uint32_t slot : open_calls_[index_of(key.group)])
    if (calls_[slot].key == key)
      for (const Member& member : calls_[slot].members) result.push_back(member.in);
  return result;
}

std::uint32_t CollectiveExecution::open(CallKey key, const CollectivePlan& plan, std::span<const DeviceId> devices) {
  if (index_of(key.group) >= open_calls_.size()) open_calls_.resize(index_of(key.group) + 1);
  std::vector<std::uint32_t>& open = open_calls_[index_of(key.group)];
  for (const std::uint32_t slot : open)
    if (calls_[slot].key == key) return slot;
  std::uint32_t slot = static_cast<std::uint32_t>(calls_.size());
  if (free_calls_.empty()) {
    calls_.emplace_back();
  } else {
    slot = free_calls_.back();
    free_calls_.pop_back();
  }
  open.push_back(slot);
  const std::size_t members = plan.layout->size();
  Call& call = calls_[slot];
  call = {key,
          &plan,
          devices,
          0,
          0,
          Time{},
          std::vector<Member>(members),
          std::vector<PhaseState>(members * plan.chunks * plan.phases.size())};
  for (Member& member : call.members) member.lineups.resize(plan.layout->sizes.size());
  return slot;
}

void CollectiveExecution::touch(std::uint32_t call, std::uint32_t state) {
  PhaseState& touched = calls_[call].states[state];
  if (touched.touched) return;
  touched.touched = true;
  touched_.push_back({call, state});
}

void CollectiveExecution::touch_lineup(std::uint32_t call, std::uint32_t member, std::uint32_t dimension) {
  Lineup& lineup = calls_[call].members[member].lineups[dimension];
  if (lineup.touched) return;
  lineup.touched = true;
  touched_lineups_.push_back({call, member, dimension});
}

void CollectiveExecution::advance_state(std::uint32_t slot, std::uint32_t state) {
  Call& call = calls_[slot];
  PhaseState& phase = call.states[state];
  if (phase.status != Status::kActive && phase.status != Status::kWaiting) return;
  if (phase.status == Status::kActive && !start_sends(slot, state)) return;
  const StateKey key = key_of(call, state);
  const std::uint32_t dimension = call.plan->phases[key.phase].phase.dimension;
  if (phase.status == Status::kWaiting) {  // touched by an arrival
    call.members[key.member].lineups[dimension].called.push_back(state);
    return touch_lineup(slot, key.member, dimension);
  }
  phase.status = Status::kDone;
  running_.release(phase.running);
  --call.members[key.member].lineups[dimension].active;
  touch_lineup(slot, key.member, dimension);
  enqueue_next_phase(slot, key);
}

// Starts what can start. True when the phase is through on this member.
bool CollectiveExecution::start_sends(std::uint32_t slot, std::uint32_t state) {
  Call& call = calls_[slot];
  PhaseState& phase = call.states[state];
  if (phase.running == kNone) phase.running = start_program(call, state);
  Running& running = running_[phase.running];
  book_foretold(running);
  for (; running.next.index < running.sends; ++running.next.index, running.next.to = kNone) {
    if (running.next.to == kNone) work_out_next(call, state, running);
    if (!phase.arrived.covers(running.next.needs.begin, running.next.needs.end)) return false;
    if (running.next.after_send != kNone && !running.released.contains(running.next.after_send)) {
      if (running.foretold.send == running.next.after_send) await_foretold(running);
      return false;
    }
    send(slot, state, running);
  }
  if (phase.arrived.prefix() != running.receives) return false;
  if (running.released.prefix() == running.sends) return true;
  await_foretold(running);
  return false;
}

std::uint32_t CollectiveExecution::start_program(const Call& call, std::uint32_t state) {
  const StateKey key = key_of(call, state);
  const Schedule& schedule = call.plan->phases[key.phase].schedule;
  Running running;
  running.on_line = line_position(call, key);
  running.sends = schedule.sends(running.on_line);
  running.receives = schedule.receives(running.on_line);
  return running_.put(std::move(running));
}

void CollectiveExecution::work_out_next(const Call& call, std::uint32_t state, Running& running) const {
  const std::size_t number = call.plan->phases.size() == 1 ? 0 : state % call.plan->phases.size();
  const Step step = call.plan->phases[number].schedule.step(running.on_line, running.next.index);
  running.next = {running.next.index, step.to, step.slot, step.after_send.value_or(kNone), step.needs, step.bytes};
}

void CollectiveExecution::find_peer(const Call& call, std::uint32_t state, Running& running) {
  const CommunicatorLayout& layout = *call.plan->layout;
  const StateKey key = key_of(call, state);
  const std::uint32_t dimension = call.plan->phases[key.phase].phase.dimension;
  const std::uint32_t member =
      layout.member_at[layout.moved_to(layout.position_of[key.member], dimension, running.next.to)];
  running.peer = {running.next.to, state_of(call, {member, key.chunk, key.phase}),
                  network_.path(call.devices[key.member], call.devices[member])};
}

void CollectiveExecution::send(std::uint32_t slot, std::uint32_t state, Running& running) {
  const NextSend& next = running.next;
  if (running.peer.on_line != next.to) find_peer(calls_[slot], state, running);
  const std::uint32_t id = messages_.put({slot, state, running.peer.state, next.index, next.slot});
  ++messages_sent_;
  const std::optional<Time> release = network_.start_foretold(running.peer.path, next.bytes, id);
  if (!release) return;
  await_foretold(running);
  running.foretold = {next.index, id, *release};
}

// The round in which the event would have come was before this one.
void CollectiveExecution::book_foretold(Running& running) const {
  if (running.foretold.send == kNone || running.foretold.time > engine_.now()) return;
  running.released.insert(running.foretold.send);
  running.foretold.send = kNone;
}

void CollectiveExecution::await_foretold(Running& running) {
  if (running.foretold.send == kNone) return;
  engine_.at(running.foretold.time, *this,
             std::uint64_t{static_cast<std::uint8_t>(News::kReleased)} << 62 | running.foretold.message);
  running.foretold.send = kNone;
}

// The chunk of `key` goes on to its next phase in which the member takes part (from UINT32_MAX: to the first).
void CollectiveExecution::enqueue_next_phase(std::uint32_t slot, StateKey key) {
  Call& call = calls_[slot];
  const std::uint32_t position = call.plan->layout->position_of[key.member];
  const auto phases = static_cast<std::uint32_t>(call.plan->phases.size());
  std::uint32_t next = key.phase + 1;  // wraps to 0 for the first
  while (next < phases && !call.plan->participates(next, position)) ++next;
  if (next == phases) {
    Member& member = call.members[key.member];
    if (++member.chunks_done == call.plan->chunks) finish_member(slot, key.member);
    return;
  }
  const std::uint32_t state = state_of(call, {key.member, key.chunk, next});
  const std::uint32_t dimension = call.plan->phases[next].phase.dimension;
  call.states[state].status = Status::kWaiting;
  call.states[state].waiting_since = engine_.now();
  Lineup& lineup = call.members[key.member].lineups[dimension];
  lineup.waiting.insert(place_of(call, state));
  if (!call.states[state].arrived.empty()) lineup.called.push_back(state);
  touch_lineup(slot, key.member, dimension);
}

// All chunks of a call have its priority, so kPriority orders them like kFifo.
CollectiveExecution::Place CollectiveExecution::place_of(const Call& call, std::uint32_t state) const {
  const StateKey key = key_of(call, state);
  const std::int64_t since = call.states[state].waiting_since.time_since_epoch().count();
  return {options_.queue == QueuePolicy::kLifo ? -since : since, key.chunk, key.phase, state};
}

void CollectiveExecution::fill(const TouchedLineup& touched) {
  Call& call = calls_[touched.call];
  Lineup& lineup = call.members[touched.member].lineups[touched.dimension];
  lineup.touched = false;
  while (lineup.active < options_.active_chunks && !lineup.waiting.empty())
    activate(touched.call, std::get<3>(*lineup.waiting.begin()), lineup);
  for (const std::uint32_t state : lineup.called)
    if (call.states[state].status == Status::kWaiting) activate(touched.call, state, lineup);
  lineup.called.clear();
}

void CollectiveExecution::activate(std::uint32_t slot, std::uint32_t state, Lineup& lineup) {
  Call& call = calls_[slot];
  lineup.waiting.erase(place_of(call, state));
  ++lineup.active;
  call.states[state].status = Status::kActive;
  touch(slot, state);
}

void CollectiveExecution::finish_member(std::uint32_t slot, std::uint32_t member) {
  Call& call = calls_[slot];
  ORRERY_ASSERT(!call.members[member].done);
  call.members[member].done = true;
  const bool took_no_time = call.members[member].entered == engine_.now();
  if (took_no_time) return tell_next_round(News::kMemberDone, slot, member);
  report_done(slot, member);
}

void CollectiveExecution::tell_next_round(News news, std::uint32_t call, std::uint32_t member) {
  ORRERY_ASSERT(call < kMostCalls);
  engine_.after(Duration::zero(), *this,
                std::uint64_t{static_cast<std::uint8_t>(news)} << 62 | std::uint64_t{call} << 32 | member);
}

void CollectiveExecution::on_event(std::uint64_t payload) {
  const auto call = static_cast<std::uint32_t>(payload >> 32) & (kMostCalls - 1);
  switch (static_cast<News>(payload >> 62)) {
    case News::kOpened:
      return listener_.on_call_opened(calls_[call].key);
    case News::kAssembled:
      return listener_.on_call_assembled(calls_[call].key);
    case News::kMemberDone:
      return report_done(call, static_cast<std::uint32_t>(payload));
    case News::kReleased:
      return on_released(static_cast<std::uint32_t>(payload));
  }
}

void CollectiveExecution::report_done(std::uint32_t slot, std::uint32_t member) {
  Call& call = calls_[slot];
  const bool all_in = call.entered == call.members.size();
  const Time since = call.members[member].entered;
  const CallKey key = call.key;
  const Time all_entered = all_in ? std::max(call.all_entered, since) : since;
  if (++call.done == call.members.size()) {
    std::erase(open_calls_[index_of(key.group)], slot);
    free_calls_.push_back(slot);
  }
  listener_.on_collective_done(key, member, all_entered);
}

CollectiveExecution::StateKey CollectiveExecution::key_of(const Call& call, std::uint32_t state) const {
  const auto phases = static_cast<std::uint32_t>(call.plan->phases.size());
  const std::uint32_t chunk = state / phases;
  return {chunk / call.plan->chunks, chunk % call.plan->chunks, state % phases};
}

std::uint32_t CollectiveExecution::state_of(const Call& call, StateKey key) {
  const auto phases = static_cast<std::uint32_t>(call.plan->phases.size());
  return (key.member * call.plan->chunks + key.chunk) * phases + key.phase;
}

std::uint32_t CollectiveExecution::line_position(const Call& call, StateKey key) {
  const CommunicatorLayout& layout = *call.plan->layout;
  return layout.coordinate(layout.position_of[key.member], call.plan->phases[key.phase].phase.dimension);
}

}  // namespace orrery
