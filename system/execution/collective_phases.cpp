// SPDX-License-Identifier: MIT
// How a member goes through a phase of a chunk. Uniform rings that have their links to themselves: the ends follow from
// when their members entered, without an event for each message. Granularity `phase`: the members of a line gather, and
// their messages go as one. Granularity `step`: a program of sends.
#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "system/execution/collectives.h"

namespace orrery::system {
namespace {

// What a seat sends in each step.
struct Hop {
  std::uint32_t to = 0;
  Duration transfer{};
  Duration arrival{};  // transfer and latency
};

// Send s of a seat starts when its send s-1 is released and receive s-1 has arrived; after the last, `starts` are ends.
void step(const std::vector<Hop>& hops, std::vector<Duration>& starts, std::vector<Duration>& next) {
  for (std::size_t seat = 0; seat < hops.size(); ++seat) next[seat] = saturating_add(starts[seat], hops[seat].transfer);
  for (std::size_t seat = 0; seat < hops.size(); ++seat)
    next[hops[seat].to] = std::max(next[hops[seat].to], saturating_add(starts[seat], hops[seat].arrival));
  starts.swap(next);
}

}  // namespace

void CollectiveExecution::fast_forward(std::uint32_t slot) {
  const Call& call = calls_[slot];
  std::vector<Duration> ends(call.seats.size());
  for (std::uint32_t phase = 0; phase < call.setting.plan->phases.size(); ++phase) {
    const std::vector<Duration> of_phase = ring_ends(call, phase);
    for (std::uint32_t seat = 0; seat < ends.size(); ++seat) ends[seat] = std::max(ends[seat], of_phase[seat]);
  }
  for (std::uint32_t seat = 0; seat < ends.size(); ++seat)
    engine_.after(ends[seat] - engine_.now().time_since_epoch(), *this, payload_of(News::kSeatDone, slot, seat));
}

// By seat.
std::vector<Duration> CollectiveExecution::ring_ends(const Call& call, std::uint32_t phase) {
  const collectives::Schedule& schedule = call.setting.plan->phases[phase].schedule();
  const std::uint32_t steps = schedule.sends(0);
  const Bytes bytes = schedule.step(0, 0).bytes;
  std::vector<Hop> hops;
  std::vector<Duration> starts;
  for (std::uint32_t seat = 0; seat < call.seats.size(); ++seat) {
    const MessageClass& message = *call.setting.tables->message(phase, seat, 0);
    const Duration transfer = network_.count_private(message.path, bytes, steps);
    hops.push_back({message.receiver, transfer, saturating_add(transfer, message.latency)});
    starts.push_back(call.seats[seat].entered.time_since_epoch());
    messages_sent_ += message.count * steps;
  }
  std::vector<Duration> next(starts.size());
  for (std::uint32_t i = 0; i < steps; ++i) step(hops, starts, next);
  return starts;
}

void CollectiveExecution::join_line(std::uint32_t slot, std::uint32_t state) {
  Call& call = calls_[slot];
  const StateKey key = key_of(call, state);
  const LineView line = line_of(call, key);
  const std::uint32_t gathered = ++call.states[state_of(call, {line.seats.front(), key.chunk, key.phase})].gathered;
  if (gathered == line.seats.size()) return start_line(slot, key);
  if (gathered == 1) new_lines_.push_back({slot, state});
}

void CollectiveExecution::call_line(const Touched& first) {
  Call& call = calls_[first.call];
  const StateKey key = key_of(call, first.state);
  const std::uint32_t queue = planned(call, key).phase.queue();
  for (const std::uint32_t seat : line_of(call, key).seats) {
    const std::uint32_t state = state_of(call, {seat, key.chunk, key.phase});
    if (call.states[state].status != Status::kWaiting) continue;
    call.seats[seat].chunk_queues[queue].called.push_back(state);
    touch_queue(first.call, seat, queue);
  }
}

void CollectiveExecution::start_line(std::uint32_t slot, StateKey key) {
  const Call& call = calls_[slot];
  const LineView line = line_of(call, key);
  const PlannedPhase& phase = planned(call, key);
  const Duration least = phase.is_whole() ? phase.transfer().least : Duration::zero();
  const auto end_of = [&] {
    const Duration taken = saturating_add(least, phase.transfer().latency);
    return Time(saturating_add(engine_.now().time_since_epoch(), taken));
  };
  const Time not_before = least == Duration::zero() ? Time{} : end_of();
  const std::uint32_t id = messages_.put({slot, state_of(call, key), 0, kWholeLine, 0, false, nullptr, {}, not_before});
  messages_sent_ += line.count;
  network_.start({line.path, Bytes(0), this, id});
}

CollectiveExecution::LineView CollectiveExecution::line_of(const Call& call, StateKey key) {
  const LineClass& line =
      call.setting.tables == nullptr ? own_line(call, key) : call.setting.tables->line(key.phase, key.seat);
  return {line.seats, line.path, line.count};
}

// Of a job that is not folded.
const LineClass& CollectiveExecution::own_line(const Call& call, StateKey key) {
  const CommunicatorLayout& layout = *call.setting.plan->layout;
  const std::uint32_t axis = planned(call, key).phase.axis;
  const std::uint32_t first = layout.moved_to(position_of(call, key.seat), axis, 0);
  const auto [known, is_new] = lines_.try_emplace({call.key.group, call.setting.plan, key.phase, first});
  if (!is_new) return known->second;
  std::vector<DeviceId> devices;
  for (std::uint32_t coordinate = 0; coordinate < layout.sizes[axis]; ++coordinate) {
    known->second.seats.push_back(layout.member_at[layout.moved_to(first, axis, coordinate)]);
    devices.push_back(call.setting.devices[known->second.seats.back()]);
  }
  const LineTraffic traffic = traffic_of(*call.setting.plan, key.phase, devices, fabric_);
  known->second.path = network_.group_path(traffic.loads, traffic.latency);
  return known->second;
}

void CollectiveExecution::on_line_arrived(std::uint32_t slot, std::uint32_t state) {
  Call& call = calls_[slot];
  const StateKey key = key_of(call, state);
  for (const std::uint32_t seat : line_of(call, key).seats) {
    const std::uint32_t there = state_of(call, {seat, key.chunk, key.phase});
    call.states[there].through = true;
    touch(slot, there);
  }
}

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
  const collectives::Schedule& schedule = planned(call, key).schedule();
  Running running;
  running.on_line = line_position(call, key);
  running.sends = schedule.sends(running.on_line);
  running.receives = schedule.receives(running.on_line);
  return running_.put(std::move(running));
}

void CollectiveExecution::work_out_next(const Call& call, std::uint32_t state, Running& running) const {
  const std::size_t number = call.setting.plan->phases.size() == 1 ? 0 : state % call.setting.plan->phases.size();
  const collectives::Step step = call.setting.plan->phases[number].schedule().step(running.on_line, running.next.index);
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
  const std::uint32_t id =
      messages_.put({slot, state, peer.state, next.index, next.slot, is_class, peer.folded, {}, {}});
  messages_sent_ += peer.count;
  const std::optional<Time> release = network_.start({peer.path, next.bytes, this, id, !is_class});
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

}  // namespace orrery::system
