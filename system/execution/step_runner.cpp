// SPDX-License-Identifier: MIT
// A member goes through its program of sends: a send starts when what it needs has arrived and its channel is free.
#include <algorithm>
#include <utility>

#include "collectives/message_table.h"
#include "core/slab.h"
#include "system/execution/chunk_queues.h"

namespace orrery::system {
namespace {

constexpr std::uint32_t kNone = PhaseState::kNone;

// Fields of a Step that decide when and what a member sends next in a lane.
struct NextSend {
  std::uint32_t index = 0;
  std::uint32_t end = 0;     // of the lane
  std::uint32_t to = kNone;  // on the line; kNone until it was worked out
  std::uint32_t slot = 0;
  std::uint32_t after_send = kNone;
  collectives::SlotRange needs;
  Bytes bytes{0};
  const collectives::MoreWaits* more = nullptr;  // of a table
};
// The receiver of the last send, nearly always that of the next as well.
struct Peer {
  std::uint32_t on_line = kNone;  // also where the next send has to be looked up again
  std::uint32_t state = 0;
  network::PathId path{};
  std::uint64_t count = 0;  // of messages that it stands for; 0: another send does
  // These, if they are folded; and whether they are of several sends, so that it is at hand.
  const MessageClass* folded = nullptr;
  bool is_class = false;
};
// A release that the network predicted. Where something waits for nothing else, it is made an event.
struct Predicted {
  std::uint32_t send = kNone;
  std::uint32_t message = 0;
  Time time;
};
// A member's program of a phase, while that is active. As there are many, each begins a cache line.
struct alignas(64) Program {
  Program(const Call& call, std::uint32_t state);
  void work_out(NextSend& send, const Call& call, std::uint32_t state) const;
  void find_peer(const NextSend& send, const Call& call, std::uint32_t state);
  // The round in which the event of a release that is over would have come was before this one.
  void book_predicted(Time now);

  SlotSet released;
  std::uint32_t sends = 0;
  std::uint32_t receives = 0;
  std::uint32_t on_line = 0;    // the place of who runs it
  NextSend next;                // of the first lane
  std::vector<NextSend> lanes;  // the others, of a table
  Peer peer;
  Predicted predicted;  // the latest, if nobody was told
};
Program::Program(const Call& call, std::uint32_t state) {
  const StateKey key = call.key_of(state);
  const PlannedPhase& phase = call.phase(key);
  on_line = call.plan->layout->coordinate(call.cast->position(key.seat), phase.phase.axis);
  sends = phase.schedule().sends(on_line);
  receives = phase.schedule().receives(on_line);
  next.end = sends;
  const collectives::MessageTable* table = phase.schedule().table();
  if (table == nullptr) return;
  const std::vector<std::uint32_t>& ends = table->program(on_line).lane_ends;
  next.end = ends.front();
  for (std::size_t lane = 1; lane < ends.size(); ++lane) {
    lanes.emplace_back().index = ends[lane - 1];
    lanes.back().end = ends[lane];
  }
}

void Program::work_out(NextSend& send, const Call& call, std::uint32_t state) const {
  const std::size_t number = call.plan->phases.size() == 1 ? 0 : state % call.plan->phases.size();
  const collectives::Schedule& schedule = call.plan->phases[number].schedule();
  const collectives::Step step = schedule.step(on_line, send.index);
  const collectives::MessageTable* table = schedule.table();
  send = {send.index,
          send.end,
          step.to,
          step.slot,
          step.after_send.value_or(kNone),
          step.needs,
          step.bytes,
          table == nullptr ? nullptr : table->more_waits(on_line, send.index)};
}

void Program::book_predicted(Time now) {
  if (predicted.send == kNone || predicted.time > now) return;
  released.insert(predicted.send);
  predicted.send = kNone;
}

void Program::find_peer(const NextSend& send, const Call& call, std::uint32_t state) {
  const StateKey key = call.key_of(state);
  const Outgoing found = call.cast->outgoing(key.phase, key.seat, send.index, send.to);
  const bool is_class = found.of != nullptr && !found.of->is_uniform_ring;
  peer = {is_class || found.count == 0 ? kNone : send.to,
          call.state_of({found.receiver, key.chunk, key.phase}),
          found.path,
          found.count,
          found.of,
          is_class};
}

class StepRunner final : public Runner {
 public:
  using Runner::Runner;

