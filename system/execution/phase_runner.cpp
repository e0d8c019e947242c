// SPDX-License-Identifier: MIT
// A member's part in a phase is to come to it: when the last of its line has, the line's messages go as one, and the
// phase ends for all when that has arrived. The first to come calls the others.
#include <algorithm>

#include "core/slab.h"
#include "system/execution/chunk_queues.h"

namespace orrery::system {
namespace {

constexpr DeviceId kBehindAll{UINT32_MAX};  // in the order of places: no message goes there

class PhaseRunner final : public Runner {
 public:
  using Runner::Runner;

  void begin(std::uint32_t call, std::uint32_t state) override;
  bool advance(std::uint32_t call, std::uint32_t state) override { return calls_[call].states[state].through; }
  bool is_awaited(const Call& call, StateKey key) const override {
    return call.states[first_of(call, key)].gathered > 0;
  }
  void end_turn() override;
  void split(const Call& whole, Call& part, std::span<const std::uint32_t> parent_seat) override;

 private:
  struct Message {
    Sender sender;
    Time not_before{};  // it does not end earlier, however fast the links (Aggregate::least)
  };

  // The state of the line's first member in the phase.
  static std::uint32_t first_of(const Call& call, StateKey key) {
    return call.state_of({call.line(key).seats.front(), key.chunk, key.phase});
  }
  void start(std::uint32_t call, StateKey key, const LineClass& line);
  void on_released(std::uint32_t) override {}
  void on_arrived(std::uint32_t message) override;
  void on_event(std::uint64_t message) override { on_arrived(static_cast<std::uint32_t>(message)); }
  network::MessagePlace place_of(std::uint32_t message) const override;
  Sender sender_of(std::uint32_t message) const override { return messages_[message].sender; }
  network::PathId path_of(std::uint32_t message) const override { return path_of(messages_[message].sender); }
  network::PathId path_of(const Sender& sender) const {
    return calls_[sender.call].line(calls_[sender.call].key_of(sender.state)).path;
  }
  std::vector<network::MessagePart> split_message(std::uint32_t message, std::span<const Sender> senders) override;

  Slab<Message> messages_;
  std::vector<Sender> new_lines_;  // whose first member has come
};

void PhaseRunner::begin(std::uint32_t number, std::uint32_t state) {
  Call& call = calls_[number];
  const StateKey key = call.key_of(state);
  const LineClass& line = call.line(key);
  const std::uint32_t gathered = ++call.states[call.state_of({line.seats.front(), key.chunk, key.phase})].gathered;
  if (gathered == line.seats.size()) return start(number, key, line);
  if (gathered == 1 && call.queues_of_seat > 0) new_lines_.push_back({number, state});
}

void PhaseRunner::end_turn() {
  for (const Sender& first : new_lines_) {
    const Call& call = calls_[first.call];
    const StateKey key = call.key_of(first.state);
    for (const std::uint32_t seat : call.line(key).seats)
      queues_.summon(first.call, call.state_of({seat, key.chunk, key.phase}));
  }
  new_lines_.clear();
}

void PhaseRunner::start(std::uint32_t number, StateKey key, const LineClass& line) {
  const Call& call = calls_[number];
  const PlannedPhase& phase = call.phase(key);
  const Duration least = phase.is_whole() ? phase.transfer().least : Duration::zero();
  Time not_before{};
  if (least > Duration::zero())
    not_before =
        Time(saturating_add(engine_.now().time_since_epoch(), saturating_add(least, phase.transfer().latency)));
  const std::uint32_t id = messages_.put({{number, call.state_of(key)}, not_before});
  sent_ += line.count;
  network_.start({line.path, Bytes(0), this, id});
}

void PhaseRunner::on_arrived(std::uint32_t id) {
  const auto [sender, not_before] = messages_[id];
  if (engine_.now() < not_before) {
    engine_.at(not_before, *this, id);
    return;
  }
  messages_.release(id);
  Call& call = calls_[sender.call];
  const StateKey key = call.key_of(sender.state);
  for (const std::uint32_t seat : call.line(key).seats) {
    const std::uint32_t state = call.state_of({seat, key.chunk, key.phase});
    call.states[state].through = true;
    queues_.touch(sender.call, state);
  }
}

// The line of a phase is known by its first and last member, among all lines of the communicators.
network::MessagePlace PhaseRunner::place_of(std::uint32_t id) const {
  const Sender& sender = messages_[id].sender;
  const Call& call = calls_[sender.call];
  const StateKey key = call.key_of(sender.state);
  const CommunicatorLayout& layout = *call.plan->layout;
  const std::uint32_t axis = call.phase(key).phase.axis, position = call.cast->position(key.seat);
  const std::uint32_t first = layout.member_at[layout.moved_to(position, axis, 0)];
  return place_between(sender, call.cast->devices()[first], kBehindAll, PhaseState::kNone);
}

// Recounts the members of each line that have come to the part.
void PhaseRunner::split(const Call&, Call& part, std::span<const std::uint32_t>) {
  using enum PhaseState::Status;
  for (PhaseState& state : part.states) state.gathered = 0;
  for (std::uint32_t state = 0; state < part.states.size(); ++state)
    if (part.states[state].status == kActive || part.states[state].status == kDone)
      ++part.states[first_of(part, part.key_of(state))].gathered;
}

// One seat of a line stands for all.
std::vector<network::MessagePart> PhaseRunner::split_message(std::uint32_t id, std::span<const Sender> senders) {
  const Time not_before = messages_[id].not_before;
  std::vector<network::MessagePart> parts;
  for (const Sender& sender : senders) {
    const network::PathId path = path_of(sender);
    const auto is_of_line = [&](const network::MessagePart& part) {
      return messages_[part.id].sender.call == sender.call && part.path == path;
    };
    if (std::ranges::any_of(parts, is_of_line)) continue;
    const std::uint32_t part = parts.empty() ? id : messages_.put({});
    messages_[part] = {sender, not_before};
    parts.push_back({part, path});
  }
  return parts;
}

}  // namespace

std::unique_ptr<Runner> phase_runner(Engine& engine, network::Network& network, CallTable& calls, ChunkQueues& queues) {
  return std::make_unique<PhaseRunner>(engine, network, calls, queues);
}

}  // namespace orrery::system
