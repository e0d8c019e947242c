// SPDX-License-Identifier: MIT
#include "network/fabric/measures.h"

#include <algorithm>
#include <map>
#include <vector>

#include "network/fabric/summary.h"

namespace orrery::network {
namespace {

// The largest flow between two vertices, by Dinic's algorithm: augmenting ways of the fewest edges, all of one length
// at a time.
class MaximumFlow {
 public:
  explicit MaximumFlow(std::size_t vertices) : edges_of_(vertices) {}

  void add(std::size_t from, std::size_t to, Int128 capacity) {
    edges_of_[from].push_back(edges_.size());
    edges_.push_back({to, capacity});
    edges_of_[to].push_back(edges_.size());
    edges_.push_back({from, 0});
  }

  Int128 between(std::size_t from, std::size_t to) {
    Int128 total = 0;
    while (find_distances(from, to)) {
      next_.assign(edges_of_.size(), 0);
      while (const Int128 flow = augment(from, to)) total += flow;
    }
    return total;
  }

 private:
  struct Edge {
    std::size_t to = 0;
    Int128 left = 0;
  };
  static constexpr std::size_t kFar = SIZE_MAX;

  bool find_distances(std::size_t from, std::size_t to) {
    distance_.assign(edges_of_.size(), kFar);
    distance_[from] = 0;
    std::vector<std::size_t> order = {from};
    for (std::size_t i = 0; i < order.size(); ++i)
      for (const std::size_t edge : edges_of_[order[i]]) {
        if (edges_[edge].left == 0 || distance_[edges_[edge].to] != kFar) continue;
        distance_[edges_[edge].to] = distance_[order[i]] + 1;
        order.push_back(edges_[edge].to);
      }
    return distance_[to] != kFar;
  }

  // One way more; 0 if there is none of this length. Without recursion: ways may be long.
  Int128 augment(std::size_t from, std::size_t to) {
    std::vector<std::size_t> way;
    for (std::size_t at = from; at != to;) {
      std::size_t& next = next_[at];
      while (next < edges_of_[at].size() && !leads_on(at, edges_of_[at][next])) ++next;
      if (next < edges_of_[at].size()) {
        way.push_back(edges_of_[at][next]);
        at = edges_[way.back()].to;
        continue;
      }
      if (way.empty()) return 0;
      at = edges_[way.back() ^ 1].to;
      way.pop_back();
      ++next_[at];
    }
    Int128 least = edges_[way.front()].left;
    for (const std::size_t edge : way) least = std::min(least, edges_[edge].left);
    for (const std::size_t edge : way) {
      edges_[edge].left -= least;
      edges_[edge ^ 1].left += least;
    }
    return least;
  }

  bool leads_on(std::size_t at, std::size_t edge) const {
    return edges_[edge].left > 0 && distance_[edges_[edge].to] == distance_[at] + 1;
  }

  std::vector<Edge> edges_;  // each followed by the one back
  std::vector<std::vector<std::size_t>> edges_of_;
  std::vector<std::size_t> distance_;
  std::vector<std::size_t> next_;  // of a vertex's edges: those before it lead nowhere
};

// Devices with less than half of the coordinates along an axis are on its near side.
struct Cut {
  std::uint32_t size = 1;
  std::uint32_t stride = 1;

  bool is_near(std::uint32_t device) const { return device / stride % size < size / 2; }
};

std::vector<Cut> cuts_of(const Fabric& fabric) {
  std::vector<Cut> cuts;
  std::uint32_t stride = 1;
  const auto add = [&](std::uint32_t size) {
    if (size > 1) cuts.push_back({size, stride});
    stride *= size;
  };
  for (const LogicalDimension& dimension : fabric.dimensions()) {
    if (fabric.is_of_nodes()) cuts.clear();  // the last dimension joins them
    if (dimension.axes.empty()) add(dimension.size);
    for (const GridAxis& axis : dimension.axes) add(axis.size);
  }
  return cuts;
}

// Links that begin and end at a vertex carry all that passes there: so it is two, one for what comes and one for what
// goes.
Bandwidth across(const Fabric& fabric, const Cut& cut) {
  constexpr Int128 kUnlimited = Int128{1} << 100;
  std::map<VertexId, Int128> passing;
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i) {
    const LinkEnds ends = fabric.ends(LinkId(i));
    if (ends.from != ends.to) continue;
    Int128& least = passing.try_emplace(ends.from, kUnlimited).first->second;
    least = std::min<Int128>(least, fabric.link(LinkId(i)).bandwidth.count());
  }
  const std::size_t vertices = fabric.vertex_count();
  const std::size_t source = 2 * vertices, sink = source + 1;
  MaximumFlow flow(sink + 1);
  for (std::uint32_t vertex = 0; vertex < vertices; ++vertex) {
    const auto least = passing.find(VertexId(vertex));
    flow.add(vertex, vertices + vertex, least == passing.end() ? kUnlimited : least->second);
  }
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i) {
    const LinkEnds ends = fabric.ends(LinkId(i));
    if (ends.from != ends.to)
      flow.add(vertices + static_cast<std::size_t>(ends.from), static_cast<std::size_t>(ends.to),
               fabric.link(LinkId(i)).bandwidth.count());
  }
  for (std::uint32_t device = 0; device < fabric.device_count(); ++device) {
    if (cut.is_near(device))
      flow.add(source, device, kUnlimited);
    else
      flow.add(vertices + device, sink, kUnlimited);
  }
  const Int128 sum = flow.between(source, sink);
  return sum > Bandwidth::max().count() ? Bandwidth::max() : Bandwidth(static_cast<std::int64_t>(sum));
}

}  // namespace

std::optional<Diameter> diameter_of(const Fabric& fabric, std::uint32_t most) {
  if (fabric.device_count() > most) return std::nullopt;
  Diameter diameter;
  std::vector<LinkId> route;
  for (std::uint32_t from = 0; from < fabric.device_count(); ++from)
    for (std::uint32_t to = 0; to < fabric.device_count(); ++to) {
      fabric.route(DeviceId(from), DeviceId(to), route);
      Duration latency{};
      for (const LinkId link : route) latency = saturating_add(latency, fabric.link(link).latency);
      diameter.links = std::max(diameter.links, route.size());
      diameter.latency = std::max(diameter.latency, latency);
    }
  return diameter;
}

std::optional<Bandwidth> bisection_of(const Fabric& fabric, std::uint32_t most) {
  if (fabric.link_count() > most) return std::nullopt;
  std::optional<Bandwidth> least;
  for (const Cut& cut : cuts_of(fabric)) {
    const Bandwidth here = across(fabric, cut);
    if (!least || here < *least) least = here;
  }
  return least;
}

std::vector<KindCost> costs_of(const Fabric& fabric) {
  std::vector<KindCost> costs;
  if (fabric.prices().empty()) return costs;
  const FabricSummary summary = summarise(fabric);
  for (const KindPrice& price : fabric.prices()) {
    KindCost& cost = costs.emplace_back(KindCost{price.kind, 0, price.each});
    for (const VertexKind& kind : summary.vertices)
      if (kind.name == price.kind) cost.count += kind.count;
    for (const LinkKind& kind : summary.links)
      if (fabric.link_classes()[kind.link.link_class] == price.kind) cost.count += kind.count;
  }
  return costs;
}

}  // namespace orrery::network
