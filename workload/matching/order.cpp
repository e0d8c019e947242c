// SPDX-License-Identifier: MIT
#include "workload/matching/order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace orrery::workload {
namespace {

// Computations that the host launches when it has waited for this node and all before it, and before it waits for the
// next one.
std::vector<NodeId> launched_behind(const ExecutionGraph& graph, NodeId synchronisation) {
  const auto next = std::ranges::upper_bound(graph.synchronisations(), synchronisation);
  const std::uint32_t end =
      next == graph.synchronisations().end() ? static_cast<std::uint32_t>(graph.size()) : index_of(*next) + 1;
  std::vector<NodeId> nodes;
  for (std::uint32_t i = index_of(synchronisation) + 1; i < end; ++i)
    if (graph.kind(NodeId(i)) == NodeKind::kCompute) nodes.push_back(NodeId(i));
  return nodes;
}

}  // namespace

Order::Order(const Job& job, const Matching& matching, const SendWaits& send_waits)
    : job_(job), matching_(matching), passed_(job.ranks.size()) {
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    const ExecutionGraph& graph = job.graph(RankId(rank));
    first_.push_back(left_);
    left_ += graph.size();
    for (std::uint32_t i = 0; i < graph.size(); ++i) waiting_.push_back(graph.predecessor_count(NodeId(i)));
    for (const NodeId synchronisation : graph.synchronisations())
      for (const NodeId node : launched_behind(graph, synchronisation)) ++waiting_[place({RankId(rank), node})];
  }
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank)
    for (std::uint32_t i = 0; i < job.graph(RankId(rank)).size(); ++i)
      if (waiting_[first_[rank] + i] == 0) ready_.push_back({RankId(rank), NodeId(i)});
  while (!ready_.empty()) {
    const Wait at = ready_.back();
    ready_.pop_back();
    if (!is_done(at)) come(at, send_waits);  // its other end may have come first
  }
}

void Order::come(const Wait& at, const SendWaits& send_waits) {
  const NodeKind kind = job_.graph(at.rank).kind(at.node);
  if (kind == NodeKind::kCollective) return come_to_call(at);
  if (is_transfer(kind)) return come_to_transfer(at, send_waits);
  finish(at);
}

void Order::come_to_call(const Wait& at) {
  const GroupId group = job_.communicator(at.rank, at.node);
  const std::uint32_t call = job_.graph(at.rank).call_index(at.node);
  const Members& members = job_.communicators[index_of(group)].members;
  const auto arrived = arrived_.try_emplace(std::uint64_t{index_of(group)} << 32 | call, 0).first;
  if (++arrived->second < members.size()) return;
  arrived_.erase(arrived);
  for (const RankId member : members) finish({member, call_of(member, group, call)});
}

void Order::come_to_transfer(const Wait& at, const SendWaits& send_waits) {
  const ExecutionGraph& graph = job_.graph(at.rank);
  const TransferEnd end = matching_.end(at.rank, graph.transfer_index(at.node));
  const Wait other{end.rank, end.node};
  if (has_come(other)) {
    if (!is_done(other)) finish(other);
    return finish(at);
  }
  const bool is_send = graph.kind(at.node) == NodeKind::kSend;
  if (is_send && !(send_waits && send_waits(at.rank, end.rank, graph.bytes(at.node)))) finish(at);
}

void Order::finish(const Wait& at) {
  waiting_[place(at)] = kDone;
  --left_;
  const ExecutionGraph& graph = job_.graph(at.rank);
  const auto release = [&](NodeId after) {
    if (--waiting_[place({at.rank, after})] == 0) ready_.push_back({at.rank, after});
  };
  for (const NodeId after : graph.successors(at.node)) release(after);
  // The host waits for one after the other, in the order of its program.
  std::uint32_t& passed = passed_[index_of(at.rank)];
  const std::span<const NodeId> synchronisations = graph.synchronisations();
  for (; passed < synchronisations.size() && is_done({at.rank, synchronisations[passed]}); ++passed)
    for (const NodeId after : launched_behind(graph, synchronisations[passed])) release(after);
}

NodeId Order::call_of(RankId member, GroupId group, std::uint32_t call) const {
  return job_.graph(member).calls(job_.ranks.slot_of(index_of(member), group))[call];
}

std::vector<RankId> Order::unfinished() const {
  std::vector<RankId> ranks;
  for (std::uint32_t rank = 0; rank < first_.size(); ++rank) {
    const auto begin = waiting_.begin() + static_cast<std::ptrdiff_t>(first_[rank]);
    const auto end = begin + static_cast<std::ptrdiff_t>(job_.graph(RankId(rank)).size());
    if (std::any_of(begin, end, [](std::uint32_t waiting) { return waiting != kDone; })) ranks.push_back(RankId(rank));
  }
  return ranks;
}

std::vector<NodeId> Order::waits(RankId rank) const {
  std::vector<NodeId> waits;
  for (const NodeId node : job_.graph(rank).order())
    if (waiting_[place({rank, node})] == 0) waits.push_back(node);
  return waits;
}

