// SPDX-License-Identifier: MIT
#include "network/fabric/detours.h"

#include <algorithm>
#include <utility>

namespace orrery::network {

Detours::Detours(std::vector<Edge> edges, std::uint32_t vertices, std::span<const LinkId> dead, Passes passes)
    : edges_(std::move(edges)), is_dead_(edges_.size()), from_(vertices), passes_(std::move(passes)) {
  for (const LinkId link : dead) is_dead_[index_of(link)] = true;
  for (std::uint32_t link = 0; link < edges_.size(); ++link)
    if (!is_dead_[link] && edges_[link].from != edges_[link].to) from_[edges_[link].from].push_back(LinkId(link));
}

// Breadth first over links: which may follow depends on the one before.
void Detours::find(const Endpoints& ends, const Routing& routing, std::vector<LinkId>& out) const {
  constexpr std::uint32_t kNotReached = UINT32_MAX, kFirst = UINT32_MAX - 1;
  out.clear();
  std::vector<std::uint32_t> before(edges_.size(), kNotReached);
  std::vector<LinkId> order;
  RouteChoices choices = routing.choices(ends, ends.to);
  const auto go_on = [&](std::uint32_t at, std::uint32_t by, const auto& may) {
    const std::vector<LinkId>& next = from_[at];
    if (next.empty()) return;
    const std::size_t first = routing.enumerates() ? choices.take(static_cast<std::uint32_t>(next.size())) : 0;
    for (std::size_t i = 0; i < next.size(); ++i) {
      const LinkId link = next[(first + i) % next.size()];
      if (before[index_of(link)] != kNotReached || !may(link)) continue;
      before[index_of(link)] = by;
      order.push_back(link);
    }
  };
  go_on(ends.from, kFirst, [](LinkId) { return true; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    const LinkId last = order[i];
    const std::uint32_t at = edges_[index_of(last)].to;
    if (at != ends.to) {
      go_on(at, index_of(last), [&](LinkId link) { return passes_(last, link); });
      continue;
    }
    for (std::uint32_t link = index_of(last); link != kFirst; link = before[link]) out.push_back(LinkId(link));
    std::ranges::reverse(out);
    return;
  }
}

}  // namespace orrery::network
