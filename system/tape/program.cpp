// SPDX-License-Identifier: MIT
#include "system/tape/program.h"

#include <algorithm>
#include <map>
#include <utility>

namespace orrery::system {

using workload::NodeKind;

namespace {

// Nodes of a stream run one after the other, but for those of these kinds.
bool is_unordered(NodeKind kind) { return kind == NodeKind::kNoOp || kind == NodeKind::kReceive; }

// Kind and slot that nodes of one stream have in common.
std::pair<NodeKind, std::uint32_t> stream_of(const workload::ExecutionGraph& graph, NodeId node) {
  switch (const NodeKind kind = graph.kind(node); kind) {
    case NodeKind::kCompute:
      return {kind, graph.stream(node)};
    case NodeKind::kCollective:
      return {kind, graph.communicator_slot(node)};
    case NodeKind::kSend:
      return {kind, graph.peer_slot(node)};
    case NodeKind::kMemoryStore:
      return {NodeKind::kMemoryLoad, 0};
    default:
      return {kind, 0};
  }
}

}  // namespace

TapeProgram::TapeProgram(const workload::ExecutionGraph& graph, bool contends)
    : graph_(graph), contends_(contends), place_(graph.size()), ancestors_(graph.size()), seen_(graph.size()) {
  for (const workload::Stretch& stretch : graph.stretches())
    end_of_stretches_ = std::max(end_of_stretches_, index_of(stretch.first) + stretch.count);
  find_predecessors();
  find_main_stream();
  find_ancestors();
  order_streams();
  if (graph.has_host()) order_host();
  if (why_not_.empty()) connect();
  if (why_not_.empty() && !graph.stretches().empty()) check_repetitions();
  if (why_not_.empty() && contends_) find_takers();
  for (auto* scratch : {&first_before_, &position_, &seen_}) std::vector<std::uint32_t>().swap(*scratch);
  std::vector<NodeId>().swap(before_);
}

void TapeProgram::find_predecessors() {
  const auto size = static_cast<std::uint32_t>(graph_.size());
  first_before_.assign(size + 1, 0);
  for (std::uint32_t i = 0; i < size; ++i)
    first_before_[i + 1] = first_before_[i] + graph_.predecessor_count(NodeId(i));
  before_.resize(first_before_[size]);
  std::vector<std::uint32_t> next(first_before_.begin(), first_before_.end() - 1);
  for (std::uint32_t i = 0; i < size; ++i)
    for (const NodeId after : graph_.successors(NodeId(i))) before_[next[index_of(after)]++] = NodeId(i);
  position_.resize(size);
  for (std::uint32_t i = 0; i < size; ++i) position_[index_of(graph_.order()[i])] = i;
}

// The stream of the computations that may be slowed, else the one that has no number.
void TapeProgram::find_main_stream() {
  std::uint32_t main = kNone;
  for (std::uint32_t i = 0; contends_ && i < graph_.size(); ++i) {
    if (graph_.kind(NodeId(i)) != NodeKind::kCompute || !graph_.processor_bound(NodeId(i))) continue;
    if (main == kNone) main = graph_.stream(NodeId(i));
    if (main != graph_.stream(NodeId(i))) return refuse("computations on several streams may be slowed");
  }
  if (main == kNone) main = 0;
  if (main != 0 && !graph_.stretches().empty()) return refuse("what is slowed is not what is repeated");
  const auto add = [&](NodeId node) {
    if (graph_.kind(node) != NodeKind::kCompute || graph_.stream(node) != main) return;
    place_[index_of(node)] = static_cast<std::uint32_t>(main_.size());
    main_.push_back(node);
  };
  for (std::uint32_t i = 0; i < graph_.size(); ++i) add(main == 0 ? NodeId(i) : graph_.order()[i]);
}

void TapeProgram::find_ancestors() {
  for (const NodeId node : graph_.order()) {
    std::uint32_t& latest = ancestors_[index_of(node)];
    for (const NodeId before : this->before(node))
      latest = std::max({latest, ancestors_[index_of(before)], is_main(before) ? place(before) + 1 : 0});
    if (is_main(node) && latest > place(node)) refuse("computations wait for later ones");
  }
  for (const NodeId node : main_) follows_.push_back(place(node) > 0 && ancestors_[index_of(node)] == place(node));
  released_.assign(graph_.size(), kNone);
  for (std::size_t i = graph_.size(); i-- > 0;) {
    const NodeId node = graph_.order()[i];
    std::uint32_t& first = released_[index_of(node)];
    for (const NodeId after : graph_.successors(node))
      first = std::min(first, is_main(after) ? place(after) : released_[index_of(after)]);
  }
}

// True if `last` cannot start before `first` has ended: by way of computations of the main stream, which follow one
// another, or near by. What is not found so is found by nobody.
bool TapeProgram::is_before(NodeId first, NodeId last) {
  constexpr int kMostSteps = 64;
  if (is_main(first)) return ancestors_[index_of(last)] > place(first);
  if (ancestors_[index_of(last)] > released_[index_of(first)]) return true;
  ++search_;
  stack_.assign(1, last);
  for (int steps = 0; !stack_.empty() && steps < kMostSteps; ++steps) {
    const NodeId at = stack_.back();
    stack_.pop_back();
    for (const NodeId before : this->before(at)) {
      if (before == first) return true;
      if (position_[index_of(before)] < position_[index_of(first)] || seen_[index_of(before)] == search_) continue;
      seen_[index_of(before)] = search_;
      stack_.push_back(before);
    }
  }
  return false;
}

bool TapeProgram::becomes_ready_before(NodeId first, NodeId second) {
  return std::ranges::all_of(before(first), [&](NodeId waited_for) { return is_before(waited_for, second); });
}

// A stream with a number is in the canonical order; of the others the ready node with the smallest number comes first.
void TapeProgram::order_streams() {
  std::map<std::pair<NodeKind, std::uint32_t>, NodeId> last;
  const auto add = [&](NodeId node) {
    const auto [known, is_new] = last.try_emplace(stream_of(graph_, node), node);
    if (is_new) return;
    const NodeId before = std::exchange(known->second, node);
    const NodeKind kind = graph_.kind(node);
    const bool is_in_order = kind == NodeKind::kCompute && graph_.stream(node) > 0;
    if (!is_in_order && !becomes_ready_before(before, node))
      return refuse(kind == NodeKind::kCompute ? "computations have no order of their own"
                                               : "what runs on a stream has no order of its own");
    if (kind == NodeKind::kCollective && graph_.call_index(node) != graph_.call_index(before) + 1)
      return refuse("calls are in another order");
    if (kind != NodeKind::kSend) added_.push_back({before, node});
  };
  sends_.resize(graph_.peer_slots());
  for (const NodeId node : graph_.transfers())
    if (graph_.kind(node) == NodeKind::kSend) sends_[graph_.peer_slot(node)].push_back(node);
  for (std::uint32_t i = 0; i < graph_.size(); ++i)
    if (const NodeKind kind = graph_.kind(NodeId(i));
        !is_unordered(kind) && !(kind == NodeKind::kCompute && graph_.stream(NodeId(i)) > 0))
      add(NodeId(i));
  for (const NodeId node : graph_.order())
    if (graph_.kind(node) == NodeKind::kCompute && graph_.stream(node) > 0) add(node);
}

// A computation is launched behind the synchronisations before it. These come one after the other, behind all
// computations before them.
void TapeProgram::order_host() {
  const std::span<const NodeId> synchronisations = graph_.synchronisations();
  synchronisations_before_.resize(graph_.size());
  std::uint32_t count = 0, computations = 0;
  for (std::uint32_t i = 0; i < graph_.size(); ++i) {
    const NodeId node{i};
    synchronisations_before_[i] = count;
    const bool is_computation = graph_.kind(node) == NodeKind::kCompute;
    if (is_computation && graph_.stream(node) != 0) return refuse("a host launches on several streams");
    if (is_computation && count > 0) added_.push_back({synchronisations[count - 1], node});
    if (is_computation) ++computations;
    if (count == synchronisations.size() || synchronisations[count] != node) continue;
    const bool is_ordered = count == 0 || is_before(synchronisations[count - 1], node);
    if (!is_ordered || ancestors_[i] + (is_computation ? 1 : 0) < computations)
      return refuse("a synchronisation runs beside computations");
    ++count;
  }
}

// The edges of the graph and those that were added; they lead round in no circle.
void TapeProgram::connect() {
  const auto size = static_cast<std::uint32_t>(graph_.size());
  std::vector<std::vector<NodeId>> added(size);
  for (const Edge& edge : added_)
    if (std::ranges::find(graph_.successors(edge.from), edge.to) == graph_.successors(edge.from).end())
      added[index_of(edge.from)].push_back(edge.to);
  waits_.assign(size, 0);
  first_after_.assign(1, 0);
  for (std::uint32_t i = 0; i < size; ++i) {
    const std::span<const NodeId> successors = graph_.successors(NodeId(i));
    after_.insert(after_.end(), successors.begin(), successors.end());
    after_.insert(after_.end(), added[i].begin(), added[i].end());
    first_after_.push_back(static_cast<std::uint32_t>(after_.size()));
  }
  for (const NodeId node : after_) ++waits_[index_of(node)];
  // How many computations of the main stream have ended when each node starts.
  std::vector<std::uint32_t> left = waits_, ended(size);
  std::vector<NodeId> ready;
  for (std::uint32_t i = 0; i < size; ++i)
    if (left[i] == 0) ready.push_back(NodeId(i));
  for (std::size_t done = 0; done < ready.size(); ++done) {
    const NodeId node = ready[done];
    const std::uint32_t passed = is_main(node) ? place(node) + 1 : ended[index_of(node)];
    for (const NodeId next : after(node)) {
      ended[index_of(next)] = std::max(ended[index_of(next)], passed);
      if (--left[index_of(next)] == 0) ready.push_back(next);
    }
  }
  if (ready.size() != size) return refuse("its streams go round in a circle");
  ancestors_ = std::move(ended);
}

// A repetition has its streams to itself: calls of the communicators that it calls come before it or after it, and so
// does what is computed. Its rest only computes.
void TapeProgram::check_repetitions() {
  std::vector<std::uint32_t> repetitions_before(main_.size() + 1);
  for (std::uint32_t i = 0; i < main_.size(); ++i) {
    const std::optional<workload::Repetition> repetition = graph_.repetition(main_[i]);
    repetitions_before[i + 1] = repetitions_before[i] + (repetition && !repetition->is_rest ? 1 : 0);
    if (!repetition) continue;
    const bool is_rest = repetition->is_rest;
    const bool waits = i > 0 && !follows_[i];
    if (waits && !is_rest) waiting_.push_back(main_[i]);
    if ((is_rest && waits) || (!is_rest && i + 1 < main_.size() && !follows_[i + 1]))
      return refuse("something else is computed when a stretch is repeated");
  }
  std::vector<bool> is_repeated(graph_.communicator_slots());
  for (const workload::Stretch& stretch : graph_.stretches())
    for (std::uint32_t i = 0; i < stretch.count; ++i)
      if (const NodeId node{index_of(stretch.first) + i}; graph_.kind(node) == NodeKind::kCollective)
        is_repeated[graph_.communicator_slot(node)] = true;
  for (const NodeId call : graph_.collectives()) {
    if (!is_repeated[graph_.communicator_slot(call)]) continue;
    const std::uint32_t next = std::min(released_[index_of(call)], static_cast<std::uint32_t>(main_.size()));
    const std::uint32_t behind = std::min(ancestors_[index_of(call)], next);
    if (repetitions_before[next] > repetitions_before[behind]) return refuse("calls run beside a repeated stretch");
  }
}

void TapeProgram::find_takers() {
  for (std::uint32_t i = 0; i < graph_.size(); ++i)
    if (const NodeKind kind = graph_.kind(NodeId(i)); kind == NodeKind::kCollective || kind == NodeKind::kSend)
      takers_.push_back({ancestors_[i], NodeId(i)});
  std::ranges::stable_sort(takers_, {}, &Taker::behind);
}

}  // namespace orrery::system
