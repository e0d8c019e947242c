// SPDX-License-Identifier: MIT
// The event engine: a heap of (time, order, sequence) keys over a slab of small actions. Events of one time are chained
// behind one key as long as their time is remembered, so what happens all at once costs no heap at all.
//
// An instant is processed in rounds. (1) Every event due now is delivered. (2) The observer's decide() lets everybody
// who was touched decide from its whole state. Events created for "now" meanwhile belong to the next round. (3) When a
// round leaves nothing due, settle() is called, in which the network re-solves. So a result cannot depend on the order
// of simultaneous events, which is what makes folding exact.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/units.h"

namespace orrery {

// Receives its events. A component implements it once and tells its events apart by their payload.
class EventSink {
 public:
  virtual void on_event(std::uint64_t payload) = 0;
  // Called when the owner of a pending event has split: appends the payloads with which the event is to come for the
  // new parts as well.
  virtual void add_parts(std::uint64_t /*payload*/, std::vector<std::uint64_t>& /*parts*/) {}

 protected:
  ~EventSink() = default;
};

// Observer called between the rounds of an instant.
class InstantObserver {
 public:
  // After each round of deliveries.
  virtual void decide() = 0;
  // When no round is left in an instant: once, and again if it makes something due in the same instant.
  virtual void settle() = 0;

 protected:
  ~InstantObserver() = default;
};

// Names a pending event, to cancel it. It stays harmless after the event was delivered.
struct EventHandle {
  std::uint32_t slot = UINT32_MAX;
  std::uint64_t sequence = 0;
};

class Engine {
 public:
  Time now() const { return now_; }
  std::size_t pending() const { return live_; }
  std::uint64_t delivered() const { return delivered_; }

  // Schedules `payload` for `sink`, which must outlive it. Events of one instant and round are delivered in ascending
  // (order, sequence of scheduling). `time` must not be before now().
  EventHandle at(Time time, EventSink& sink, std::uint64_t payload, std::uint32_t order = 0);
  // Throws InputError when now() + delay is past the end of simulated time (106 days).
  EventHandle after(Duration delay, EventSink& sink, std::uint64_t payload, std::uint32_t order = 0);
  // True if the event was still pending.
  bool cancel(EventHandle handle);

  // Asks the sinks of all pending events for parts, and schedules these for the same times.
  void split_pending();

  // Runs until nothing is pending. Returns the instant of the last delivery.
  Time run(InstantObserver& observer);

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::size_t kOpenChains = 256;  // a power of two; 4 KiB, so that they stay in the cache

  // A chain of actions of one time and order, ascending in sequence. Where there are several of one time and order, all
  // of one come before all of the next.
  struct Key {
    Time time;
    std::uint32_t order;
    std::uint32_t first;
  };
  struct alignas(32) Action {
    EventSink* sink = nullptr;  // null once it is cancelled: its slot is free when its time has come
    std::uint64_t payload = 0;
    std::uint64_t sequence = 0;  // 0 while the slot is free
    std::uint32_t next = kNone;  // of its chain, or free slot
  };
  // The chain that events of `time` and order 0 are appended to.
  struct OpenChain {
    Time time = Time::min();  // min(): there is none
    std::uint32_t last = kNone;
  };

  bool before(const Key& a, const Key& b) const;
  void push(Key key);
  Key pop();
  bool due_now();
  void deliver_round();
  void deliver(std::uint32_t chain);
  void drop_cancelled();
  std::uint32_t take_slot();
  void free_slot(std::uint32_t slot);
  OpenChain& open_chain(Time time);
  void close_chain(Time time);

  Time now_{};
  std::vector<Key> heap_;  // 4-ary: fewer cache lines per pop than a binary heap
  std::vector<Action> actions_;
  std::array<OpenChain, kOpenChains> open_;  // by hash of the time; the one opened last wins
  std::uint32_t free_ = kNone;
  std::size_t live_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t delivered_ = 0;
  std::vector<Key> next_round_;  // made due now by the round being delivered
};

}  // namespace orrery
