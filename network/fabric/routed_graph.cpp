// SPDX-License-Identifier: MIT
#include "network/fabric/routed_graph.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "core/hash.h"

namespace orrery::network {

std::vector<std::string> routing_names() { return {"spray", "deterministic", "ecmp"}; }

std::uint32_t RouteChoices::take(std::uint32_t ways) {
  const auto choice = static_cast<std::uint32_t>(digits_ % ways);
  digits_ = hashed_ ? mixed(digits_) : digits_ / ways;
  return choice;
}

RouteChoices Routing::choices(const Endpoints& ends, std::uint32_t destination) const {
  if (kind != RoutingKind::kEcmp) return {destination, false};
  return {mixed(mixed(std::uint64_t{ends.from} << 32 | ends.to) ^ mixed(seed)), true};
}

// Breadth first backwards from the target; then, in that order, each vertex takes the widest of its shortest ways. The
// widest way over a neighbour is as wide as the narrower of the link there and the neighbour's own widest way.
template <class PassesOn>
RoutedGraph::Way RoutedGraph::search(std::uint32_t target, bool devices_only, const PassesOn& passes_on) const {
  Way way(spec_.vertex_count());
  way[target] = {0, kNone, Bandwidth::max()};
  std::vector<std::uint32_t> order = {target};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint32_t to = order[i];
    if (to != target && !passes_on(to)) continue;
    for (const std::uint32_t link : into_[to]) {
      const std::uint32_t from = spec_.links[link].from;
      if (way[from].hops != kNone || (devices_only && from >= spec_.devices)) continue;
      way[from].hops = way[to].hops + 1;
      order.push_back(from);
    }
  }
  for (const std::uint32_t from : order) {
    for (const std::uint32_t i : from_[from]) {
      const GraphLink& link = spec_.links[i];
      const bool shortest = way[link.to].hops != kNone && way[link.to].hops + 1 == way[from].hops;
      if (!shortest || (link.to != target && !passes_on(link.to))) continue;
      const Bandwidth width = std::min(link.rate(), way[link.to].width);
      if (width <= way[from].width) continue;
      way[from].width = width;
      way[from].next = i;
    }
  }
  return way;
}

RoutedGraph::RoutedGraph(GraphSpec spec) : spec_(std::move(spec)) {
  const std::uint32_t vertices = spec_.vertex_count();
  const std::uint32_t members = spec_.members();
  ORRERY_ASSERT(vertices <= kMostGraphVertices && members <= vertices && spec_.links.size() <= kMostGraphLinks);
  into_.resize(vertices);
  from_.resize(vertices);
  for (std::uint32_t i = 0; i < spec_.links.size(); ++i) {
    into_.at(spec_.links[i].to).push_back(i);
    from_.at(spec_.links[i].from).push_back(i);
    first_single_.push_back(first_single_.back() + spec_.links[i].count);
  }
  for (std::vector<std::uint32_t>& links : from_)
    std::ranges::stable_sort(links, {}, [&](std::uint32_t link) { return spec_.links[link].to; });
  over_devices_.resize(std::size_t{vertices} * members);
  over_switches_.resize(std::size_t{vertices} * members);
  on_devices_.assign(std::size_t{members} * members, false);
  const auto is_device = [&](std::uint32_t vertex) { return vertex < spec_.devices; };
  const auto is_switch = [&](std::uint32_t vertex) { return vertex >= members; };
  for (std::uint32_t target = 0; target < members; ++target) {
    const Way switches = search(target, false, is_switch);
    const Way devices = is_device(target) ? search(target, true, is_device) : Way(vertices);
    for (std::uint32_t vertex = 0; vertex < vertices; ++vertex) {
      over_switches_[pair(vertex, target)] = switches[vertex];
      over_devices_[pair(vertex, target)] = devices[vertex];
      if (is_switch(vertex)) continue;
      on_devices_[pair(vertex, target)] =
          is_device(target) &&
          (devices[vertex].hops < switches[vertex].hops ||
           (devices[vertex].hops == switches[vertex].hops && devices[vertex].width >= switches[vertex].width));
    }
  }
}

std::optional<RoutedGraph::Pair> RoutedGraph::unreachable(std::uint32_t rails) const {
  for (std::uint32_t from = 0; from < spec_.members(); ++from) {
    for (std::uint32_t to = 0; to < spec_.members(); ++to) {
      const bool both_nics = from >= spec_.devices && to >= spec_.devices;
      if (from == to || (both_nics && (spec_.devices > 0 || from % rails != to % rails))) continue;
      if (hops(from, to) == kNone) return Pair{from, to};
    }
  }
  return std::nullopt;
}

std::uint32_t RoutedGraph::hops(std::uint32_t from, std::uint32_t to) const {
  return hops_of(from, to)[pair(from, to)].hops;
}

std::uint32_t RoutedGraph::trunk_of(std::uint32_t single) const {
  const auto after = std::ranges::upper_bound(first_single_, single);
  return static_cast<std::uint32_t>(after - first_single_.begin()) - 1;
}

// Picks one of the equally good links that search() found at a vertex on the way.
std::uint32_t RoutedGraph::choose(std::uint32_t from, std::uint32_t at, std::uint32_t to, RouteChoices& choices) const {
  const std::vector<Hop>& hops = hops_of(from, to);
  const bool over_devices = on_devices_[pair(from, to)];
  const Hop& best = hops[pair(at, to)];
  const auto is_best = [&](const GraphLink& link) {
    const Hop& rest = hops[pair(link.to, to)];
    const bool passes_on = link.to == to || (over_devices ? link.to < spec_.devices : link.to >= spec_.members());
    return passes_on && rest.hops != kNone && rest.hops + 1 == best.hops &&
           std::min(link.rate(), rest.width) == best.width;
  };
  std::uint32_t ways = 0;
  for (const std::uint32_t link : from_[at])
    if (is_best(spec_.links[link])) ways += spec_.links[link].count;
  std::uint32_t left = choices.take(ways);
  for (const std::uint32_t link : from_[at]) {
    if (!is_best(spec_.links[link])) continue;
    if (left < spec_.links[link].count) return first_single_[link] + left;
    left -= spec_.links[link].count;
  }
  ORRERY_ASSERT(false);
}

}  // namespace orrery::network
