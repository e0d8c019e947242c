// SPDX-License-Identifier: MIT
#include "system/tape/link_bookings.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace orrery::system {

void LinkBookings::add(std::uint32_t user, std::uint32_t owner, bool is_serial, std::span<const LinkId> links) {
  for (const LinkId link : links) crossings_.push_back({link, owner, user, is_serial});
}

// A link that one owner crosses matters only if that has messages which may meet one another, on no other link.
void LinkBookings::close(std::uint32_t users) {
  std::ranges::sort(crossings_);
  std::map<std::vector<std::uint32_t>, std::uint32_t> lane_of_owners;
  std::set<std::pair<std::uint32_t, std::uint32_t>> shared, own;  // user and lane
  for (auto first = crossings_.begin(); first != crossings_.end();) {
    const auto last = std::find_if(first, crossings_.end(), [&](const Crossing& of) { return of.link != first->link; });
    std::vector<std::uint32_t> owners;
    for (auto of = first; of != last; ++of)
      if (owners.empty() || owners.back() != of->owner) owners.push_back(of->owner);
    const bool is_shared = owners.size() > 1;
    const bool has_sends = std::any_of(first, last, [](const Crossing& of) { return !of.is_serial; });
    if (is_shared || has_sends) {
      const auto [lane, is_new] =
          lane_of_owners.try_emplace(std::move(owners), static_cast<std::uint32_t>(lane_of_owners.size()));
      if (is_new) lanes_.emplace_back().has_sends = has_sends;
      for (auto of = first; of != last; ++of) (is_shared ? shared : own).emplace(of->user, lane->second);
    }
    first = last;
  }
  for (std::uint32_t user = 0; user < users; ++user) {
    const auto add_lanes = [&](const auto& lanes) {
      for (auto of = lanes.lower_bound({user, 0}); of != lanes.end() && of->first == user; ++of)
        lane_of_.push_back(of->second);
    };
    add_lanes(shared);
    if (lane_of_.size() == first_lane_.back()) add_lanes(own);
    first_lane_.push_back(static_cast<std::uint32_t>(lane_of_.size()));
  }
  std::vector<Crossing>().swap(crossings_);
}

bool LinkBookings::may_meet_sends(std::uint32_t user) const {
  return std::ranges::any_of(std::span(lane_of_).subspan(first_lane_[user], first_lane_[user + 1] - first_lane_[user]),
                             [&](std::uint32_t lane) { return lanes_[lane].has_sends; });
}

void LinkBookings::meet(const Booking& one, const Booking& other) {
  conflicts_.push_back(one.message);
  conflicts_.push_back(other.message);
}

void LinkBookings::book(std::uint32_t user, Time begin, Time end, Message message, bool by_network) {
  constexpr std::size_t kKept = 64;
  if (begin == end) return;
  const Booking booking{begin, end, message};
  for (std::uint32_t i = first_lane_[user]; i < first_lane_[user + 1]; ++i) {
    Lane& lane = lanes_[lane_of_[i]];
    has_lost_track_ = has_lost_track_ || begin < lane.forgotten;
    auto behind = lane.alone.end();
    while (behind != lane.alone.begin() && std::prev(behind)->begin >= end) --behind;
    bool is_free = true;
    for (auto other = behind; other != lane.alone.begin() && std::prev(other)->end > begin; --other) {
      meet(booking, *std::prev(other));
      is_free = false;
    }
    if (by_network) {
      lane.released = std::max(lane.released, end);
      continue;
    }
    has_lost_track_ = has_lost_track_ || begin < lane.released;
    if (!is_free) continue;
    lane.alone.insert(behind, booking);
    if (lane.alone.size() < 2 * kKept) continue;
    lane.forgotten = lane.alone[kKept - 1].end;
    lane.alone.erase(lane.alone.begin(), lane.alone.begin() + kKept);
  }
}

}  // namespace orrery::system