  void begin(std::uint32_t call, std::uint32_t state) override { queues_.touch(call, state); }
  bool advance(std::uint32_t call, std::uint32_t state) override;
  bool is_awaited(const Call& call, StateKey key) const override {
    return !call.states[call.state_of(key)].arrived.empty();
  }
  void split(const Call& whole, Call& part, std::span<const std::uint32_t> parent_seat) override;

 private:
  struct alignas(64) Message {
    std::uint32_t call = 0;
    std::uint32_t from_state = 0;
    std::uint32_t to_state = 0;
    std::uint32_t index = 0;  // send of the sender's program
    std::uint32_t slot = 0;   // receive of the receiver's program
    bool is_class = false;    // the sends and slots of `folded` instead
    const MessageClass* folded = nullptr;
    EventHandle release;  // that was predicted and is waited for
  };

  void on_released(std::uint32_t message) override;
  void on_arrived(std::uint32_t message) override;
  void on_release_predicted(std::uint32_t message, Time release) override;
  void on_delayed(std::uint32_t message) override;
  void on_event(std::uint64_t message) override { on_released(static_cast<std::uint32_t>(message)); }
  network::MessagePlace place_of(std::uint32_t message) const override;
  Sender sender_of(std::uint32_t message) const override {
    return {messages_[message].call, messages_[message].from_state};
  }
  network::PathId path_of(std::uint32_t message) const override { return messages_[message].folded->path; }
  std::vector<network::MessagePart> split_message(std::uint32_t message, std::span<const Sender> senders) override;

  Program& program_of(const PhaseState& phase) { return programs_[phase.program]; }
  bool send_all(std::uint32_t call, std::uint32_t state, Program& program, NextSend& next);
  bool may_start(const PhaseState& phase, Program& program, const NextSend& next);
  void send(std::uint32_t call, std::uint32_t state, Program& program, const NextSend& next);
  void await_predicted(Program& program);
  void split_programs(Call& part, const Call& whole, std::span<const std::uint32_t> parent_seat);

