// SPDX-License-Identifier: MIT
#include "report/rank_history.h"

#include <algorithm>
#include <set>

#include "core/hash.h"

namespace orrery::report {
namespace {

// Keeps those of `ranks` that have the least `key`.
template <class Key>
void keep_least(std::vector<RankId>& ranks, const Key& key) {
  auto least = key(ranks.front());
  std::vector<RankId> kept;
  for (const RankId rank : ranks) {
    const auto own = key(rank);
    if (own < least) {
      least = own;
      kept.clear();
    }
    if (own == least) kept.push_back(rank);
  }
  ranks = std::move(kept);
}

}  // namespace

Predecessors::Predecessors(const workload::ExecutionGraph& graph) : graph_(graph), first_(graph.size() + 1, 0) {
  for (std::uint32_t node = 0; node < graph.size(); ++node)
    for (const NodeId after : graph.successors(NodeId(node))) ++first_[index_of(after) + 1];
  for (std::size_t node = 0; node < graph.size(); ++node) first_[node + 1] += first_[node];
  before_.resize(first_.back());
  std::vector<std::uint32_t> next = first_;
  for (std::uint32_t node = 0; node < graph.size(); ++node)
    for (const NodeId after : graph.successors(NodeId(node))) before_[next[index_of(after)]++] = NodeId(node);
  if (graph.stretches().empty()) return;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    const NodeId node{i};
    const std::optional<workload::Repetition> repetition = graph.repetition(node);
    if (!repetition) continue;
    // A rest waits for its main part alone.
    const NodeId main = repetition->is_rest ? before_[first_[i]] : node;
    Instance& instance = instances_[{repetition->stretch, graph.number(main)}];
    instance.main = main;
    if (repetition->is_rest) instance.rest = node;
  }
}

bool Predecessors::has(NodeId node, NodeId before) const {
  const auto of_node =
      std::span(before_).subspan(first_[index_of(node)], first_[index_of(node) + 1] - first_[index_of(node)]);
  return std::ranges::binary_search(of_node, before);
}

std::optional<std::uint32_t> Predecessors::stretch_of(NodeId node) const {
  const auto stretches = graph_.stretches();
  const auto found = std::ranges::find_if(stretches, [&](const workload::Stretch& one) { return one.holds(node); });
  if (found == stretches.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - stretches.begin());
}

// Null: it is not of a repetition.
const Predecessors::Instance* Predecessors::instance_of(const system::OperationRecord& operation) const {
  if (operation.number == graph_.number(operation.node)) return nullptr;
  const std::uint32_t stretch = *stretch_of(operation.node);
  const std::uint32_t offset = index_of(operation.node) - index_of(graph_.stretches()[stretch].first);
  return &instances_.at({stretch, operation.number - offset});
}

bool Predecessors::has(const system::OperationRecord& operation, const system::OperationRecord& before) const {
  const Instance *here = instance_of(operation), *there = instance_of(before);
  if (here == there) return has(operation.node, before.node);
  // The first nodes of a repetition wait for what it waits for.
  NodeId node = operation.node;
  if (here != nullptr) {
    const workload::Stretch& stretch = graph_.stretches()[*stretch_of(node)];
    const std::span all(before_);
    const auto of_node = all.subspan(first_[index_of(node)], first_[index_of(node) + 1] - first_[index_of(node)]);
    if (std::ranges::any_of(of_node, [&](NodeId other) { return stretch.holds(other); })) return false;
    node = here->main;
  }
  if (there == nullptr) return has(node, before.node);
  // Operations after a repetition wait for its tail, or for operations that nothing in it waits for.
  const workload::Stretch& stretch = graph_.stretches()[*stretch_of(before.node)];
  if (std::ranges::find(stretch.tail, before.node) != stretch.tail.end() && has(node, there->main)) return true;
  const auto is_inside = [&](NodeId after) { return stretch.holds(after); };
  return there->rest && has(node, *there->rest) && std::ranges::none_of(graph_.successors(before.node), is_inside);
}

std::span<const system::OperationRecord> RankHistory::ended_at(Time time, const system::OperationRecord* before) const {
  std::size_t from = 0, to = operations_.size();
  if (before != nullptr) {
    to = static_cast<std::size_t>(before - operations_.data()) + 1;
    if (before->end == time)  // those behind it may have ended then as well
      while (to < operations_.size() && operations_[to].end == time) ++to;
    for (std::size_t step = 8; step < to && from == 0; step *= 4)
      if (operations_[to - step].end < time) from = to - step;
  }
  const auto near = std::span(operations_).subspan(from, to - from);
  const auto first = std::ranges::lower_bound(near, time, {}, &system::OperationRecord::end);
  const auto last = std::ranges::upper_bound(first, near.end(), time, {}, &system::OperationRecord::end);
  return {first, last};
}

