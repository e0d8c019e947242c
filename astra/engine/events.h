// SPDX-License-Identifier: MIT
// The order of events in ASTRA-sim. Times are whole nanoseconds. Events of one instant run in the order in which they
// were scheduled, and one that is scheduled for the present joins the end. The timers of a rank for one instant are one
// event, which stands where the first of them was set: that decides which of two messages enters a link first.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "astra/engine/flat_table.h"
#include "astra/engine/order.h"
#include "astra/input/ticks.h"
#include "core/assert.h"
#include "core/error.h"

namespace orrery::astra {

enum class EventKind : std::uint8_t { kTimers, kDelivery, kHop, kLinkFree, kReceived };

// The kind of an event gives `a` and `b` their meaning.
struct Event {
  EventKind kind = EventKind::kTimers;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
};

class EventQueue {
 public:
  // Keeps the causes of events where it is given an order.
  explicit EventQueue(Order* order = nullptr) : order_(order) {}

  Order* order() const { return order_; }
  Ticks now() const { return now_; }
  std::uint64_t count() const { return count_; }

  void at(Ticks time, Event event) {
    ORRERY_ASSERT(time >= now_);
    if (time > kEndOfTime)
      throw InputError({}, "the simulated time goes beyond 2^63 ns (292 years)",
                       "delays of the system, the network or the traces are too long");
    const std::uint32_t instant = instant_at(time);
    instants_[instant].push_back(event);
    if (order_ != nullptr) causes_[instant].push_back(order_->cause());
  }

  bool empty() const { return times_.empty(); }
  Ticks next_time() const { return times_.top(); }
  Event next() const { return instants_[instants_of_.find({times_.top()})].front(); }

  // Runs the events of the next instant, also those that join it meanwhile.
  template <class Run>
  void proceed(Run run) {
    now_ = times_.top();
    const std::uint32_t instant = instants_of_.find({now_});
    if (order_ != nullptr) order_->begin_instant(now_);
    for (std::size_t i = 0; i < instants_[instant].size(); ++i) {
      const Event event = instants_[instant][i];
      if (order_ != nullptr) order_->begin(causes_[instant][i]);
      run(event);
    }
    count_ += instants_[instant].size();
    instants_[instant].clear();
    if (order_ != nullptr) causes_[instant].clear();
    free_.push_back(instant);
    instants_of_.erase({now_});
    recent_[now_ % kRecent] = {};
    times_.pop();
  }

 private:
  // Events of times that are scheduled for again and again.
  static constexpr std::size_t kRecent = 16;
  struct Recent {
    Ticks time = UINT64_MAX;
    std::uint32_t instant = 0;
  };

  std::uint32_t instant_at(Ticks time) {
    Recent& recent = recent_[time % kRecent];
    if (recent.time == time) return recent.instant;
    std::uint32_t& instant = instants_of_[{time}];
    if (instant == FlatTable<1>::kNone) {
      instant = take();
      times_.push(time);
    }
    recent = {time, instant};
    return instant;
  }

  std::uint32_t take() {
    if (free_.empty()) {
      instants_.emplace_back();
      if (order_ != nullptr) causes_.emplace_back();
      return static_cast<std::uint32_t>(instants_.size() - 1);
    }
    const std::uint32_t instant = free_.back();
    free_.pop_back();
    return instant;
  }

  Order* order_;
  Ticks now_ = 0;
  std::uint64_t count_ = 0;
  std::priority_queue<Ticks, std::vector<Ticks>, std::greater<>> times_;  // one for each instant
  FlatTable<1> instants_of_;
  std::array<Recent, kRecent> recent_{};
  std::vector<std::vector<Event>> instants_;
  std::vector<std::vector<Order::Cause>> causes_;  // of the events of instants_
  std::vector<std::uint32_t> free_;
};

enum class TimerKind : std::uint8_t { kPacket, kComputed, kCustomComputed, kMemoryServed, kBus };

struct Timer {
  TimerKind kind = TimerKind::kPacket;
  bool reduces = false;  // of a packet: a reduction follows
  std::uint32_t a = 0;   // of a packet or of a custom schedule: the stream; else the node
  std::uint32_t b = 0;   // of a custom schedule: the node
  std::uint64_t bytes = 0;

  bool operator==(const Timer&) const = default;
};

// The timers of all ranks.
class Timers {
 public:
  explicit Timers(EventQueue& events) : events_(&events) {}

  void set(std::uint32_t rank, Ticks delay, const Timer& timer) {
    const Ticks time = events_->now() + delay;
    std::uint32_t& bucket = bucket_of_[{rank, time}];
    if (bucket == FlatTable<2>::kNone) {
      bucket = take();
      events_->at(time, {EventKind::kTimers, rank, bucket});
    }
    buckets_[bucket].push_back(timer);
    if (Order* order = events_->order()) {
      causes_[bucket].push_back(order->cause());
      if (delay == 0) order->note_joining();
    }
  }

  const Timer& first(const Event& event) const { return buckets_[event.b].front(); }

  // Runs those of an event of this kind, also those that join them meanwhile.
  template <class Run>
  void fire(const Event& event, Run run) {
    Order* const order = events_->order();
    const Order::Origin origin = order != nullptr ? order->origin() : Order::Origin{};
    bool is_apart = false;
    for (std::size_t i = 0; i < buckets_[event.b].size(); ++i) {
      const Timer timer = buckets_[event.b][i];
      if (order != nullptr) {
        is_apart = begins_kin(event.b, i) ? differs_in_order(event.b, i) : is_apart;
        order->stand(origin);
        if (is_apart) order->stand(order->apart());
      }
      run(event.a, timer);
    }
    buckets_[event.b].clear();
    if (order != nullptr) {
      for (const Order::Cause& cause : causes_[event.b]) order->release(cause);
      causes_[event.b].clear();
    }
    free_.push_back(event.b);
    bucket_of_.erase({event.a, events_->now()});
  }

 private:
  std::uint32_t take() {
    if (free_.empty()) {
      buckets_.emplace_back();
      if (events_->order() != nullptr) causes_.emplace_back();
      return static_cast<std::uint32_t>(buckets_.size() - 1);
    }
    const std::uint32_t bucket = free_.back();
    free_.pop_back();
    return bucket;
  }

  // True for the first of the timers that kin have set.
  bool begins_kin(std::uint32_t bucket, std::size_t first) const {
    return first == 0 || !causes_[bucket][first].is_kin(causes_[bucket][first - 1]);
  }
  // True if these are in another order on other ranks that they stand for, and that makes a difference.
  bool differs_in_order(std::uint32_t bucket, std::size_t first) const {
    if (!events_->order()->is_mixed(causes_[bucket][first])) return false;
    for (std::size_t i = first + 1; i < buckets_[bucket].size() && !begins_kin(bucket, i); ++i)
      if (buckets_[bucket][i] != buckets_[bucket][first]) return true;
    return false;
  }

  EventQueue* events_;
  FlatTable<2> bucket_of_;
  std::vector<std::vector<Timer>> buckets_;
  std::vector<std::vector<Order::Cause>> causes_;  // of the timers of buckets_
  std::vector<std::uint32_t> free_;
};

}  // namespace orrery::astra
