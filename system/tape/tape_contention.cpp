// SPDX-License-Identifier: MIT
// Computations beside calls and sends of the same rank, on a tape: its end follows from when each of them begins, moves
// and ends, as far as that is before it.
#include <algorithm>
#include <functional>
#include <utility>

#include "system/tape/payload.h"
#include "system/tape/tape.h"

namespace orrery::system {

void Tape::compute(std::uint32_t number, NodeId node, std::uint32_t processor_bound) {
  Agent& agent = agents_[number];
  note_started(agent, node);
  const Time now = agent.operations[node].start;
  const Duration alone = times_.take(agent.rank, node, now);
  const Duration wait = host_wait(agent, node, alone, now);
  const Duration launched = saturating_add(now.time_since_epoch(), saturating_add(alone, wait));
  const Time not_before = wait > Duration::zero() ? Time(launched) : now;
  std::erase_if(agent.uses, [&](const Use& use) { return use.end <= now; });
  agent.computing = Computing{node, now, false, Computation::of(node, alone, processor_bound, now, not_before)};
  go_on_computing(number);
}

// True if it may turn out that something begins or ends beside it before its end.
bool Tape::may_be_disturbed(Agent& agent, const Computing& computing) const {
  if (!contends_) return false;
  const auto takers = agent.program->takers();
  while (agent.next_taker < takers.size() && agent.operations.has_started(takers[agent.next_taker].node))
    ++agent.next_taker;
  const std::uint32_t place = agent.program->place(computing.node);
  if (agent.next_taker < takers.size() && takers[agent.next_taker].behind <= place) return true;
  return std::ranges::any_of(agent.uses, [&](const Use& use) {
    const bool is_known = use.end != kUnknown && (use.moving != kUnknown || use.share.memory_rate == 0);
    return !is_known && use.start < computing.end;
  });
}

// Collects what calls and sends take of the device when `computing` starts, and how that changes later.
collectives::DeviceShare Tape::take_changes(const Agent& agent, const Computing& computing) {
  collectives::DeviceShare taken;
  changes_.clear();
  const auto add = [&](const Change& change) {
    if (change.time == kUnknown) return;
    if (change.time > computing.start) {
      changes_.push_back(change);
      return;
    }
    taken.processors += change.share.processors;
    taken.memory_rate += change.share.memory_rate;
  };
  for (const Use& use : agent.uses) {
    const bool moves = use.moving != kUnknown && use.moving < use.end;
    const std::int64_t memory_rate = moves ? use.share.memory_rate : 0;
    add({use.start, 0, true, use.node, {use.share.processors, 0}});
    if (memory_rate != 0) add({use.moving, 1, true, use.node, {0, memory_rate}});
    add({use.end, 0, false, use.node, {0 - use.share.processors, -memory_rate}});
  }
  std::ranges::sort(changes_, std::less{});
  return taken;
}

// Takes over what is known by now. It ends when nothing can change that any more, at the latest when it is time.
void Tape::go_on_computing(std::uint32_t number) {
  Agent& agent = agents_[number];
  Computing& computing = *agent.computing;
  const collectives::DeviceShare taken = take_changes(agent, computing);
  computing.is_repetition ? change_course(agent, computing, taken) : change_speed(agent, computing, taken);
  if (computing.end == kUnknown) throw Refused{"an operation takes months"};
  const bool is_open = may_be_disturbed(agent, computing);
  if (is_open && computing.due == computing.end) return;
  if (computing.due != kUnknown) engine_.cancel(computing.event);
  computing.due = kUnknown;
  if (!is_open) return end_computation(number);
  if (!std::exchange(computing.is_listed, true)) open_.push_back(number);
}

// Nobody goes on ahead of the clock any more: what is still open now ends when it is time.
void Tape::wait_for_open() {
  for (const std::uint32_t number : open_) {
    std::optional<Computing>& computing = agents_[number].computing;
    if (!computing || !std::exchange(computing->is_listed, false) || computing->due != kUnknown) continue;
    computing->due = computing->end;
    computing->event = engine_.at(computing->end, *this, payload(TapeEvent::kComputed, number));
  }
  open_.clear();
}

// True if of these changes of one instant those in its first round are one, or the end of a call and the beginning of
// another that waited for it, and at most one comes behind.
bool Tape::is_one_round(const Agent& agent, std::size_t first, std::size_t last) const {
  std::size_t behind = 0;
  for (std::size_t i = first; i < last; ++i) behind += changes_[i].round;
  last -= behind;
  if (behind > 1) return false;
  if (last - first < 2) return true;
  const bool begins_first = changes_[first].begins;
  const Change& begins = changes_[begins_first ? first : first + 1];
  const Change& ends = changes_[begins_first ? first + 1 : first];
  if (last - first > 2 || !begins.begins || ends.begins) return false;
  const std::span<const NodeId> after = agent.program->after(ends.node);
  return std::ranges::find(after, begins.node) != after.end();
}

void Tape::change_speed(const Agent& agent, Computing& computing, collectives::DeviceShare taken) {
  Computation& computation = computing.ended = computing.begun;
  const DeviceCapacity& capacity = times_.capacity(agent.rank);
  const auto set_speed = [&](Time time) {
    const std::uint32_t speed = speed_beside(taken, capacity, computation.processor_bound);
    if (speed == computation.speed) return false;
    computation.go_on(speed, time);
    return true;
  };
  set_speed(computing.start);
  for (std::size_t i = 0; i < changes_.size() && changes_[i].time < computation.end();) {
    const Time time = changes_[i].time;
    const std::size_t first = i;
    bool is_changed = false;
    for (std::uint8_t round = 0; round < 2; ++round) {
      for (; i < changes_.size() && changes_[i].time == time && changes_[i].round == round; ++i) {
        taken.processors += changes_[i].share.processors;
        taken.memory_rate += changes_[i].share.memory_rate;
      }
      is_changed = set_speed(time) || is_changed;
    }
    // A computation that is through and waits for its host counts as through at the latest change, even one that is
    // undone at once.
    if (!is_changed && computation.done < time && !is_one_round(agent, first, i))
      throw Refused{"calls take turns while a host is waited for"};
  }
  computing.end = computation.end();
}

void Tape::end_computation(std::uint32_t number) {
  Agent& agent = agents_[number];
  if (agent.computing->is_repetition) return end_repetition(number);
  const Computation ended = agent.computing->ended;
  const Time end = agent.computing->end;
  agent.computing.reset();
  agent.operations[ended.node].slowed = ended.done - ended.taken - ended.alone;
  finish(number, ended.node, ended.not_before > ended.taken ? ended.taken + (end - ended.done) : ended.taken, end);
}

// Whoever calls it goes on with what is computed.
void Tape::add_use(std::uint32_t number, NodeId node, const collectives::DeviceShare& share, Time now) {
  Agent& agent = agents_[number];
  const bool may_slow = contends_ && !share.is_none() && agent.program->graph().has_processor_bounds();
  if (may_slow) agent.uses.push_back({node, share, now});
}

// When the data of a call move and when it ends, as far as that is known.
void Tape::note_use(std::uint32_t number, NodeId node, Time moving, Time end) {
  if (!contends_) return;
  Agent& agent = agents_[number];
  const auto use = std::ranges::find(agent.uses, node, &Use::node);
  if (use != agent.uses.end()) {
    use->moving = moving;
    use->end = end;
  }
  if (agent.computing) go_on_computing(number);
}

}  // namespace orrery::system