const std::vector<const system::OperationRecord*>& RankHistory::by_number() {
  if (!by_number_.empty()) return by_number_;
  by_number_.assign(graph_.written_out_size(), nullptr);
  for (const system::OperationRecord& operation : operations_) by_number_[operation.number] = &operation;
  return by_number_;
}

Time launched_at(const workload::ExecutionGraph& graph, const system::OperationRecord& operation, Time through) {
  const Duration alone = operation.end - operation.moving - operation.slowed;
  return std::min(alone > graph.host(operation.node).launches ? operation.end - alone : through, operation.end);
}

HostChain RankHistory::launches_up_to(const system::OperationRecord& operation) {
  HostChain chain;
  chain.first = operation.number;
  Duration launching = graph_.host(operation.node).launches;
  for (; chain.first > 0; --chain.first) {
    const system::OperationRecord* before = of_number(chain.first - 1);
    if (before == nullptr) continue;
    const workload::HostWork host = graph_.host(before->node);
    if (host.synchronises) {
      chain.after = before;
      break;
    }
    launching = saturating_add(launching, host.launches);
  }
  chain.begin = chain.after != nullptr
                    ? chain.after->end
                    : std::ranges::min_element(operations_, {}, &system::OperationRecord::start)->start;
  const Time through = chain.begin + (launching - host_ahead(chain.after));
  chain.launched = std::max(chain.begin, launched_at(graph_, operation, through));
  return chain;
}

Duration RankHistory::host_ahead(const system::OperationRecord* after) const {
  const std::span<const NodeId> all = graph_.synchronisations();
  const auto is_done = [&](NodeId node) { return after != nullptr && graph_.number(node) <= after->number; };
  return graph_.host_ahead(static_cast<std::uint32_t>(std::ranges::partition_point(all, is_done) - all.begin()));
}

void RankHistory::find_calls() {
  calls_.resize(graph_.communicator_slots());
  for (const system::OperationRecord* operation : by_number())
    if (operation != nullptr && graph_.kind(operation->node) == workload::NodeKind::kCollective)
      calls_[graph_.communicator_slot(operation->node)].push_back(operation);
  if (!graph_.stretches().empty()) return;  // repetitions call in the order of their numbers
  for (std::vector<const system::OperationRecord*>& calls : calls_)
    std::ranges::sort(calls, {}, [&](const system::OperationRecord* call) { return graph_.call_index(call->node); });
}

RankId Likeness::choose(std::span<const RankId> ranks) {
  std::vector<RankId> left(ranks.begin(), ranks.end());
  if (!are_one(left)) keep_least(left, [&](RankId rank) { return job_.ranks[index_of(rank)].graph; });
  if (!are_one(left)) keep_least(left, [&](RankId rank) { return history(rank); });
  if (!are_one(left)) {
    if (colours_.empty()) find_colours();
    keep_least(left, [&](RankId rank) { return colours_[index_of(rank)]; });
  }
  return left.front();
}

// True if one simulated rank acts for all of these ranks.
bool Likeness::are_one(std::span<const RankId> ranks) const {
  return std::ranges::all_of(ranks,
                             [&](RankId rank) { return acting_[index_of(rank)] == acting_[index_of(ranks.front())]; });
}

std::uint64_t Likeness::history(RankId rank) {
  const auto [known, is_new] = histories_.try_emplace(acting_[index_of(rank)], 0);
  if (!is_new) return known->second;
  const auto count = [](Time time) { return static_cast<std::uint64_t>(time.time_since_epoch().count()); };
  for (const system::OperationRecord& operation : log_.of(known->first))
    known->second = hash_of({known->second, operation.number, count(operation.start), count(operation.end)});
  return known->second;
}

// By colour refinement: until nobody is told apart any more by the colours of those that a rank shares a communicator
// with or has as a peer.
void Likeness::find_colours() {
  const auto ranks = static_cast<std::uint32_t>(job_.ranks.size());
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    colours_.push_back(hash_of({job_.ranks[rank].graph, history(RankId(rank))}));
  const auto classes = [&] { return std::set(colours_.begin(), colours_.end()).size(); };
  for (std::size_t before = 0, now = classes(); now != before; before = now, now = classes()) {
    std::vector<std::uint64_t> of_group(job_.communicators.size());  // sums, in which order does not count
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      for (std::uint32_t slot = 0; slot < job_.ranks[rank].communicators.size(); ++slot)
        of_group[index_of(job_.ranks[rank].communicators[slot])] += hash_of({colours_[rank], slot});
    std::vector<std::uint64_t> finer;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      std::uint64_t colour = colours_[rank];
      for (const GroupId group : job_.ranks[rank].communicators) colour = hash_of({colour, of_group[index_of(group)]});
      for (const RankId peer : job_.ranks[rank].peers) colour = hash_of({colour, colours_[index_of(peer)]});
      finer.push_back(colour);
    }
    colours_ = std::move(finer);
  }
}

}  // namespace orrery::report
