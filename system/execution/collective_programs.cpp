// Granularity `step`: a member's program of sends in one phase of one chunk.
#include <optional>
#include <utility>

#include "system/execution/collectives.h"

namespace orrery {

// Starts what can start. True when the phase is through on this member.
bool CollectiveExecution::start_sends(std::uint32_t slot, std::uint32_t state) {
  Call& call = calls_[slot];
  PhaseState& phase = call.states[state];
  if (phase.running == kNone) phase.running = start_program(call, state);
  Running& running = running_[phase.running];
  book_predicted(running);
  for (; running.next.index < running.sends; ++running.next.index, running.next.to = kNone) {
    if (running.next.to == kNone) work_out_next(call, state, running);
    if (!phase.arrived.covers(running.next.needs.begin, running.next.needs.end)) return false;
    if (running.next.after_send != kNone && !running.released.contains(running.next.after_send)) {
      if (running.predicted.send == running.next.after_send) await_predicted(running);
      return false;
    }
    send(slot, state, running);
  }
  if (phase.arrived.prefix() != running.receives) return false;
  if (running.released.prefix() == running.sends) return true;
  await_predicted(running);
  return false;
}

std::uint32_t CollectiveExecution::start_program(const Call& call, std::uint32_t state) {
  const StateKey key = key_of(call, state);
  const Schedule& schedule = planned(call, key).schedule();
  Running running;
  running.on_line = line_position(call, key);
  running.sends = schedule.sends(running.on_line);
  running.receives = schedule.receives(running.on_line);
  return running_.put(std::move(running));
}

void CollectiveExecution::work_out_next(const Call& call, std::uint32_t state, Running& running) const {
  const std::size_t number = call.setting.plan->phases.size() == 1 ? 0 : state % call.setting.plan->phases.size();
  const Step step = call.setting.plan->phases[number].schedule().step(running.on_line, running.next.index);
  running.next = {running.next.index, step.to, step.slot, step.after_send.value_or(kNone), step.needs, step.bytes};
}

void CollectiveExecution::find_peer(const Call& call, std::uint32_t state, Running& running) {
  if (call.setting.tables != nullptr) return find_folded_peer(call, state, running);
  const CommunicatorLayout& layout = *call.setting.plan->layout;
  const StateKey key = key_of(call, state);
  const std::uint32_t axis = planned(call, key).phase.axis;
  const std::uint32_t member = layout.member_at[layout.moved_to(position_of(call, key.seat), axis, running.next.to)];
  running.peer = {running.next.to,
                  state_of(call, {member, key.chunk, key.phase}),
                  network_.path(call.setting.devices[key.seat], call.setting.devices[member]),
                  nullptr,
                  1,
                  false};
}

void CollectiveExecution::find_folded_peer(const Call& call, std::uint32_t state, Running& running) {
  const StateKey key = key_of(call, state);
  const MessageClass* message = call.setting.tables->message(key.phase, key.seat, running.next.index);
  running.peer = {};
  if (message == nullptr) return;
  running.peer = {running.next.to, state_of(call, {message->receiver, key.chunk, key.phase}),
                  message->path,   message,
                  message->count,  message->is_uniform_ring};
}

void CollectiveExecution::send(std::uint32_t slot, std::uint32_t state, Running& running) {
  const NextSend& next = running.next;
  Peer& peer = running.peer;
  const Call& call = calls_[slot];
  const bool is_folded = call.setting.tables != nullptr;
  const bool is_known = is_folded ? peer.is_uniform_ring : peer.on_line == next.to;
  if (!is_known) find_peer(call, state, running);
  if (is_folded && peer.folded == nullptr) return;  // an earlier send stands for it
  const bool is_class = is_folded && !peer.is_uniform_ring;
  const std::uint32_t id = messages_.put({slot, state, peer.state, next.index, next.slot, is_class, peer.folded, {}});
  messages_sent_ += peer.count;
  if (is_class) return network_.start(peer.path, next.bytes, id);
  const std::optional<Time> release = network_.start_predicted(peer.path, next.bytes, id);
  if (!release) return;
  await_predicted(running);
  running.predicted = {next.index, id, *release};
}

// The round in which the event would have come was before this one.
void CollectiveExecution::book_predicted(Running& running) const {
  if (running.predicted.send == kNone || running.predicted.time > engine_.now()) return;
  running.released.insert(running.predicted.send);
  running.predicted.send = kNone;
}

void CollectiveExecution::await_predicted(Running& running) {
  if (running.predicted.send == kNone) return;
  messages_[running.predicted.message].release =
      engine_.at(running.predicted.time, *this, payload_of(News::kReleased, 0, running.predicted.message));
  running.predicted.send = kNone;
}

// The sender may have gone on in this instant, and wait for nothing else by now.
void CollectiveExecution::on_release_predicted(std::uint32_t id, Time release) {
  const Message& message = messages_[id];
  const Call& call = calls_[message.call];
  const PhaseState& phase = call.states[message.from_state];
  Running& running = running_[phase.running];
  await_predicted(running);
  running.predicted = {message.index, id, release};
  if (running.next.index < running.sends && running.next.to == kNone) work_out_next(call, message.from_state, running);
  if (waits_for_predicted(phase, running)) await_predicted(running);
}

bool CollectiveExecution::waits_for_predicted(const PhaseState& phase, const Running& running) const {
  if (running.next.index == running.sends) return phase.arrived.prefix() == running.receives;
  return running.next.after_send == running.predicted.send &&
         phase.arrived.covers(running.next.needs.begin, running.next.needs.end);
}

void CollectiveExecution::on_delayed(std::uint32_t id) {
  Message& message = messages_[id];
  Running& running = running_[calls_[message.call].states[message.from_state].running];
  if (running.predicted.send == message.index) running.predicted.send = kNone;
  engine_.cancel(message.release);
  message.release = {};
}

}  // namespace orrery
