#include "core/engine.h"

#include "core/assert.h"
#include "core/error.h"

namespace orrery {
namespace {

constexpr std::size_t kArity = 4;

}  // namespace

EventHandle Engine::at(Time time, EventSink& sink, std::uint64_t payload, std::uint32_t order) {
  ORRERY_ASSERT(time >= now_);
  std::uint32_t slot = free_;
  if (slot == UINT32_MAX) {
    slot = static_cast<std::uint32_t>(actions_.size());
    actions_.emplace_back();
  } else {
    free_ = actions_[slot].next_free;
  }
  Action& action = actions_[slot];
  action.sink = &sink;
  action.payload = payload;
  action.sequence = ++sequence_;
  ++live_;
  push({time, order, slot, sequence_});
  return {slot, action.generation};
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
  const Action& action = actions_[handle.slot];
  if (action.generation != handle.generation || action.sequence == 0) return false;
  release(handle.slot);
  return true;
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
  while (!heap_.empty() && heap_.front().time == now_) {
    const Key key = pop();
    if (is_stale(key)) continue;
    if (key.sequence > last_of_round) {
      next_round_.push_back(key);
      continue;
    }
    const Action action = actions_[key.slot];
    release(key.slot);
    ++delivered_;
    action.sink->on_event(action.payload);
  }
  for (const Key& key : next_round_) push(key);
  next_round_.clear();
}

void Engine::push(Key key) {
  std::size_t hole = heap_.size();
  heap_.push_back(key);
  while (hole > 0) {
    const std::size_t parent = (hole - 1) / kArity;
    if (!key.before(heap_[parent])) break;
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
      if (heap_[child].before(heap_[least])) least = child;
    if (!heap_[least].before(last)) break;
    heap_[hole] = heap_[least];
    hole = least;
  }
  heap_[hole] = last;
  return top;
}

void Engine::drop_cancelled() {
  while (!heap_.empty() && is_stale(heap_.front())) pop();
}

void Engine::release(std::uint32_t slot) {
  Action& action = actions_[slot];
  action.sequence = 0;
  ++action.generation;
  action.next_free = free_;
  free_ = slot;
  --live_;
}

}  // namespace orrery