std::vector<Wait> Order::missing(const Wait& wait) const {
  const ExecutionGraph& graph = job_.graph(wait.rank);
  if (graph.kind(wait.node) != NodeKind::kCollective) {
    const TransferEnd end = matching_.end(wait.rank, graph.transfer_index(wait.node));
    return {{end.rank, end.node}};
  }
  const GroupId group = job_.communicator(wait.rank, wait.node);
  std::vector<Wait> missing;
  for (const RankId member : job_.communicators[index_of(group)].members) {
    const Wait at{member, call_of(member, group, graph.call_index(wait.node))};
    if (!has_come(at)) missing.push_back(at);
  }
  return missing;
}

bool depends(const ExecutionGraph& graph, NodeId before, NodeId node, std::pair<NodeId, NodeId> but) {
  std::vector<bool> seen(graph.size());
  std::vector<NodeId> left{before};
  while (!left.empty()) {
    const NodeId at = left.back();
    left.pop_back();
    for (const NodeId after : graph.successors(at)) {
      if (seen[index_of(after)] || std::pair(at, after) == but) continue;
      if (after == node) return true;
      seen[index_of(after)] = true;
      left.push_back(after);
    }
  }
  return false;
}

namespace {

class CircleSearch {
 public:
  explicit CircleSearch(const Order& order) : order_(order) {}

  // A shortest circle through `start`, of fewer hops than `most`; empty if there is none.
  std::vector<Hop> through(const Wait& start, std::size_t most) {
    struct Visit {
      Wait wait;
      std::size_t from = 0;  // visit that led here
      Wait blocked;          // node that the wait before waits for
      std::size_t hops = 0;
    };
    std::vector<Visit> visits{{start, 0, {}, 0}};
    std::set<Wait> seen;
    std::set<Wait> asked;  // calls, by the first member that is missing: all who are there wait for the same
    for (std::size_t i = 0; i < visits.size(); ++i) {
      if (visits[i].hops + 1 >= most) return {};
      const std::vector<Wait> missing = order_.missing(visits[i].wait);
      if (missing.empty() || (missing.size() > 1 && !asked.insert(missing.front()).second)) continue;
      for (const Wait& blocked : missing)
        for (const Wait& next : blockers(blocked)) {
          if (next == start) {
            std::vector<Hop> circle{{visits[i].wait, blocked}};
            for (std::size_t at = i; at > 0; at = visits[at].from)
              circle.push_back({visits[visits[at].from].wait, visits[at].blocked});
            std::ranges::reverse(circle);
            return circle;
          }
          if (seen.insert(next).second) visits.push_back({next, i, blocked, visits[i].hops + 1});
        }
    }
    return {};
  }

  // Waits of the node's rank that it comes after.
  const std::vector<Wait>& blockers(const Wait& blocked) {
    const auto [known, is_new] = blockers_.try_emplace(blocked);
    if (!is_new) return known->second;
    for (const NodeId node : order_.waits(blocked.rank)) {
      const std::uint32_t graph = order_.job().ranks.graph(index_of(blocked.rank));
      const auto [way, is_unknown] = ways_.try_emplace({graph, node, blocked.node});
      if (is_unknown) way->second = depends(order_.job().graphs[graph], node, blocked.node);
      if (way->second) known->second.push_back({blocked.rank, node});
    }
    return known->second;
  }

 private:
  const Order& order_;
  std::map<Wait, std::vector<Wait>> blockers_;
  std::map<std::tuple<std::uint32_t, NodeId, NodeId>, bool> ways_;
};

}  // namespace

std::vector<Hop> find_circle(const Order& order) {
  const std::vector<RankId> unfinished = order.unfinished();
  if (unfinished.empty()) return {};
  const std::vector<NodeId> waits = order.waits(unfinished.front());
  if (waits.empty()) return {};
  CircleSearch search(order);
  // From wait to wait until one comes again: it is on a circle, though not always on a short one.
  std::vector<Hop> path;
  std::map<Wait, std::size_t> at;
  Wait wait{unfinished.front(), waits.front()};
  while (at.try_emplace(wait, path.size()).second) {
    // The rank may wait for one that is left behind for another reason: any of those that have not come will do.
    const Wait blocked = order.missing(wait).front();
    path.push_back({wait, blocked});
    if (search.blockers(blocked).empty()) return {};
    wait = search.blockers(blocked).front();
  }
  std::vector<Hop> best(path.begin() + static_cast<std::ptrdiff_t>(at[wait]), path.end());
  constexpr std::size_t kStarts = 32;
  const std::vector<Hop> starts = best;
  for (std::size_t i = 0; i < std::min(starts.size(), kStarts) && best.size() > 2; ++i)
    if (std::vector<Hop> shorter = search.through(starts[i].wait, best.size()); !shorter.empty())
      best = std::move(shorter);
  return best;
}

}  // namespace orrery::workload
