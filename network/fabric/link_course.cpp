// SPDX-License-Identifier: MIT
#include "network/fabric/link_course.h"

#include <algorithm>
#include <iterator>

#include "core/hash.h"

namespace orrery::network {
namespace {

Efficiency share_at(const std::vector<BandwidthStep>& steps, Time time) {
  const auto after = std::ranges::upper_bound(steps, time, {}, &BandwidthStep::time);
  return after == steps.begin() ? kFullEfficiency : std::prev(after)->share;
}

}  // namespace

Efficiency BackgroundTraffic::left(Time time) const {
  const auto number = static_cast<std::uint64_t>(time.time_since_epoch() / period);
  const auto choices = static_cast<std::uint64_t>(most - least + 1);
  const auto taken = least + static_cast<std::int64_t>(hash_of({stream, number}) % choices);
  return Efficiency(kFullEfficiency.count() - taken);
}

Time BackgroundTraffic::next_change(Time after) const {
  const Duration since = after.time_since_epoch();
  const Duration until_next = period - since % period;
  if (until_next > Duration::max() - since) return Time::max();
  return after + until_next;
}

Bandwidth LinkCourse::bandwidth_at(Bandwidth whole, Time time) const {
  Bandwidth bandwidth = whole;
  for (const auto& list : steps) bandwidth = bandwidth * share_at(list, time);
  for (const BackgroundTraffic& others : traffic) bandwidth = bandwidth * others.left(time);
  return bandwidth;
}

Time LinkCourse::next_change(Time time) const {
  Time next = Time::max();
  for (const auto& list : steps) {
    const auto after = std::ranges::upper_bound(list, time, {}, &BandwidthStep::time);
    if (after != list.end()) next = std::min(next, after->time);
  }
  for (const BackgroundTraffic& others : traffic) next = std::min(next, others.next_change(time));
  return next;
}

}  // namespace orrery::network
