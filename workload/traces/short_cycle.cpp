// Finds a cycle short enough to be read. Cycles in traces are mostly of two to a handful of nodes, closed by a caller's
// dependency on its callee; a shortest one shows the reason best.
#include <algorithm>

#include "core/assert.h"
#include "workload/traces/dependency_check.h"

namespace orrery {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

// The edges among the nodes that no order reaches, as successor lists.
class Remainder {
 public:
  Remainder(std::size_t nodes, std::span<const Edge> edges, std::span<const NodeId> reachable)
      : remains_(nodes, true), offsets_(nodes + 1, 0), predecessor_(nodes, kNone) {
    for (const NodeId node : reachable) remains_[index_of(node)] = false;
    for (const Edge& edge : edges) {
      if (!remains_[index_of(edge.before)] || !remains_[index_of(edge.after)]) continue;
      ++offsets_[index_of(edge.before) + 1];
      successors_.push_back(edge.after);
      if (predecessor_[index_of(edge.after)] == kNone) predecessor_[index_of(edge.after)] = index_of(edge.before);
    }
    for (std::size_t i = 0; i < nodes; ++i) offsets_[i + 1] += offsets_[i];
  }

  // Some cycle: every remaining node waits for a remaining one, so walking backwards must come around.
  std::vector<NodeId> any_cycle() const {
    const auto first = std::ranges::find(remains_, true);
    ORRERY_ASSERT(first != remains_.end());
    std::uint32_t node = static_cast<std::uint32_t>(first - remains_.begin());
    std::vector<bool> visited(remains_.size(), false);
    for (; !visited[node]; node = predecessor_[node]) visited[node] = true;
    std::vector<NodeId> cycle{NodeId(node)};
    for (std::uint32_t at = predecessor_[node]; at != node; at = predecessor_[at]) cycle.push_back(NodeId(at));
    std::ranges::reverse(cycle);
    return cycle;
  }

  // The shortest cycle through `start`, which lies on one, if it has fewer than `limit` nodes; else empty.
  std::vector<NodeId> cycle_through(NodeId start, std::size_t limit) const {
    std::vector<std::uint32_t> came_from(remains_.size(), kNone);
    std::vector<NodeId> level{start};
    for (std::size_t length = 1; !level.empty() && length < limit; ++length) {
      std::vector<NodeId> next_level;
      for (const NodeId node : level) {
        for (const NodeId next : successors(node)) {
          if (next == start) return path(start, node, came_from);
          if (came_from[index_of(next)] != kNone) continue;
          came_from[index_of(next)] = index_of(node);
          next_level.push_back(next);
        }
      }
      level = std::move(next_level);
    }
    return {};
  }

 private:
  std::span<const NodeId> successors(NodeId node) const {
    const std::uint32_t begin = offsets_[index_of(node)];
    return std::span(successors_).subspan(begin, offsets_[index_of(node) + 1] - begin);
  }

  static std::vector<NodeId> path(NodeId start, NodeId end, const std::vector<std::uint32_t>& came_from) {
    std::vector<NodeId> nodes;
    for (NodeId node = end; node != start; node = NodeId(came_from[index_of(node)])) nodes.push_back(node);
    nodes.push_back(start);
    std::ranges::reverse(nodes);
    return nodes;
  }

  std::vector<bool> remains_;
  std::vector<std::uint32_t> offsets_;
  std::vector<NodeId> successors_;
  std::vector<std::uint32_t> predecessor_;  // the smallest remaining one
};

}  // namespace

std::vector<NodeId> short_cycle(std::size_t nodes, std::span<const Edge> edges, std::span<const NodeId> reachable) {
  for (const Edge& edge : edges)
    if (std::ranges::binary_search(edges, Edge{edge.after, edge.before})) return {edge.before, edge.after};

  constexpr std::size_t kStartsTried = 64;
  const Remainder remainder(nodes, edges, reachable);
  std::vector<NodeId> best = remainder.any_cycle();
  const std::vector<NodeId> starts = best;
  for (std::size_t i = 0; i < std::min(starts.size(), kStartsTried); ++i) {
    std::vector<NodeId> shorter = remainder.cycle_through(starts[i], best.size());
    if (!shorter.empty()) best = std::move(shorter);
  }
  std::rotate(best.begin(), std::ranges::min_element(best), best.end());
  return best;
}

}  // namespace orrery
