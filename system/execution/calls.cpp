// SPDX-License-Identifier: MIT
#include "system/execution/calls.h"

#include <algorithm>
#include <vector>

namespace orrery::system {
namespace {

// Send of a seat in each step of a ring.
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

Calls::Calls(Engine& engine, Cast& cast, Agents& agents, const CollectiveOptions& options)
    : engine_(engine),
      network_(cast.input().network),
      cast_(cast),
      granularity_(options.granularity),
      queue_scope_(options.queue_scope),
      table_(engine, cast, agents, options.queue_scope),
      runner_(
          (options.granularity == Granularity::kStep ? step_runner : phase_runner)(engine, network_, table_, queues_)),
      queues_(engine, table_, *runner_, options) {}

void Calls::enter(RankId rank, NodeId node) {
  const CallTable::Member member = table_.enter(rank, node);
  const Call& call = table_[member.call];
  if (!call.is_fast_forwarded) return queues_.begin(member);
  if (call.all_in()) fast_forward(member.call);
}

// All members are together: send i begins when receive i-1 has arrived.
Duration Calls::count_together(const CallCast& cast, std::uint32_t phase, std::uint64_t times) {
  const collectives::Schedule& schedule = cast.plan().phases[phase].schedule();
  const bool is_ring = schedule.is_uniform_ring();
  const std::uint32_t sends = schedule.sends(0), alike = is_ring ? sends : 1;
  Duration all{};
  for (std::uint32_t send = 0; send < sends; send += alike) {
    const Outgoing message = cast.outgoing(phase, 0, send, 0);
    const Duration transfer = network_.count_private(message.path, schedule.step(0, send).bytes, alike * times);
    all = saturating_multiply_add(all, saturating_add(transfer, message.of->latency), alike);
    fast_forwarded_ += message.count * alike * times;
  }
  return all;
}

void Calls::fast_forward(std::uint32_t number) {
  const Call& call = table_[number];
  if (call.seats.size() == 1) {
    Duration longest{};
    for (std::uint32_t phase = 0; phase < call.plan->phases.size(); ++phase)
      longest = std::max(longest, count_together(*call.cast, phase, 1));
    return table_.finish_after(longest, {number, 0});
  }
  std::vector<Duration> ends(call.seats.size()), starts(ends.size()), next(ends.size());
  for (std::uint32_t phase = 0; phase < call.plan->phases.size(); ++phase) {
    const collectives::Schedule& schedule = call.plan->phases[phase].schedule();
    const std::uint32_t steps = schedule.sends(0);
    const Bytes bytes = schedule.step(0, 0).bytes;
    std::vector<Hop> hops;
    for (std::uint32_t seat = 0; seat < ends.size(); ++seat) {
      const Outgoing message = call.cast->outgoing(phase, seat, 0, 0);
      const Duration transfer = network_.count_private(message.path, bytes, steps);
      hops.push_back({message.receiver, transfer, saturating_add(transfer, message.of->latency)});
      starts[seat] = call.seats[seat].entered.time_since_epoch();
      fast_forwarded_ += message.count * steps;
    }
    for (std::uint32_t i = 0; i < steps; ++i) step(hops, starts, next);
    for (std::uint32_t seat = 0; seat < ends.size(); ++seat) ends[seat] = std::max(ends[seat], starts[seat]);
  }
  for (std::uint32_t seat = 0; seat < ends.size(); ++seat)
    table_.finish_after(ends[seat] - engine_.now().time_since_epoch(), {number, seat});
}

bool Calls::may_count(CallKey key) {
  const CallCast& cast = cast_.call(key);
  const CollectivePlan& plan = cast.plan();
  if (plan.phases.empty()) return true;
  if (plan.chunks > 1 || cast.seats() > 1 || queue_scope_ == QueueScope::kRank) return false;
  return cast.is_fast_forwarded() || (granularity_ == Granularity::kPhase && plan.phases.size() == 1);
}

bool Calls::count(CallKey key, std::uint64_t times) {
  if (!may_count(key)) return false;
  CallCast& cast = cast_.call(key);
  const CollectivePlan& plan = cast.plan();
  if (plan.phases.empty()) return true;
  if (!cast.is_fast_forwarded()) {
    const LineClass& line = cast.line(0, 0);
    fast_forwarded_ += line.count * times;
    return network_.count_groups(line.path, times);
  }
  for (std::uint32_t phase = 0; phase < plan.phases.size(); ++phase) count_together(cast, phase, times);
  return true;
}

}  // namespace orrery::system
