// The event engine: a heap of (time, order, sequence) keys over a slab of small actions.
//
// An instant is processed in rounds. (1) Every event due now is delivered. (2) The observer's decide() lets everybody
// who was touched decide from its whole state. Events created for "now" meanwhile belong to the next round. (3) When a
// round leaves nothing due, settle() is called, in which the network re-solves. So a result cannot depend on the order
// of simultaneous events, which is what makes folding exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/units.h"

namespace orrery {

// Receives its events. A component implements it once and tells its events apart by their payload.
class EventSink {
 public:
  virtual void on_event(std::uint64_t payload) = 0;

 protected:
  ~EventSink() = default;
};

// What happens between the rounds of an instant.
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
  std::uint32_t generation = 0;
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

  // Runs until nothing is pending. Returns the instant of the last delivery.
  Time run(InstantObserver& observer);

 private:
  struct Key {
    Time time;
    std::uint32_t order;
    std::uint32_t slot;
    std::uint64_t sequence;

    bool before(const Key& other) const {
      if (time != other.time) return time < other.time;
      if (order != other.order) return order < other.order;
      return sequence < other.sequence;
    }
  };
  struct Action {
    EventSink* sink = nullptr;
    std::uint64_t payload = 0;
    std::uint64_t sequence = 0;  // of the key that owns the slot; a key with another one is stale
    std::uint32_t generation = 0;
    std::uint32_t next_free = UINT32_MAX;
  };

  void push(Key key);
  Key pop();
  bool due_now();
  void deliver_round();
  void drop_cancelled();
  void release(std::uint32_t slot);
  bool is_stale(const Key& key) const { return actions_[key.slot].sequence != key.sequence; }

  Time now_{};
  std::vector<Key> heap_;  // 4-ary: fewer cache lines per pop than a binary heap
  std::vector<Action> actions_;
  std::uint32_t free_ = UINT32_MAX;
  std::size_t live_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t delivered_ = 0;
  std::vector<Key> next_round_;  // made due now by the round being delivered
};

}  // namespace orrery
