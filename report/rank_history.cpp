// SPDX-License-Identifier: MIT
#include "report/rank_history.h"

#include <algorithm>

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
  const auto is_repeated = [&](const auto& one) { return one.number != graph_.number(one.node); };
  const bool repeats = is_repeated(operation);
  if (!repeats && !is_repeated(before)) return has(operation.node, before.node);
  // Operations of one stretch that are as far behind its first run are of one repetition.
  const auto behind = [](const auto& one) { return one.number - index_of(one.node); };
  if (repeats && behind(operation) == behind(before) && stretch_of(operation.node) == stretch_of(before.node))
    return has(operation.node, before.node);
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

RankHistory::RankHistory(const workload::Job& job, const OperationLog& log, RankId rank)
    : graph_(job.graph(rank)), on_path_(graph_.size()) {
  operations_.reserve(log.count(rank));
  std::vector<RepeatedStretch> none;
  log.of(rank, operations_, none, [&](const RepeatedStretch& stretch) {
    if (!stretch.kind->is_rest) stretches_.push_back(stretch);
    return false;
  });
  std::ranges::sort(stretches_, {}, &RepeatedStretch::number);
}

const RepeatedStretch* RankHistory::stretch_of(const system::OperationRecord& operation) const {
  if (operation.number == graph_.number(operation.node)) return nullptr;
  const auto behind = std::ranges::upper_bound(stretches_, operation.number, {}, &RepeatedStretch::number);
  if (behind == stretches_.begin()) return nullptr;
  const RepeatedStretch& stretch = *(behind - 1);
  // The rest of the stretch has the numbers behind those of its main part, but ends behind its tail.
  const bool is_rest = operation.end > stretch.begin + stretch.kind->record->tail;
  return is_rest ? nullptr : &stretch;
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

std::vector<Time> call_starts(const workload::Job& job, const OperationLog& log, RankId rank, std::uint32_t slot) {
  const workload::ExecutionGraph& graph = job.graph(rank);
  const bool by_index = graph.stretches().empty();
  const auto calls = [&](NodeId node) {
    return graph.kind(node) == workload::NodeKind::kCollective && graph.communicator_slot(node) == slot;
  };
  std::vector<std::pair<std::uint32_t, Time>> found;  // by place among the calls
  // Calls of stretches that are gone through again: offsets, and starts within them.
  std::map<const system::RepetitionRecord*, std::vector<std::pair<std::uint32_t, Duration>>> of_stretches;
  log.read(
      rank,
      [&](const system::OperationRecord& operation) {
        if (calls(operation.node))
          found.emplace_back(by_index ? graph.call_index(operation.node) : operation.number, operation.start);
      },
      [&](const RepeatedStretch& stretch) {
        const auto [known, is_new] = of_stretches.try_emplace(stretch.kind);
        if (is_new)
          for (const system::StretchRecord::Part& part : stretch.parts())
            if (calls(stretch.operation(part).node)) known->second.emplace_back(part.offset, part.start);
        for (const auto& [offset, start] : known->second)
          found.emplace_back(stretch.number + offset, stretch.begin + start);
      });
  std::ranges::sort(found);
  std::vector<Time> starts;
  starts.reserve(found.size());
  for (const auto& [place, start] : found) starts.push_back(start);
  return starts;
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
  if (!are_one(left)) keep_least(left, [&](RankId rank) { return job_.ranks.graph(index_of(rank)); });
  if (!are_one(left)) keep_least(left, [&](RankId rank) { return history(rank); });
  if (!are_one(left)) {
    if (colours_.empty()) find_colours();
    keep_least(left, [&](RankId rank) { return colour(rank); });
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
  if (const RankId first = alike_.first(known->first); first != known->first)
    return known->second = histories_.at(first);
  const auto count = [](Time time) { return static_cast<std::uint64_t>(time.time_since_epoch().count()); };
  log_.of(known->first, operations_);
  for (const system::OperationRecord& operation : operations_)
    known->second = hash_of({known->second, operation.number, count(operation.start), count(operation.end)});
  return known->second;
}

// Refines colours until nobody is told apart any more by the colours of those that a rank shares a communicator with or
// has as a peer. Ranks of digit 0 are looked at for all where they repeat and did the same.
void Likeness::find_colours() {
  const workload::RankBindings& ranks = job_.ranks;
  period_ = ranks.period();
  for (std::uint32_t rank = 0; rank < ranks.size() && period_.any(); ++rank)
    if (acting_[rank] != acting_[period_.first(rank)]) period_ = {};
  const auto places = static_cast<std::uint32_t>(ranks.size()) / period_.count;
  for (std::uint32_t place = 0; place < places; ++place)
    colours_.push_back(hash_of({ranks.graph(period_.at(place)), history(RankId(period_.at(place)))}));
  const auto classes = [&] {
    std::vector<std::uint64_t> sorted = colours_;
    std::ranges::sort(sorted);
    return std::unique(sorted.begin(), sorted.end()) - sorted.begin();
  };
  for (std::ptrdiff_t before = 0, now = classes(); now != before; before = now, now = classes()) {
    std::vector<std::uint64_t> of_group(job_.communicators.size());  // sums, in which order does not count
    for (std::uint32_t place = 0; place < places; ++place) {
      const std::uint32_t rank = period_.at(place);
      for (std::uint32_t slot = 0; slot < ranks.communicator_count(rank); ++slot) {
        const GroupId group = ranks.communicator(rank, slot);
        const bool is_of_all = period_.any() && ranks.communicator(rank + period_.stride, slot) == group;
        of_group[index_of(group)] += (is_of_all ? period_.count : 1) * hash_of({colours_[place], slot});
      }
    }
    std::vector<std::uint64_t> finer;
    for (std::uint32_t place = 0; place < places; ++place) {
      const std::uint32_t rank = period_.at(place);
      std::uint64_t colour = colours_[place];
      for (std::uint32_t slot = 0; slot < ranks.communicator_count(rank); ++slot)
        colour = hash_of({colour, of_group[index_of(ranks.communicator(rank, slot))]});
      for (std::uint32_t slot = 0; slot < ranks.peer_count(rank); ++slot)
        colour = hash_of({colour, this->colour(ranks.peer(rank, slot))});
      finer.push_back(colour);
    }
    colours_ = std::move(finer);
  }
}

}  // namespace orrery::report
