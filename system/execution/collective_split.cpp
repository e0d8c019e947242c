// SPDX-License-Identifier: MIT
// Calls under way whose communicators have come apart, or are described anew: every part goes on from the state of the
// whole.
#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "system/execution/collectives.h"

namespace orrery::system {

void CollectiveExecution::split(const ClassSplit& split, const std::function<CallSetting(CallKey)>& setting_of) {
  std::map<GroupId, std::vector<const ClassSplit::Home*>> homes;  // by parent, which comes first
  for (const ClassSplit::Home& home : split.homes) homes[home.parent].push_back(&home);
  for (const auto& [parent, parts] : homes) {
    ORRERY_ASSERT(parts.front()->home == parent);
    if (index_of(parent) >= open_calls_.size()) continue;
    const std::vector<std::uint32_t> open = open_calls_[index_of(parent)];
    for (const std::uint32_t slot : open) split_call(slot, parts, setting_of);
  }
}

void CollectiveExecution::split_call(std::uint32_t slot, const std::vector<const ClassSplit::Home*>& parts,
                                     const std::function<CallSetting(CallKey)>& setting_of) {
  const Call whole = calls_[slot];
  std::vector<CallPart>& call_parts = call_parts_[slot];
  for (const ClassSplit::Home* part : parts) {
    const CallKey key{part->home, whole.key.index};
    const std::uint32_t place = part->home == part->parent ? slot : take_call();
    calls_[place] = part_of(whole, key, setting_of(key), part->parent_seat);
    call_parts.push_back({place, part->parent_seat});
    if (place == slot) continue;
    if (index_of(part->home) >= open_calls_.size()) open_calls_.resize(index_of(part->home) + 1);
    open_calls_[index_of(part->home)].push_back(place);
  }
}

CollectiveExecution::Call CollectiveExecution::part_of(const Call& whole, CallKey key, const CallSetting& setting,
                                                       std::span<const std::uint32_t> parent_seat) {
  Call part{key, setting, 0, 0, whole.all_entered, {}, {}};
  const auto per_seat = static_cast<std::uint32_t>(whole.states.size() / whole.seats.size());
  for (std::uint32_t number = 0; number < parent_seat.size(); ++number) {
    const std::uint32_t parent = parent_seat[number];
    Seat& seat = part.seats.emplace_back(whole.seats[parent]);
    part.entered += seat.in ? 1 : 0;
    part.done += seat.reported ? 1 : 0;
    for (ChunkQueue& chunk_queue : seat.chunk_queues) {
      ORRERY_ASSERT(!chunk_queue.touched && chunk_queue.called.empty());
      std::set<Place> waiting;
      for (const auto& [since, chunk, phase, state] : chunk_queue.waiting)
        waiting.emplace(since, chunk, phase, state - parent * per_seat + number * per_seat);
      chunk_queue.waiting = std::move(waiting);
    }
    const auto states = whole.states.begin() + parent * per_seat;
    part.states.insert(part.states.end(), states, states + per_seat);
  }
  for (std::uint32_t state = 0; state < part.states.size(); ++state) part_program(whole, part, state, parent_seat);
  if (options_.granularity == Granularity::kPhase)
    count_gathered(part);
  else if (!part.states.empty())
    part_progress(whole, part, parent_seat);
  return part;
}

// The program of a state goes on where that of the whole is; to whom it sends is looked up again.
void CollectiveExecution::part_program(const Call& whole, Call& part, std::uint32_t state,
                                       std::span<const std::uint32_t> parent_seat) {
  PhaseState& phase = part.states[state];
  if (phase.running == kNone) return;
  const StateKey key = key_of(part, state);
  if (phase.status != Status::kActive) {
    phase.running = kNone;
    return;
  }
  const bool is_itself = part.key == whole.key && parent_seat[key.seat] == key.seat;
  if (!is_itself) phase.running = running_.put(Running(running_[phase.running]));
  Running& running = running_[phase.running];
  running.on_line = line_position(part, key);
  running.next.to = kNone;
  running.peer = {};
}

// What of its program a seat has behind it. Members that are alike may number messages of one kind differently, which
// start or are waited for together: so it is what the messages that these were part of say.
void CollectiveExecution::part_progress(const Call& whole, Call& part, std::span<const std::uint32_t> parent_seat) {
  const auto is_other = [&](std::uint32_t seat) { return !(part.key == whole.key) || parent_seat[seat] != seat; };
  for (std::uint32_t state = 0; state < part.states.size(); ++state) {
    const StateKey key = key_of(part, state);
    if (!is_other(key.seat) || part.setting.plan->phases[key.phase].schedule().is_uniform_ring()) continue;
    part.states[state].arrived = {};
    if (part.states[state].running != kNone) running_[part.states[state].running].released = {};
  }
  for (std::uint32_t state = 0; state < part.states.size(); ++state) {
    const StateKey key = key_of(part, state);
    if (part.setting.plan->phases[key.phase].schedule().is_uniform_ring()) continue;
    const PhaseState& parent = whole.states[state_of(whole, {parent_seat[key.seat], key.chunk, key.phase})];
    for (const MessageClass* message : part.setting.tables->messages(key.phase, key.seat)) {
      const MessageClass& before = *message->before;
      if (is_other(key.seat) && parent.running != kNone && parent.status == Status::kActive &&
          running_[parent.running].released.contains(before.sends.front()))
        for (const std::uint32_t send : message->sends) running_[part.states[state].running].released.insert(send);
      if (!is_other(message->receiver)) continue;
      const PhaseState& there = whole.states[state_of(whole, {parent_seat[message->receiver], key.chunk, key.phase})];
      if (!there.arrived.contains(before.slots.front())) continue;
      for (const std::uint32_t slot : message->slots)
        part.states[state_of(part, {message->receiver, key.chunk, key.phase})].arrived.insert(slot);
    }
  }
}

// How many of each line have come.
void CollectiveExecution::count_gathered(Call& call) {
  for (PhaseState& state : call.states) state.gathered = 0;
  for (std::uint32_t state = 0; state < call.states.size(); ++state) {
    if (call.states[state].status != Status::kActive && call.states[state].status != Status::kDone) continue;
    const StateKey key = key_of(call, state);
    ++call.states[state_of(call, {line_of(call, key).seats.front(), key.chunk, key.phase})].gathered;
  }
}

std::span<const network::MessagePart> CollectiveExecution::parts_of(std::uint32_t id) {
  const auto [known, is_new] = parts_.try_emplace(id);
  std::vector<network::MessagePart>& parts = known->second;
  if (!is_new) return parts;
  const Message whole = messages_[id];
  const auto calls = call_parts_.find(whole.call);
  if (calls == call_parts_.end()) {
    parts.push_back(part_of_message(id));
    return parts;
  }
  const StateKey key = key_of(calls_[whole.call], whole.from_state);
  for (const CallPart& call : calls->second)
    for (std::uint32_t seat = 0; seat < call.parent_seat.size(); ++seat)
      if (call.parent_seat[seat] == key.seat)
        whole.index == kWholeLine ? add_line_part(id, whole, call.call, {seat, key.chunk, key.phase}, parts)
                                  : add_message_parts(id, whole, call.call, {seat, key.chunk, key.phase}, parts);
  return parts;
}

// What one seat sends of what the whole message stands for.
void CollectiveExecution::add_message_parts(std::uint32_t id, const Message& whole, std::uint32_t slot, StateKey key,
                                            std::vector<network::MessagePart>& parts) {
  const Call& call = calls_[slot];
  const std::uint32_t state = state_of(call, key);
  for (const MessageClass* message : call.setting.tables->messages(key.phase, key.seat)) {
    if (message->before != whole.folded) continue;
    const std::uint32_t send = message->is_uniform_ring ? whole.index : message->sends.front();
    const Message part{slot,    state,      state_of(call, {message->receiver, key.chunk, key.phase}),
                       send,    whole.slot, !message->is_uniform_ring,
                       message, {},         {}};
    const std::uint32_t number = put_part(id, part, parts.empty());
    parts.push_back(part_of_message(number));
    if (call.states[state].status != Status::kActive) continue;
    Running& running = running_[call.states[state].running];
    if (running.predicted.send == send) running.predicted.message = number;
  }
}

void CollectiveExecution::add_line_part(std::uint32_t id, const Message& whole, std::uint32_t slot, StateKey key,
                                        std::vector<network::MessagePart>& parts) {
  const Call& call = calls_[slot];
  const network::PathId path = line_of(call, key).path;
  const auto is_of_line = [&](const network::MessagePart& part) {
    const Message& message = messages_[part.id];
    return message.call == slot && line_of(call, key_of(call, message.from_state)).path == path;
  };
  if (std::ranges::any_of(parts, is_of_line)) return;  // another seat of the line stands for it
  const Message part{slot, state_of(call, key), whole.to_state, kWholeLine, 0, false, nullptr, {}, whole.not_before};
  parts.push_back(part_of_message(put_part(id, part, parts.empty())));
}

// The first part is the message itself.
std::uint32_t CollectiveExecution::put_part(std::uint32_t id, const Message& part, bool is_first) {
  if (!is_first) return messages_.put(part);
  const EventHandle release = messages_[id].release;
  messages_[id] = part;
  messages_[id].release = release;
  return id;
}

network::MessagePart CollectiveExecution::part_of_message(std::uint32_t id) {
  const Message& message = messages_[id];
  if (message.index != kWholeLine) return {id, message.folded->path};
  const Call& call = calls_[message.call];
  return {id, line_of(call, key_of(call, message.from_state)).path};
}

void CollectiveExecution::add_parts(std::uint64_t payload, std::vector<std::uint64_t>& parts) {
  const auto slot = static_cast<std::uint32_t>(payload >> 32) & (kMostCalls - 1);
  const auto number = static_cast<std::uint32_t>(payload);
  const auto news = static_cast<News>(payload >> kNewsShift);
  if (news == News::kReleased || news == News::kHeld) {
    for (const network::MessagePart& part : parts_of(number).subspan(1)) parts.push_back(payload_of(news, 0, part.id));
    return;
  }
  const auto calls = call_parts_.find(slot);
  if (calls == call_parts_.end()) return;
  for (const CallPart& part : calls->second) {
    if (news != News::kSeatDone) {
      if (part.call != slot) parts.push_back(payload_of(news, part.call, 0));
      continue;
    }
    for (std::uint32_t seat = 0; seat < part.parent_seat.size(); ++seat)
      if (part.parent_seat[seat] == number && (part.call != slot || seat != number))
        parts.push_back(payload_of(news, part.call, seat));
  }
}

void CollectiveExecution::end_split() {
  call_parts_.clear();
  parts_.clear();
}

}  // namespace orrery::system
