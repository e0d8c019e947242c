// The ends of uniform rings that have their links to themselves, from when their members entered, without an event for
// each message.
#include <algorithm>
#include <vector>

#include "system/execution/collectives.h"

namespace orrery {
namespace {

// What a seat sends in each step.
struct Hop {
  std::uint32_t to = 0;
  Duration transfer{};
  Duration arrival{};  // transfer and latency
};

// Send s of a seat starts when its send s-1 is released and receive s-1 has arrived; after the last, `starts` are ends.
void step(const std::vector<Hop>& hops, std::vector<Duration>& starts, std::vector<Duration>& next) {
  for (std::size_t seat = 0; seat < hops.size(); ++seat) next[seat] = saturating_add(starts[seat], hops[seat].transfer);
  for (std::size_t seat = 0; seat < hops.size(); ++seat)
    next[hops[seat].to] = std::max(next[hops[seat].to], saturating_add(starts[seat], hops[seat].arrival));
  starts.swap(next);
}

}  // namespace

void CollectiveExecution::fast_forward(std::uint32_t slot) {
  const Call& call = calls_[slot];
  std::vector<Duration> ends(call.seats.size());
  for (std::uint32_t phase = 0; phase < call.setting.plan->phases.size(); ++phase) {
    const std::vector<Duration> of_phase = ring_ends(call, phase);
    for (std::uint32_t seat = 0; seat < ends.size(); ++seat) ends[seat] = std::max(ends[seat], of_phase[seat]);
  }
  for (std::uint32_t seat = 0; seat < ends.size(); ++seat)
    engine_.after(ends[seat] - engine_.now().time_since_epoch(), *this, payload_of(News::kSeatDone, slot, seat));
}

// By seat.
std::vector<Duration> CollectiveExecution::ring_ends(const Call& call, std::uint32_t phase) {
  const Schedule& schedule = call.setting.plan->phases[phase].schedule();
  const std::uint32_t steps = schedule.sends(0);
  const Bytes bytes = schedule.step(0, 0).bytes;
  std::vector<Hop> hops;
  std::vector<Duration> starts;
  for (std::uint32_t seat = 0; seat < call.seats.size(); ++seat) {
    const MessageClass& message = *call.setting.tables->message(phase, seat, 0);
    const Duration transfer = network_.count_private(message.path, bytes, steps);
    hops.push_back({message.receiver, transfer, saturating_add(transfer, message.latency)});
    starts.push_back(call.seats[seat].entered.time_since_epoch());
    messages_sent_ += message.count * steps;
  }
  std::vector<Duration> next(starts.size());
  for (std::uint32_t i = 0; i < steps; ++i) step(hops, starts, next);
  return starts;
}

}  // namespace orrery
