#include "network/routed_graph.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"

namespace orrery {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

}  // namespace

struct RoutedGraph::Way {
  std::vector<std::uint32_t> hops;  // kNone: no way
  std::vector<Bandwidth> width;     // of the narrowest link
  std::vector<std::uint32_t> next;  // link
};

// Breadth first backwards from the target; then, in that order, each vertex takes the widest of its shortest ways. The
// widest way over a neighbour is as wide as the narrower of the link there and the neighbour's own widest way.
template <class PassesOn>
RoutedGraph::Way RoutedGraph::search(std::uint32_t target, bool devices_only, const PassesOn& passes_on) const {
  const std::uint32_t vertices = spec_.vertex_count();
  Way way{std::vector(vertices, kNone), std::vector(vertices, Bandwidth(0)), std::vector(vertices, kNone)};
  way.hops[target] = 0;
  way.width[target] = Bandwidth::max();
  std::vector<std::uint32_t> order = {target};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint32_t to = order[i];
    if (to != target && !passes_on(to)) continue;
    for (const std::uint32_t link : into_[to]) {
      const std::uint32_t from = spec_.links[link].from;
      if (way.hops[from] != kNone || (devices_only && from >= spec_.devices)) continue;
      way.hops[from] = way.hops[to] + 1;
      order.push_back(from);
    }
  }
  for (const std::uint32_t from : order) {
    for (const std::uint32_t i : from_[from]) {
      const GraphLink& link = spec_.links[i];
      const bool shortest = way.hops[link.to] != kNone && way.hops[link.to] + 1 == way.hops[from];
      if (!shortest || (link.to != target && !passes_on(link.to))) continue;
      const Bandwidth width = std::min(link.bandwidth, way.width[link.to]);
      const std::uint32_t best = way.next[from];
      const bool lower = best != kNone && link.to < spec_.links[best].to;
      if (width > way.width[from] || (width == way.width[from] && lower)) {
        way.width[from] = width;
        way.next[from] = i;
      }
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
  }
  over_devices_.assign(std::size_t{vertices} * members, kNone);
  over_switches_ = over_devices_;
  on_devices_.assign(std::size_t{members} * members, false);
  hops_.assign(std::size_t{members} * members, kNone);
  const auto is_device = [&](std::uint32_t vertex) { return vertex < spec_.devices; };
  const auto is_switch = [&](std::uint32_t vertex) { return vertex >= members; };
  for (std::uint32_t target = 0; target < members; ++target) {
    const Way switches = search(target, false, is_switch);
    const Way devices = is_device(target) ? search(target, true, is_device) : Way{};
    for (std::uint32_t vertex = 0; vertex < vertices; ++vertex) {
      over_switches_[pair(vertex, target)] = switches.next[vertex];
      if (is_device(target)) over_devices_[pair(vertex, target)] = devices.next[vertex];
      if (is_switch(vertex)) continue;
      const bool better =
          is_device(target) &&
          (devices.hops[vertex] < switches.hops[vertex] ||
           (devices.hops[vertex] == switches.hops[vertex] && devices.width[vertex] >= switches.width[vertex]));
      on_devices_[pair(vertex, target)] = better;
      hops_[pair(vertex, target)] = (better ? devices : switches).hops[vertex];
    }
  }
}

std::optional<RoutedGraph::Pair> RoutedGraph::unreachable() const {
  for (std::uint32_t from = 0; from < spec_.members(); ++from) {
    for (std::uint32_t to = 0; to < spec_.members(); ++to) {
      const bool both_nics = from >= spec_.devices && to >= spec_.devices;
      if (from == to || (both_nics && spec_.devices > 0)) continue;
      if (hops(from, to) == kNone) return Pair{from, to};
    }
  }
  return std::nullopt;
}

std::uint32_t RoutedGraph::hops(std::uint32_t from, std::uint32_t to) const { return hops_[pair(from, to)]; }

}  // namespace orrery
