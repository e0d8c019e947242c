// SPDX-License-Identifier: MIT
// Edits that give every message its other end.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "workload/matching/alignment.h"
#include "workload/matching/mending.h"

namespace orrery::workload {
namespace {

// One end of a message, with the ends before and after it that meet others on the same route and tag.
struct End {
  RankId rank{};
  NodeId node{};
  Operation operation;
  // Where the other end would come among those that are there.
  RankId other_rank{};
  std::optional<NodeId> behind{};
  std::optional<NodeId> before{};

  bool is_send() const { return operation.kind == NodeKind::kSend; }
};

// The same message as its other end has it.
Operation other_end(const End& end) {
  Operation operation = end.operation;
  operation.kind = end.is_send() ? NodeKind::kReceive : NodeKind::kSend;
  operation.peer = end.rank;
  return operation;
}

Edit change(const End& end, const Operation& operation) {
  return {Edit::Kind::kChange, end.rank, end.node, {}, operation};
}

class TransferMender {
 public:
  TransferMender(const Job& job, std::size_t& left) : job_(job), left_(left) {}

  std::vector<Alternatives> mend(std::span<const Route> routes) {
    for (const auto& [source, destination] : routes) compare(source, destination);
    if (lonely_.size() + all_.size() > kMostThings) return {Alternatives()};
    std::vector<bool> is_paired(lonely_.size());
    for (std::size_t i = 0; i < lonely_.size(); ++i)
      for (std::size_t j = i + 1; j < lonely_.size() && !is_paired[i]; ++j)
        if (!is_paired[j] && pair(lonely_[i], lonely_[j])) is_paired[i] = is_paired[j] = true;
    for (std::size_t i = 0; i < lonely_.size(); ++i)
      if (!is_paired[i]) leave_or_complete(lonely_[i]);
    return std::move(all_);
  }

 private:
  using Ends = std::map<std::int64_t, std::vector<NodeId>>;  // by tag, in canonical order

  Ends ends_of(RankId rank, RankId peer, NodeKind kind) const {
    Ends ends;
    const ExecutionGraph& graph = job_.graph(rank);
    for (const NodeId node : graph.order())
      if (graph.kind(node) == kind && job_.peer(rank, node) == peer) ends[job_.tag(rank, node)].push_back(node);
    return ends;
  }

  void compare(RankId source, RankId destination) {
    Ends sends = ends_of(source, destination, NodeKind::kSend);
    Ends receives = ends_of(destination, source, NodeKind::kReceive);
    std::set<std::int64_t> tags;
    for (const auto& [tag, of_tag] : sends) tags.insert(tag);
    for (const auto& [tag, of_tag] : receives) tags.insert(tag);
    for (const std::int64_t tag : tags) compare(source, sends[tag], destination, receives[tag]);
  }

  void compare(RankId source, const std::vector<NodeId>& sends, RankId destination,
               const std::vector<NodeId>& receives) {
    const auto difference = [&](std::size_t i, std::size_t j) -> std::uint32_t {
      return job_.graph(source).bytes(sends[i]) == job_.graph(destination).bytes(receives[j]) ? 0 : kDiffers;
    };
    const auto steps = alignment(sends.size(), receives.size(), difference, left_);
    if (!steps) {
      all_.emplace_back();
      return;
    }
    for (const Step& step : *steps) {
      if (step.kind == Step::Kind::kSwap) {
        all_.push_back({{{Edit::Kind::kSwap, source, sends[step.here], sends[step.there], {}}},
                        {{Edit::Kind::kSwap, destination, receives[step.here], receives[step.there], {}}}});
      } else if (step.kind == Step::Kind::kReplace) {
        const End send = end(source, sends[step.here], destination, receives, step.there);
        const End receive = end(destination, receives[step.there], source, sends, step.here);
        all_.push_back({{change(send, other_end(receive))}, {change(receive, other_end(send))}});
      } else if (step.kind == Step::Kind::kRemove) {
        lonely_.push_back(end(source, sends[step.here], destination, receives, step.there));
      } else {
        lonely_.push_back(end(destination, receives[step.there], source, sends, step.here));
      }
    }
  }

  End end(RankId rank, NodeId node, RankId other, const std::vector<NodeId>& others, std::size_t at) const {
    const auto node_at = [&](std::size_t i) { return i < others.size() ? std::optional(others[i]) : std::nullopt; };
    return {rank, node, operation_of(job_, rank, node), other, at > 0 ? node_at(at - 1) : std::nullopt, node_at(at)};
  }

  // True if the two lack an end each because of one thing in which they differ.
  bool pair(const End& a, const End& b) {
    Alternatives alternatives;
    const auto try_as = [&](const End& changed, const End& kept) {
      const Operation wanted = other_end(kept);
      if (changed.rank == kept.other_rank && differences(changed.operation, wanted) == 1)
        alternatives.push_back({change(changed, wanted)});
    };
    try_as(a, b);
    try_as(b, a);
    if (alternatives.empty()) return false;
    all_.push_back(std::move(alternatives));
    return true;
  }

  static int differences(const Operation& a, const Operation& b) {
    return (a.kind != b.kind) + (a.peer != b.peer) + (a.tag != b.tag) + (a.bytes != b.bytes);
  }

  void leave_or_complete(const End& end) {
    const Edit add{Edit::Kind::kAdd, end.other_rank, end.behind, end.before, other_end(end)};
    all_.push_back({{add}, {{Edit::Kind::kRemove, end.rank, end.node, {}, {}}}});
  }

  const Job& job_;
  std::size_t& left_;
  std::vector<End> lonely_;
  std::vector<Alternatives> all_;
};

}  // namespace

std::vector<Alternatives> mend_transfers(const Job& job, std::span<const Route> routes, std::size_t& left) {
  return TransferMender(job, left).mend(routes);
}

}  // namespace orrery::workload
