// SPDX-License-Identifier: MIT
// When the chunks of a collective call go through their phases: a phase starts when the chunk's phase before is through
// on this member, and a dimension takes up to `active_chunks` chunks of a member at a time. A chunk that waits for a
// dimension is taken in early when a peer's message for it has come: otherwise two members that picked different chunks
// first would wait for each other for ever. A member decides from its own state only; with QueueScope::kRank, from that
// of its rank in all calls under way.
//
// Members go through a phase by a program of sends each (granularity `step`), or all of a line at once (`phase`). The
// granularity is settled once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/engine.h"
#include "network/network.h"
#include "system/execution/call_table.h"
#include "system/plans/plan.h"

namespace orrery::system {

class ChunkQueues;

class Runner : protected EventSink, protected network::MessageRecipient {
 public:
  // All outlive it.
  Runner(Engine& engine, network::Network& network, CallTable& calls, ChunkQueues& queues)
      : engine_(engine), network_(network), calls_(calls), queues_(queues) {}
  virtual ~Runner() = default;

  // It is the turn of a seat's chunk in a phase.
  virtual void begin(std::uint32_t call, std::uint32_t state) = 0;
  // An active state that was touched goes on. True when the phase is through on this member.
  virtual bool advance(std::uint32_t call, std::uint32_t state) = 0;
  // True if a peer waits for the seat in the phase.
  virtual bool is_awaited(const Call& call, StateKey key) const = 0;
  // All that were touched have decided, and queues are filled.
  virtual void end_turn() {}
  // Calls come apart; then each `part` goes on where the whole is. `parent_seat`: which seat of that each of its was.
  void begin_split() { parts_.clear(); }
  virtual void split(const Call& whole, Call& part, std::span<const std::uint32_t> parent_seat) = 0;

  // Messages that were sent, of all members.
  std::uint64_t messages() const { return sent_; }

 protected:
  // Sender of a message: a state of a call.
  struct Sender {
    std::uint32_t call = 0;
    std::uint32_t state = 0;
  };
  virtual Sender sender_of(std::uint32_t message) const = 0;
  virtual network::PathId path_of(std::uint32_t message) const = 0;
  // Messages into which `message` has split, itself first; `senders` are the parts of its sender.
  virtual std::vector<network::MessagePart> split_message(std::uint32_t message, std::span<const Sender> senders) = 0;
  network::MessagePlace place_between(const Sender& sender, DeviceId from, DeviceId to, std::uint32_t index) const;

  Engine& engine_;
  network::Network& network_;
  CallTable& calls_;
  ChunkQueues& queues_;
  std::uint64_t sent_ = 0;

 private:
  std::span<const network::MessagePart> parts_of(std::uint32_t message) override;
  // Events of a runner are of messages.
  void add_parts(std::uint64_t message, std::vector<std::uint64_t>& parts) override;

  std::unordered_map<std::uint32_t, std::vector<network::MessagePart>> parts_;  // by the latest split, asked for so far
};

class ChunkQueues {
 public:
  // All outlive it.
  ChunkQueues(const Engine& engine, CallTable& calls, Runner& runner, const CollectiveOptions& options)
      : engine_(engine), calls_(calls), runner_(runner), options_(options) {}

  // A member has come to its call: its chunks begin.
  void begin(CallTable::Member member);
  // Something has happened to a state, which decides in advance().
  void touch(std::uint32_t call, std::uint32_t state);
  // A peer waits for the member in the phase that the state waits for.
  void summon(std::uint32_t call, std::uint32_t state);
  // All that were touched decide.
  void advance();
  // Communicators have come apart, and with them their calls.
  void split();
  // Nothing happens any more: chunks under way wait for members that hold their place with others, which wait
  // themselves: with LIFO, on the axes of a torus, or for members that come late. Every queue lets its first chunk go
  // beside those. False where none waits.
  bool relieve();

 private:
  struct Touched {
    std::uint32_t call;
    std::uint32_t state;
  };
  struct TouchedQueue {
    CallTable::Member member;
    std::uint32_t queue;
  };

  void begin_at_once(CallTable::Member member);
  static bool is_wanted(const Call& call, ChunkQueue& chunk_queue);
  void touch_queue(CallTable::Member member, std::uint32_t queue);
  void advance_state(std::uint32_t call, std::uint32_t state);
  void begin_phase(std::uint32_t call, StateKey key);
  void end_phase(std::uint32_t call, StateKey key);
  void fill(const TouchedQueue& touched);
  std::vector<TouchedQueue> shared_with(const TouchedQueue& touched);
  void fill_shared(const TouchedQueue& touched);
  void note_in_flight(CallTable::Member member) { in_flight_[calls_.agent_of(member)].push_back(member); }
  void activate(std::uint32_t call, std::uint32_t state, ChunkQueue& chunk_queue);
  ChunkQueue::Place place_of(const Call& call, std::uint32_t state) const;

  const Engine& engine_;
  CallTable& calls_;
  Runner& runner_;
  const CollectiveOptions& options_;
  std::vector<Touched> touched_;
  std::vector<TouchedQueue> touched_queues_;
  std::unordered_map<std::uint32_t, std::vector<CallTable::Member>> in_flight_;  // by agent, with QueueScope::kRank
};

// All outlive the runner.
std::unique_ptr<Runner> step_runner(Engine& engine, network::Network& network, CallTable& calls, ChunkQueues& queues);
std::unique_ptr<Runner> phase_runner(Engine& engine, network::Network& network, CallTable& calls, ChunkQueues& queues);

}  // namespace orrery::system
