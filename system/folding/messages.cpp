// SPDX-License-Identifier: MIT
#include "system/folding/messages.h"

#include <algorithm>

#include "core/assert.h"

namespace orrery::system {
namespace {

template <class Share>
bool has_changed_link(const std::vector<Share>& shares, const Symmetry& symmetry) {
  return std::ranges::any_of(shares, [&](const Share& s) { return symmetry.has_changed(*symmetry.colour(s.link)); });
}

}  // namespace

bool has_changed(const MessageClass& message, const Symmetry& symmetry) {
  return symmetry.has_changed(symmetry.colour_of(message.one)) || has_changed_link(message.shares, symmetry);
}

bool has_changed(const LineClass& line, const Symmetry& symmetry) {
  return symmetry.has_changed(symmetry.colour_of(line.one)) || has_changed_link(line.loads, symmetry);
}

void FoldedRoutes::take(MessageClass& message, DeviceId from, DeviceId to) const {
  message.shares = folded(symmetry_.route_of(from, to), message.count);
  message.latency = symmetry_.latency_of(from, to);
  message.path = network_.class_path(message.shares, message.latency);
}

void FoldedRoutes::take(LineClass& line, const LineTraffic& traffic) const {
  line.loads = folded(traffic.loads, line.count);
  line.path = network_.group_path(line.loads, traffic.latency);
}

// `count` messages or groups that each take `shares`, of as many links as there are copies, spread evenly over the
// links of every class that they cross.
template <class Share>
std::vector<Share> FoldedRoutes::folded(std::vector<Share> shares, std::uint64_t count) const {
  for (Share& share : shares) share.link = actors_.acting(share.link);
  std::ranges::sort(shares);
  std::vector<Share> result;
  for (auto first = shares.begin(); first != shares.end();) {
    std::uint64_t links = 0;  // of one message
    auto last = first;
    const auto is_like_first = [&](Share share) {
      share.copies = first->copies;
      return share == *first;
    };
    for (; last != shares.end() && is_like_first(*last); ++last) links += last->copies;
    const std::uint32_t in_class = symmetry_.class_size(*symmetry_.colour(first->link));
    ORRERY_ASSERT(count * links % in_class == 0);
    const std::uint64_t copies = count * links / in_class;
    ORRERY_ASSERT(copies <= UINT32_MAX);
    result.push_back(*first);
    result.back().copies = static_cast<std::uint32_t>(copies);
    first = last;
  }
  return result;
}

}  // namespace orrery::system
