// SPDX-License-Identifier: MIT
#include "core/engine.h"

#include <bit>

#include "core/assert.h"
#include "core/error.h"

namespace orrery {
namespace {

constexpr std::size_t kArity = 4;

}  // namespace

EventHandle Engine::at(Time time, EventSink& sink, std::uint64_t payload, std::uint32_t order) {
  ORRERY_ASSERT(time >= now_);
  const std::uint32_t slot = take_slot();
  actions_[slot] = {&sink, payload, ++sequence_, kNone};
  ++live_;
  const EventHandle handle{slot, sequence_};
  if (order == 0) {
    OpenChain& open = open_chain(time);
    if (open.time == time) {
      actions_[open.last].next = slot;
      open.last = slot;
      return handle;
    }
    open = {time, slot};
  }
  push({time, order, slot});
  return handle;
}

EventHandle Engine::after(Duration delay, EventSink& sink, std::uint64_t payload, std::uint32_t order) {
  ORRERY_ASSERT(delay >= Duration::zero());
  const Duration until = saturating_add(now_.time_since_epoch(), delay);
  if (until == Duration::max())
    throw InputError({}, "the simulated time passes 106 days, the end of its 64-bit picosecond clock",
                     "look for a size, duration or bandwidth that is off by orders of magnitude");
  return at(Time(until), sink, payload, order);
}

bool Engine::cancel(EventHandle handle) {
  if (handle.slot >= actions_.size()) return false;
  Action& action = actions_[handle.slot];
  if (action.sequence != handle.sequence || action.sink == nullptr) return false;
  action.sink = nullptr;
  --live_;
  return true;
}

void Engine::split_pending() {
  struct Part {
    Time time;
    std::uint32_t order;
    EventSink* sink;
    std::uint64_t payload;
  };
  std::vector<Part> added;
  std::vector<std::uint64_t> parts;
  for (const Key& key : heap_)
    for (std::uint32_t slot = key.first; slot != kNone; slot = actions_[slot].next) {
      const Action& action = actions_[slot];
      if (action.sink == nullptr) continue;
      parts.clear();
      action.sink->add_parts(action.payload, parts);
      for (const std::uint64_t payload : parts) added.push_back({key.time, key.order, action.sink, payload});
    }
  for (const Part& part : added) at(part.time, *part.sink, part.payload, part.order);
}

Time Engine::run(InstantObserver& observer) {
  for (drop_cancelled(); !heap_.empty(); drop_cancelled()) {
    now_ = heap_.front().time;
    while (due_now()) {
      do {
        deliver_round();    // 1. everything due that existed when the round began
        observer.decide();  // 2. those who were touched decide; what they make due now is the next round
      } while (due_now());
      observer.settle();  // 3. nothing is left in this instant
    }
  }
  return now_;
}

bool Engine::due_now() {
  drop_cancelled();
  return !heap_.empty() && heap_.front().time == now_;
}

void Engine::deliver_round() {
  const std::uint64_t last_of_round = sequence_;
  close_chain(now_);  // no chain holds events of two rounds
  while (!heap_.empty() && heap_.front().time == now_) {
    const Key key = pop();
    if (actions_[key.first].sequence > last_of_round)
      next_round_.push_back(key);
    else
      deliver(key.first);
  }
  for (const Key& key : next_round_) push(key);
  next_round_.clear();
}

void Engine::deliver(std::uint32_t chain) {
  while (chain != kNone) {
    const Action action = actions_[chain];
    free_slot(chain);
    chain = action.next;
    if (action.sink == nullptr) continue;
    --live_;
    ++delivered_;
    action.sink->on_event(action.payload);
  }
}

bool Engine::before(const Key& a, const Key& b) const {
  if (a.time != b.time) return a.time < b.time;
  if (a.order != b.order) return a.order < b.order;
  return actions_[a.first].sequence < actions_[b.first].sequence;
}

void Engine::push(Key key) {
  std::size_t hole = heap_.size();
  heap_.push_back(key);
  while (hole > 0) {
    const std::size_t parent = (hole - 1) / kArity;
    if (!before(key, heap_[parent])) break;
    heap_[hole] = heap_[parent];
    hole = parent;
  }
  heap_[hole] = key;
}

Engine::Key Engine::pop() {
  const Key top = heap_.front();
  const Key last = heap_.back();
  heap_.pop_back();
  const std::size_t size = heap_.size();
  if (size == 0) return top;
  std::size_t hole = 0;
  for (;;) {
    const std::size_t first = hole * kArity + 1;
    if (first >= size) break;
    std::size_t least = first;
    for (std::size_t child = first + 1; child < size && child < first + kArity; ++child)
      if (before(heap_[child], heap_[least])) least = child;
    if (!before(heap_[least], last)) break;
    heap_[hole] = heap_[least];
    hole = least;
  }
  heap_[hole] = last;
  return top;
}

void Engine::drop_cancelled() {
  while (!heap_.empty()) {
    Key& key = heap_.front();
    const std::uint32_t slot = key.first;
    if (actions_[slot].sink != nullptr) return;
    const std::uint32_t next = actions_[slot].next;
    if (next == kNone) {
      close_chain(key.time);
      pop();
    } else {
      key.first = next;
    }
    free_slot(slot);
  }
}

std::uint32_t Engine::take_slot() {
  const std::uint32_t slot = free_;
  if (slot == kNone) {
    actions_.emplace_back();
    return static_cast<std::uint32_t>(actions_.size() - 1);
  }
  free_ = actions_[slot].next;
  return slot;
}

void Engine::free_slot(std::uint32_t slot) {
  actions_[slot].sequence = 0;
  actions_[slot].next = free_;
  free_ = slot;
}

// Fibonacci hashing: the highest bits of the product depend on all bits of the time.
Engine::OpenChain& Engine::open_chain(Time time) {
  const auto count = static_cast<std::uint64_t>(time.time_since_epoch().count());
  return open_[(count * 0x9e3779b97f4a7c15U) >> (64 - std::countr_zero(kOpenChains))];
}

void Engine::close_chain(Time time) {
  OpenChain& open = open_chain(time);
  if (open.time == time) open.time = Time::min();
}

}  // namespace orrery
