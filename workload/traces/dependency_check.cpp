// SPDX-License-Identifier: MIT
#include "workload/traces/dependency_check.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/assert.h"

namespace orrery::workload {
namespace {

constexpr std::uint8_t kControlBit = 1;
constexpr std::uint8_t kDataBit = 2;

bool is_chosen(const TraceDependency& dependency, std::uint8_t bits) {
  return (bits & (dependency.is_control ? kControlBit : kDataBit)) != 0;
}

std::string_view kind_of(const TraceDependency& dependency) { return dependency.is_control ? "ctrl" : "data"; }

constexpr std::uint32_t kNone = UINT32_MAX;

// The edges among the nodes that no order reaches, as successor lists.
class Remainder {
 public:
  Remainder(std::size_t nodes, std::span<const Edge> edges, std::span<const NodeId> reachable)
      : remains_(nodes, true), predecessor_(nodes, kNone), successors_(nodes, remaining(edges, reachable)) {}

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
        for (const NodeId next : successors_.of(node)) {
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
  std::vector<Edge> remaining(std::span<const Edge> edges, std::span<const NodeId> reachable) {
    for (const NodeId node : reachable) remains_[index_of(node)] = false;
    std::vector<Edge> result;
    for (const Edge& edge : edges) {
      if (!remains_[index_of(edge.before)] || !remains_[index_of(edge.after)]) continue;
      result.push_back(edge);
      if (predecessor_[index_of(edge.after)] == kNone) predecessor_[index_of(edge.after)] = index_of(edge.before);
    }
    return result;
  }

  static std::vector<NodeId> path(NodeId start, NodeId end, const std::vector<std::uint32_t>& came_from) {
    std::vector<NodeId> nodes;
    for (NodeId node = end; node != start; node = NodeId(came_from[index_of(node)])) nodes.push_back(node);
    nodes.push_back(start);
    std::ranges::reverse(nodes);
    return nodes;
  }

  std::vector<bool> remains_;
  std::vector<std::uint32_t> predecessor_;  // the smallest remaining one
  SuccessorLists successors_;
};

}  // namespace

std::optional<NodeId> find_id(const NodeLabels& labels, std::uint64_t id) {
  // Searches by hand: clang 14, which builds the fuzzers, does not take libstdc++'s views.
  std::uint32_t low = 0;
  for (auto high = static_cast<std::uint32_t>(labels.size()); low < high;) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (labels.trace_id(NodeId(middle)) < id)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == labels.size() || labels.trace_id(NodeId(low)) != id) return std::nullopt;
  return NodeId(low);
}

DependencyCheck::DependencyCheck(const NodeLabels& labels, std::vector<TraceDependency> dependencies)
    : labels_(labels), dependencies_(std::move(dependencies)) {
  resolved_.reserve(dependencies_.size());
  for (const TraceDependency& dependency : dependencies_) {
    const std::optional<NodeId> before = find_id(labels, dependency.before);
    if (!before) {
      unknown_.push_back(dependency);
    } else if (*before == dependency.node) {
      on_itself_.push_back(dependency);
    } else {
      resolved_.push_back({{*before, dependency.node}, dependency.is_control ? kControlBit : kDataBit});
    }
  }
  std::ranges::sort(resolved_, {}, &Resolved::edge);
  std::size_t kept = 0;
  for (const Resolved& next : resolved_) {
    if (kept > 0 && resolved_[kept - 1].edge == next.edge)
      resolved_[kept - 1].kinds |= next.kinds;
    else
      resolved_[kept++] = next;
  }
  resolved_.resize(kept);
}

std::uint8_t DependencyCheck::bits(Dependencies chosen) {
  switch (chosen) {
    case Dependencies::kBoth:
      return kControlBit | kDataBit;
    case Dependencies::kData:
      return kDataBit;
    case Dependencies::kCtrl:
      return kControlBit;
  }
  ORRERY_ASSERT(false);
}

std::vector<Edge> DependencyCheck::edges(Dependencies chosen) const {
  std::vector<Edge> result;
  for (const Resolved& resolved : resolved_)
    if ((resolved.kinds & bits(chosen)) != 0) result.push_back(resolved.edge);
  return result;
}

std::vector<NodeId> DependencyCheck::reachable(std::span<const Edge> edges) const {
  const SuccessorLists lists(labels_.size(), edges);
  return canonical_order(lists.offsets, lists.successors, lists.predecessor_counts);
}

DependencyProblems DependencyCheck::problems(Dependencies chosen) const {
  const std::uint8_t chosen_bits = bits(chosen);
  const auto count = [&](const std::vector<TraceDependency>& list) {
    return static_cast<std::size_t>(
        std::ranges::count_if(list, [&](const TraceDependency& d) { return is_chosen(d, chosen_bits); }));
  };
  return {count(unknown_), count(on_itself_), labels_.size() - reachable(edges(chosen)).size()};
}

void DependencyCheck::report(Dependencies chosen, TraceReader reader, Findings& findings) const {
  if (problems(chosen).none()) return;
  const std::uint8_t chosen_bits = bits(chosen);
  const std::string advice = hint(chosen, reader);
  for (const TraceDependency& d : unknown_) {
    if (!is_chosen(d, chosen_bits)) continue;
    const std::string example = fmt::format("{} on {} ({})", labels_.describe(d.node), d.before, kind_of(d));
    findings.error("dependency on an id that no node of the file has", example, advice);
  }
  for (const TraceDependency& d : on_itself_) {
    if (!is_chosen(d, chosen_bits)) continue;
    const std::string example = fmt::format("{} ({})", labels_.describe(d.node), kind_of(d));
    findings.error("dependency of a node on itself", example, advice);
  }
  const std::vector<Edge> chosen_edges = edges(chosen);
  const std::vector<NodeId> order = reachable(chosen_edges);
  if (order.size() == labels_.size()) return;
  const std::vector<NodeId> nodes = short_cycle(labels_.size(), chosen_edges, order);
  const std::string cycle = describe_cycle(nodes, chosen_bits);
  findings.error("the dependencies form a cycle",
                 fmt::format("{} ({} of {} nodes are unreachable because of cycles)", cycle,
                             labels_.size() - order.size(), labels_.size()),
                 advice.empty() ? mending(nodes, chosen_edges) : advice);
}

std::string DependencyCheck::mending(std::span<const NodeId> cycle, std::span<const Edge> edges) const {
  constexpr std::size_t kTried = 16, kNamed = 3;
  std::vector<Edge> tried;
  for (std::size_t i = 0; i < cycle.size(); ++i) tried.push_back({cycle[i], cycle[(i + 1) % cycle.size()]});
  // Ids mostly ascend with time: what waits for one much later is the likeliest to be wrong.
  std::ranges::stable_sort(tried, std::greater(), [](const Edge& edge) {
    return std::int64_t{index_of(edge.before)} - std::int64_t{index_of(edge.after)};
  });
  tried.resize(std::min(kTried, tried.size()));
  std::vector<std::string> named;
  for (const Edge& edge : tried) {
    std::vector<Edge> others;
    std::ranges::copy_if(edges, std::back_inserter(others), [&](const Edge& other) { return other != edge; });
    if (named.size() < kNamed && reachable(others).size() == labels_.size())
      named.push_back(fmt::format("of {} on {}", labels_.describe(edge.after), labels_.trace_id(edge.before)));
  }
  if (named.empty()) return {};
  return fmt::format("there is no cycle without the dependency {}", fmt::join(named, ", or "));
}

bool DependencyCheck::has_any(Dependencies chosen) const {
  return std::ranges::any_of(dependencies_, [&](const TraceDependency& d) { return is_chosen(d, bits(chosen)); });
}

std::string DependencyCheck::hint(Dependencies chosen, TraceReader reader) const {
  constexpr std::string_view kSound = "free of unknown, self and cyclic dependencies";
  std::vector<std::string> failed;
  for (const Dependencies other : {Dependencies::kData, Dependencies::kCtrl}) {
    // The trace has nothing else to order its nodes by.
    if (other == chosen || !has_any(other)) continue;
    if (problems(other).none())
      return fmt::format("`{}` dependencies alone are {}: {}", name_of(other), kSound,
                         choice_of(reader, "dependencies", name_of(other)));
    failed.push_back(fmt::format("`{}`", name_of(other)));
  }
  std::string text;
  if (failed.size() == 2)
    text = fmt::format("neither {} dependencies alone are {}", fmt::join(failed, " nor "), kSound);
  else if (failed.size() == 1 && chosen != Dependencies::kBoth)
    text = fmt::format("{} dependencies alone are not {} either", failed.front(), kSound);
  if (problems(chosen).unknown > 0)
    text += fmt::format("{}nodes are missing: the file was cut, or they were removed from it; export it again",
                        text.empty() ? "" : "; ");
  return text;
}

void DependencyCheck::report_none_chosen(Dependencies chosen, TraceReader reader, Findings& findings) const {
  if (chosen == Dependencies::kBoth || has_any(chosen)) return;
  const Dependencies other = chosen == Dependencies::kData ? Dependencies::kCtrl : Dependencies::kData;
  const std::string what = fmt::format(
      "no node waits for another: the trace has no `{}` dependencies, and its `{}` dependencies are ignored",
      name_of(chosen), name_of(other));
  const std::string advice = "choose them: " + choice_of(reader, "dependencies", name_of(other));
  for (const TraceDependency& d : dependencies_)
    findings.warning(what, fmt::format("{} on {}", labels_.describe(d.node), d.before), advice);
}

void DependencyCheck::report_ignored(Dependencies chosen, Findings& findings) const {
  if (chosen == Dependencies::kBoth) return;
  const Dependencies other = chosen == Dependencies::kData ? Dependencies::kCtrl : Dependencies::kData;
  const DependencyProblems alone = problems(other);
  const DependencyProblems both = problems(Dependencies::kBoth);
  if (alone.none() && both.none()) return;
  const auto count = [](const DependencyProblems& p) {
    return fmt::format("{} unknown, {} self, {} nodes unreachable because of cycles", p.unknown, p.on_itself,
                       p.unreachable);
  };
  findings.warning("dependencies that are not chosen have problems, which are ignored",
                   fmt::format("`{}` alone: {}; `both`: {}", name_of(other), count(alone), count(both)));
}

std::string DependencyCheck::kinds_of(Edge edge, std::uint8_t chosen_bits) const {
  const auto found = std::ranges::lower_bound(resolved_, edge, {}, &Resolved::edge);
  ORRERY_ASSERT(found != resolved_.end() && found->edge == edge);
  const int kinds = found->kinds & chosen_bits;
  if (kinds == (kControlBit | kDataBit)) return "ctrl and data";
  return kinds == kControlBit ? "ctrl" : "data";
}

std::string DependencyCheck::describe_cycle(std::span<const NodeId> cycle, std::uint8_t chosen_bits) const {
  constexpr std::size_t kNodesShown = 10;
  const auto label = [&](NodeId node) { return labels_.describe(node).substr(std::string_view("node ").size()); };
  std::string text = label(cycle[0]);
  for (std::size_t i = 1; i <= cycle.size(); ++i) {
    const bool closes = i == cycle.size();
    if (cycle.size() > kNodesShown && i == kNodesShown - 2) {
      text += fmt::format(" -> ... ({} more)", cycle.size() - kNodesShown + 1);
      i = cycle.size() - 1;
    }
    const NodeId node = closes ? cycle[0] : cycle[i];
    text += fmt::format(" -> {} ({})", closes ? std::to_string(labels_.trace_id(node)) : label(node),
                        kinds_of({cycle[i - 1], node}, chosen_bits));
  }
  return text;
}

// Cycles in traces are mostly of two to a handful of nodes, closed by a caller's dependency on its callee; a shortest
// one shows the reason best.
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

}  // namespace orrery::workload
