// SPDX-License-Identifier: MIT
#include "system/execution/contention.h"

#include <algorithm>

namespace orrery::system {
namespace {

using workload::kWholeShare;

// Time on what is left of `all`, in kWholeShare of that on all of it. At most half is taken.
std::int64_t stretch_of(std::int64_t taken, std::int64_t all) {
  if (all == 0 || taken == 0) return kWholeShare;
  const std::int64_t left = all - std::min(taken, all / 2);
  if (all < INT64_MAX / kWholeShare) return kWholeShare * all / left;
  return static_cast<std::int64_t>(Int128{kWholeShare} * all / left);
}

}  // namespace

std::uint32_t speed_beside(const collectives::DeviceShare& taken, const DeviceCapacity& device,
                           std::uint32_t processor_bound) {
  if (taken.is_none()) return kWholeShare;
  const std::int64_t computing = stretch_of(taken.processors, device.processors);
  const std::int64_t memory = stretch_of(taken.memory_rate, device.memory_rate);
  const std::int64_t whole = kWholeShare;
  const std::int64_t time = (processor_bound * computing + (whole - processor_bound) * memory) / whole;
  return static_cast<std::uint32_t>(whole * whole / time);
}

void Computation::go_on(std::uint32_t new_speed, Time now) {
  left = std::max<Int128>(0, left - Int128{(now - since).count()} * speed);
  since = now;
  speed = new_speed;
  if (left < INT64_MAX - speed) {  // all but days of work
    done = now + Duration((static_cast<std::int64_t>(left) + speed - 1) / speed);
    return;
  }
  const Int128 rest = std::min<Int128>((left + speed - 1) / speed, Duration::max().count());
  done = Time(saturating_add(now.time_since_epoch(), Duration(static_cast<std::int64_t>(rest))));
}

void DeviceUse::take(NodeId call, const collectives::DeviceShare& share) {
  calls_.push_back({call, share, false});
  taken_.processors += share.processors;
}

void DeviceUse::move(NodeId call) {
  const auto found = std::ranges::find(calls_, call, &Call::node);
  if (found == calls_.end() || found->is_moving) return;
  found->is_moving = true;
  taken_.memory_rate += found->share.memory_rate;
}

void DeviceUse::release(NodeId call) {
  const auto found = std::ranges::find(calls_, call, &Call::node);
  if (found == calls_.end()) return;
  taken_.processors -= found->share.processors;
  if (found->is_moving) taken_.memory_rate -= found->share.memory_rate;
  calls_.erase(found);
}

Computation* DeviceUse::find(NodeId node) {
  const auto found = std::ranges::find(computations_, node, &Computation::node);
  return found == computations_.end() ? nullptr : found;
}

void DeviceUse::erase(NodeId node) {
  if (Computation* const found = find(node)) computations_.erase(found);
}

}  // namespace orrery::system
