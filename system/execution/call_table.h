// SPDX-License-Identifier: MIT
// Collective calls under way: who has come to each, how far every member is in it, and who is through.
//
// When the classes of a folded job come apart, between two rounds and with nothing left to decide, every part of a call
// goes on from where the whole was.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/engine.h"
#include "core/ids.h"
#include "core/units.h"
#include "system/execution/slot_set.h"
#include "system/folding/cast.h"
#include "system/plans/plan.h"

namespace orrery::system {

class Agents;
class Runner;

// One phase of one chunk on one member. There are many, so they are kept small.
struct PhaseState {
  // kPassed: over, and the member took no part in it.
  enum class Status : std::uint8_t { kAhead, kWaiting, kActive, kDone, kPassed };
  static constexpr std::uint32_t kNone = UINT32_MAX;

  SlotSet arrived;
  Time waiting_since;
  std::uint32_t program = kNone;  // at granularity `step`, while it is active
  Status status = Status::kAhead;
  bool touched = false;
  bool through = false;        // at granularity `phase`: the line's messages have arrived
  std::uint32_t gathered = 0;  // and on the line's first member: how many have come
};

// The chunks of a member at one axis in one direction (Phase::queue).
struct ChunkQueue {
  // Place of a waiting chunk: the time it came (negated for LIFO), chunk, phase, and its state.
  using Place = std::tuple<std::int64_t, std::uint32_t, std::uint32_t, std::uint32_t>;

  std::uint32_t active = 0;
  bool touched = false;
  std::vector<Place> places;          // heap, the smallest first; of chunks that wait or were taken in out of turn
  std::vector<std::uint32_t> called;  // waiting states for which a peer's message has come

  void add(const Place& place) {
    places.push_back(place);
    std::ranges::push_heap(places, std::greater{});
  }
  void remove_first() {
    std::ranges::pop_heap(places, std::greater{});
    places.pop_back();
  }
};

// A member that acts.
struct Seat {
  Time entered;
  NodeId node{};  // of who entered
  bool in = false;
  bool done = false;
  bool reported = false;
  std::uint32_t phases_done = 0;  // of all chunks
};

struct StateKey {
  std::uint32_t seat;
  std::uint32_t chunk;
  std::uint32_t phase;
};

// One call of a communicator, of which several may be under way (of different communicators).
struct Call {
  CallKey key;
  CallCast* cast = nullptr;
  const CollectivePlan* plan = nullptr;        // of the cast
  const workload::Members* members = nullptr;  // of the communicator
  std::uint32_t entered = 0;
  std::uint32_t done = 0;
  Time all_entered;
  std::vector<Seat> seats;
  std::vector<PhaseState> states;        // [seat][chunk][phase]
  std::uint32_t queues_of_seat = 0;      // none if nothing waits for its turn
  std::vector<ChunkQueue> chunk_queues;  // [seat][queue]
  bool is_fast_forwarded = false;        // as the cast was when the first member came

  bool all_in() const { return entered == seats.size(); }
  RankId holder(std::uint32_t seat) const { return (*members)[cast->member(seat)]; }
  ChunkQueue& chunk_queue(std::uint32_t seat, std::uint32_t queue) {
    return chunk_queues[seat * queues_of_seat + queue];
  }
  StateKey key_of(std::uint32_t state) const {
    const auto phases = static_cast<std::uint32_t>(plan->phases.size());
    const std::uint32_t chunk = state / phases;
    return {chunk / plan->chunks, chunk % plan->chunks, state % phases};
  }
  std::uint32_t state_of(StateKey at) const {
    return (at.seat * plan->chunks + at.chunk) * static_cast<std::uint32_t>(plan->phases.size()) + at.phase;
  }
  const PlannedPhase& phase(StateKey at) const { return plan->phases[at.phase]; }
  const LineClass& line(StateKey at) const { return cast->line(at.phase, at.seat); }
};

class CallTable final : private EventSink {
 public:
  // All outlive it; `agents` are told of what members wait for. Chunks take turns with those of a rank's other calls,
  // if `scope` says so.
  CallTable(Engine& engine, Cast& cast, Agents& agents, QueueScope scope)
      : engine_(engine), cast_(cast), agents_(agents), scope_(scope) {}

  // A call under way and one of its seats.
  struct Member {
    std::uint32_t call;
    std::uint32_t seat;

    bool operator==(const Member&) const = default;
  };
  // An acting rank comes to its call `node`. When all have that do so in this round, close_round() follows: the first
  // calls the others, who hear of it in the round after. The last holds all: by hold_assembled() when the round after
  // decides, or when there is none. False if there is nobody to hold.
  Member enter(RankId rank, NodeId node);
  void close_round();
  bool hold_assembled();
  // All members of a call may join it.
  void announce(CallKey call);
  // A seat is through, now or later: its rank knows in the next round.
  void finish(Member member);
  void finish_after(Duration delay, Member member) { engine_.after(delay, *this, payload_of(News::kSeatDone, member)); }

  // Agent of a member that has come, and the priority that it gives the call.
  std::uint32_t agent_of(Member member) { return cast_.agent_of(holder(member)); }
  std::uint32_t priority_of(Member member) {
    return cast_.input().job.graph(holder(member)).priority(calls_[member.call].seats[member.seat].node);
  }

  Call& operator[](std::uint32_t call) { return calls_[call]; }
  const Call& operator[](std::uint32_t call) const { return calls_[call]; }
  // Calls that are open, by home communicator.
  std::span<const std::vector<std::uint32_t>> open() const { return open_; }

  // Communicators have come apart, or are described anew. `runner` does its part of each.
  void split(const ClassSplit& split, Runner& runner);
  // A call that was part of another, and of which seat there each seat was.
  struct Part {
    std::uint32_t call;
    std::span<const std::uint32_t> parent_seat;
  };
  // Parts into which the latest split() cut a call; empty if it is whole.
  std::span<const Part> parts_of(std::uint32_t call) const;

 private:
  // News of a call or member, told in the next round.
  enum class News : std::uint8_t { kOpened, kSeatDone };
  static constexpr int kNewsShift = 62;
  static constexpr std::uint32_t kMostCalls = 1u << 30;  // under way at once; what is left of the payload
  static std::uint64_t payload_of(News news, Member member) {
    return std::uint64_t{static_cast<std::uint8_t>(news)} << kNewsShift | std::uint64_t{member.call} << 32 |
           member.seat;
  }

  RankId holder(Member member) const { return calls_[member.call].holder(member.seat); }
  void on_event(std::uint64_t payload) override;
  void add_parts(std::uint64_t payload, std::vector<std::uint64_t>& parts) override;
  void tell_next_round(News news, Member member);
  void call_others(const Call& call);
  std::uint32_t open(CallKey key);
  void prepare(Call& call, CallKey key);
  std::uint32_t take();
  void report_done(Member member);
  void split_call(std::uint32_t call, const std::vector<const ClassSplit::Home*>& parts, Runner& runner);
  Call part_of(const Call& whole, CallKey key, std::span<const std::uint32_t> parent_seat, Runner& runner);

  Engine& engine_;
  Cast& cast_;
  Agents& agents_;
  const QueueScope scope_;
  std::vector<Call> calls_;
  std::vector<std::uint32_t> free_;
  std::vector<std::vector<std::uint32_t>> open_;
  std::vector<std::uint32_t> opened_;     // calls to which the first member came in this round
  std::vector<std::uint32_t> assembled_;  // and the last, in the latest
  std::unordered_map<std::uint32_t, std::vector<Part>> parts_;
};

}  // namespace orrery::system