  Slab<Message> messages_;
  Slab<Program> programs_;
};

// Starts what can start.
bool StepRunner::advance(std::uint32_t number, std::uint32_t state) {
  Call& call = calls_[number];
  PhaseState& phase = call.states[state];
  if (phase.program == kNone) phase.program = programs_.put(Program(call, state));
  Program& program = program_of(phase);
  program.book_predicted(engine_.now());
  bool all_sent = send_all(number, state, program, program.next);
  for (NextSend& lane : program.lanes) all_sent = send_all(number, state, program, lane) && all_sent;
  if (!all_sent) return false;
  if (phase.arrived.prefix() != program.receives) return false;
  if (program.released.prefix() != program.sends) {
    await_predicted(program);
    return false;
  }
  programs_.release(std::exchange(phase.program, kNone));
  return true;
}

// Sends all that can go now; true if the lane is finished.
bool StepRunner::send_all(std::uint32_t number, std::uint32_t state, Program& program, NextSend& next) {
  const Call& call = calls_[number];
  for (; next.index < next.end; ++next.index, next.to = kNone) {
    if (next.to == kNone) program.work_out(next, call, state);
    if (!may_start(call.states[state], program, next)) return false;
    send(number, state, program, next);
  }
  return true;
}

bool StepRunner::may_start(const PhaseState& phase, Program& program, const NextSend& next) {
  const auto is_there = [&](const collectives::SlotRange& slots) {
    return phase.arrived.covers(slots.begin, slots.end);
  };
  const auto is_released = [&](std::uint32_t send) {
    if (program.released.contains(send)) return true;
    if (program.predicted.send == send) await_predicted(program);
    return false;
  };
  if (!is_there(next.needs)) return false;
  if (next.more != nullptr && !std::ranges::all_of(next.more->needs, is_there)) return false;
  if (next.after_send != kNone && !is_released(next.after_send)) return false;
  return next.more == nullptr || std::ranges::all_of(next.more->after_sends, is_released);
}

void StepRunner::send(std::uint32_t number, std::uint32_t state, Program& program, const NextSend& next) {
  const Peer& peer = program.peer;
  if (peer.on_line != next.to) program.find_peer(next, calls_[number], state);
  if (peer.count == 0) return;  // an earlier send stands for it
  const std::uint32_t id =
      messages_.put({number, state, peer.state, next.index, next.slot, peer.is_class, peer.folded, {}});
  sent_ += peer.count;
  const Time release = network_.start({peer.path, next.bytes, this, id, !peer.is_class});
  if (release == network::Network::kNotPredicted) return;
  await_predicted(program);
  program.predicted = {next.index, id, release};
}

void StepRunner::on_released(std::uint32_t id) {
  const Message& message = messages_[id];
  SlotSet& released = program_of(calls_[message.call].states[message.from_state]).released;
  if (!message.is_class)
    released.insert(message.index);
  else
    for (const std::uint32_t send : message.folded->sends) released.insert(send);
  queues_.touch(message.call, message.from_state);
}

void StepRunner::on_arrived(std::uint32_t id) {
  const Message message = messages_[id];
  messages_.release(id);
  SlotSet& arrived = calls_[message.call].states[message.to_state].arrived;
  if (!message.is_class)
    arrived.insert(message.slot);
  else
    for (const std::uint32_t slot : message.folded->slots) arrived.insert(slot);
  queues_.touch(message.call, message.to_state);
}

void StepRunner::await_predicted(Program& program) {
  if (program.predicted.send == kNone) return;
  messages_[program.predicted.message].release = engine_.at(program.predicted.time, *this, program.predicted.message);
  program.predicted.send = kNone;
}

// The sender may have gone on in this instant, and wait for nothing else by now.
void StepRunner::on_release_predicted(std::uint32_t id, Time release) {
  const Message& message = messages_[id];
  const Call& call = calls_[message.call];
  const PhaseState& phase = call.states[message.from_state];
  Program& program = program_of(phase);
  await_predicted(program);
  program.predicted = {message.index, id, release};
  NextSend& next = program.next;
  if (!program.lanes.empty() || next.more != nullptr) return await_predicted(program);
  if (next.index < program.sends && next.to == kNone) program.work_out(next, call, message.from_state);
  const bool waits_for_it = next.index == program.sends ? phase.arrived.prefix() == program.receives
                                                        : next.after_send == message.index &&
                                                              phase.arrived.covers(next.needs.begin, next.needs.end);
  if (waits_for_it) await_predicted(program);
}

void StepRunner::on_delayed(std::uint32_t id) {
  Message& message = messages_[id];
  const PhaseState& phase = calls_[message.call].states[message.from_state];
  if (phase.program != kNone && program_of(phase).predicted.send == message.index)
    program_of(phase).predicted.send = kNone;
  engine_.cancel(message.release);
  message.release = {};
}

network::MessagePlace StepRunner::place_of(std::uint32_t id) const {
  const Message& message = messages_[id];
  const Call& call = calls_[message.call];
  const auto device_of = [&](std::uint32_t state) {
    return call.cast->devices()[call.cast->member(call.key_of(state).seat)];
  };
  return place_between(sender_of(id), device_of(message.from_state), device_of(message.to_state), message.index);
}

// Progress of a seat in its program, carried over to the parts. Members that are alike may number messages of one kind
// differently, which start or are waited for together: so it is what the messages that these were part of say.
void StepRunner::split(const Call& whole, Call& part, std::span<const std::uint32_t> parent_seat) {
  split_programs(part, whole, parent_seat);
  const auto is_other = [&](std::uint32_t seat) { return part.key != whole.key || parent_seat[seat] != seat; };
  const auto is_ring = [&](StateKey key) { return part.phase(key).schedule().is_uniform_ring(); };
  for (std::uint32_t state = 0; state < part.states.size(); ++state) {
    const StateKey key = part.key_of(state);
    if (!is_other(key.seat) || is_ring(key)) continue;
    part.states[state].arrived = {};
    if (part.states[state].program != kNone) program_of(part.states[state]).released = {};
  }
  for (std::uint32_t state = 0; state < part.states.size(); ++state) {
    const StateKey key = part.key_of(state);
    if (is_ring(key)) continue;
    const auto state_before = [&](std::uint32_t seat) -> const PhaseState& {
      return whole.states[whole.state_of({parent_seat[seat], key.chunk, key.phase})];
    };
    const PhaseState& parent = state_before(key.seat);
    for (const MessageClass* message : part.cast->messages(key.phase, key.seat)) {
      const MessageClass& before = *message->before;
      if (is_other(key.seat) && parent.program != kNone && program_of(parent).released.contains(before.sends.front()))
        for (const std::uint32_t send : message->sends) program_of(part.states[state]).released.insert(send);
      if (!is_other(message->receiver) || !state_before(message->receiver).arrived.contains(before.slots.front()))
        continue;
      PhaseState& there = part.states[part.state_of({message->receiver, key.chunk, key.phase})];
      for (const std::uint32_t slot : message->slots) there.arrived.insert(slot);
    }
  }
}

// Programs go on where those of the whole are; to whom they send is looked up again.
void StepRunner::split_programs(Call& part, const Call& whole, std::span<const std::uint32_t> parent_seat) {
  for (std::uint32_t state = 0; state < part.states.size(); ++state) {
    PhaseState& phase = part.states[state];
    if (phase.program == kNone) continue;
    const StateKey key = part.key_of(state);
    const bool is_itself = part.key == whole.key && parent_seat[key.seat] == key.seat;
    if (!is_itself) phase.program = programs_.put(Program(program_of(phase)));
    Program& program = program_of(phase);
    program.on_line = part.plan->layout->coordinate(part.cast->position(key.seat), part.phase(key).phase.axis);
    program.next.to = kNone;
    for (NextSend& lane : program.lanes) lane.to = kNone;
    program.peer = {};
  }
}

std::vector<network::MessagePart> StepRunner::split_message(std::uint32_t id, std::span<const Sender> senders) {
  const Message whole = messages_[id];
  std::vector<network::MessagePart> parts;
  for (const Sender& sender : senders) {
    const Call& call = calls_[sender.call];
    const StateKey key = call.key_of(sender.state);
    for (const MessageClass* message : call.cast->messages(key.phase, key.seat)) {
      if (message->before != whole.folded) continue;
      const std::uint32_t part = parts.empty() ? id : messages_.put({});
      const std::uint32_t send = message->is_uniform_ring ? whole.index : message->sends.front();
      messages_[part] = {sender.call,
                         sender.state,
                         call.state_of({message->receiver, key.chunk, key.phase}),
                         send,
                         whole.slot,
                         !message->is_uniform_ring,
                         message,
                         part == id ? whole.release : EventHandle{}};
      parts.push_back({part, message->path});
      if (call.states[sender.state].program == kNone) continue;
      Program& program = program_of(call.states[sender.state]);
      if (program.predicted.send == send) program.predicted.message = part;
    }
  }
  return parts;
}

}  // namespace

std::unique_ptr<Runner> step_runner(Engine& engine, network::Network& network, CallTable& calls, ChunkQueues& queues) {
  return std::make_unique<StepRunner>(engine, network, calls, queues);
}

}  // namespace orrery::system
