// SPDX-License-Identifier: MIT
// Edits that break the circles in which ranks wait for one another.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "workload/matching/matching.h"
#include "workload/matching/mending.h"
#include "workload/matching/trials.h"

namespace orrery::workload {
namespace {

// Dependencies without which `node` does not wait for `before` any more: each of them alone, on one path.
std::vector<std::pair<NodeId, NodeId>> cuts(const ExecutionGraph& graph, NodeId before, NodeId node) {
  constexpr NodeId kNone{UINT32_MAX};
  std::vector<NodeId> from(graph.size(), kNone);
  std::vector<NodeId> left{before};
  for (std::size_t i = 0; i < left.size() && from[index_of(node)] == kNone; ++i)
    for (const NodeId after : graph.successors(left[i]))
      if (from[index_of(after)] == kNone) {
        from[index_of(after)] = left[i];
        left.push_back(after);
      }
  constexpr std::size_t kMost = 8;
  std::vector<std::pair<NodeId, NodeId>> cuts;
  for (NodeId at = node; at != before && cuts.size() < kMost; at = from[index_of(at)])
    if (const std::pair edge(from[index_of(at)], at); !depends(graph, before, node, edge)) cuts.push_back(edge);
  return cuts;
}

// Nodes that some wait for, by rank.
std::map<RankId, std::set<NodeId>> awaited(const Order& order) {
  std::map<RankId, std::set<NodeId>> nodes;
  std::set<Wait> asked;  // calls, by the first member that is missing
  for (const RankId rank : order.unfinished())
    for (const NodeId node : order.waits(rank)) {
      const std::vector<Wait> missing = order.missing({rank, node});
      if (!asked.insert(missing.front()).second) continue;
      for (const Wait& wait : missing) nodes[wait.rank].insert(wait.node);
    }
  return nodes;
}

// The few nodes of communication that come last before the node.
std::vector<NodeId> communication_before(const ExecutionGraph& graph, NodeId node) {
  constexpr std::size_t kReach = 6;
  std::vector<NodeId> nodes;
  for (const NodeId before : graph.order()) {
    if (before == node) break;
    if (is_communication(graph.kind(before))) nodes.push_back(before);
  }
  if (nodes.size() > kReach) nodes.erase(nodes.begin(), nodes.end() - kReach);
  std::ranges::reverse(nodes);
  return nodes;
}

void add_swap(const Job& job, RankId rank, NodeId node, NodeId other, std::vector<Edit>& swaps) {
  const Edit swap{Edit::Kind::kSwap, rank, node, other, {}};
  if (operation_of(job, rank, node) == operation_of(job, rank, other)) return;
  if (std::ranges::find(swaps, swap) == swaps.end()) swaps.push_back(swap);
}

// Edits of one rank each that let a wait of the circle end otherwise: first other orders of calls, or of messages that
// progress together.
std::vector<Edit> edits_of(const Order& order, std::span<const Hop> circle) {
  constexpr std::size_t kHops = 64, kHopsOfEarlier = 8, kAwaited = 8;
  const Job& job = order.job();
  const std::map<RankId, std::set<NodeId>> awaited_nodes = awaited(order);
  std::vector<Edit> swaps, unlinks;
  bool has_calls = false;
  for (std::size_t i = 0; i < std::min(kHops, circle.size()); ++i) {
    const auto& [rank, blocked] = circle[i].blocked;
    const NodeId before = circle[(i + 1) % circle.size()].wait.node;
    const ExecutionGraph& graph = job.graph(rank);
    has_calls = has_calls || graph.kind(before) == NodeKind::kCollective;
    for (const auto& [first, second] : cuts(graph, before, blocked))
      unlinks.push_back({Edit::Kind::kUnlink, rank, second, first, {}});
    std::vector<NodeId> later{blocked};
    for (const NodeId node : awaited_nodes.at(rank))
      if (node != blocked && later.size() < kAwaited && depends(graph, before, node)) later.push_back(node);
    for (const NodeId node : later) add_swap(job, rank, before, node, swaps);
    if (i >= kHopsOfEarlier) continue;
    for (const NodeId node : later)
      for (const NodeId earlier : communication_before(graph, node)) add_swap(job, rank, earlier, node, swaps);
  }
  std::vector<Edit> all = has_calls ? swaps : unlinks;
  const std::vector<Edit>& others = has_calls ? unlinks : swaps;
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

class OrderMender {
 public:
  OrderMender(const Order& order, const SendWaits& send_waits)
      : job_(order.job()), send_waits_(send_waits), trials_(job_, send_waits), left_(order.left()) {}

  std::vector<Mending> mend(const Order& order) {
    constexpr std::size_t kRounds = 4;
    for (std::size_t round = 0; round < kRounds; ++round) {
      if (std::vector<Mending> mendings = round == 0 ? finish(order) : finish_with_done(); !mendings.empty())
        return mendings;
      if (!best_) return {};
      done_.push_back(*best_);
      best_.reset();
    }
    return {};
  }

 private:
  // Mendings of one edit more, or none; then the one that leaves the fewest nodes is noted.
  std::vector<Mending> finish(const Order& order) {
    std::vector<Mending> mendings;
    for (const Edit& edit : edits_of(order, find_circle(order))) {
      if (!trials_.may_try() || touches_done(edit)) continue;
      std::vector<Edit> edits = done_;
      edits.push_back(edit);
      const std::optional<std::size_t> left = trials_.left_with(edits);
      if (left == std::size_t{0}) {
        mendings.push_back(*trials_.mending(edits));
      } else if (left && *left < left_) {
        left_ = *left;
        best_ = edit;
      }
    }
    std::ranges::stable_sort(mendings, std::greater(), &Mending::alike);
    if (mendings.size() > kMendings) mendings.resize(kMendings);
    return mendings;
  }

  // Edits that name a node twice would not compose.
  bool touches_done(const Edit& edit) const {
    return std::ranges::any_of(done_, [&](const Edit& done) {
      return done.rank == edit.rank &&
             (done.node == edit.node || done.node == edit.other || done.other == edit.node || done.other == edit.other);
    });
  }

  std::vector<Mending> finish_with_done() {
    const Job changed = edited(job_, done_);
    const std::optional<Matching> matching = try_match(changed);
    return finish(Order(changed, *matching, send_waits_));
  }

  const Job& job_;
  const SendWaits& send_waits_;
  Trials trials_;
  std::vector<Edit> done_;
  std::optional<Edit> best_;
  std::size_t left_ = 0;
};

}  // namespace

std::vector<Mending> mend_order(const Order& order, const SendWaits& send_waits) {
  return OrderMender(order, send_waits).mend(order);
}

}  // namespace orrery::workload
