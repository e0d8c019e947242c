#include "system/execution/ranks.h"

#include <algorithm>
#include <functional>

#include "core/assert.h"

namespace orrery {

RankExecution::RankExecution(const ExecutionGraph& graph, const LaneTable& lanes)
    : graph_(&graph), lanes_(&lanes), nodes_(graph.size()), lane_states_(lanes.lanes().size()) {
  for (std::uint32_t i = 0; i < graph.size(); ++i)
    if (graph.predecessor_count(NodeId(i)) == 0) make_ready(NodeId(i));
}

std::optional<NodeId> RankExecution::take(Time now) {
  while (!touched_.empty()) {
    const std::uint32_t lane = touched_.back();
    if (const auto node = take_from(lane)) {
      nodes_.open(index_of(*node)) = {kRunning, now};
      ++lane_states_[lane].running;
      return node;
    }
    lane_states_[lane].touched = false;
    touched_.pop_back();
  }
  return std::nullopt;
}

Time RankExecution::complete(NodeId node) {
  Node& completed = nodes_.open(index_of(node));
  ORRERY_ASSERT(completed.predecessors_done == kRunning);
  completed.predecessors_done = kDone;
  const Time taken = completed.taken;
  nodes_.finish(index_of(node));
  ++done_;
  const std::uint32_t lane = lanes_->lane_of(node);
  --lane_states_[lane].running;
  std::erase(lane_states_[lane].held, node);
  touch(lane);
  for (const NodeId successor : graph_->successors(node))
    if (++nodes_.open(index_of(successor)).predecessors_done == graph_->predecessor_count(successor))
      make_ready(successor);
  return taken;
}

void RankExecution::call(NodeId node) {
  const State now = state(node);
  if (now == State::kRunning || now == State::kDone) return;
  const std::uint32_t lane = lanes_->lane_of(node);
  lane_states_[lane].called.push_back(node);
  touch(lane);
}

void RankExecution::hold(NodeId node) {
  if (state(node) == State::kRunning) lane_states_[lanes_->lane_of(node)].held.push_back(node);
}

RankExecution::State RankExecution::state(NodeId node) const {
  if (nodes_.has_finished_page(index_of(node))) return State::kDone;
  const Node* found = nodes_.find(index_of(node));
  const std::uint32_t done = found == nullptr ? 0 : found->predecessors_done;
  if (done == kDone) return State::kDone;
  if (done == kRunning) return State::kRunning;
  return done == graph_->predecessor_count(node) ? State::kReady : State::kBlocked;
}

void RankExecution::make_ready(NodeId node) {
  const std::uint32_t lane = lanes_->lane_of(node);
  if (!lanes_->lanes()[lane].in_order) {
    std::vector<NodeId>& ready = lane_states_[lane].ready;
    ready.push_back(node);
    std::ranges::push_heap(ready, std::ranges::greater{});
  }
  touch(lane);
}

void RankExecution::touch(std::uint32_t lane) {
  if (lane_states_[lane].touched) return;
  lane_states_[lane].touched = true;
  touched_.push_back(lane);
}

std::optional<NodeId> RankExecution::take_from(std::uint32_t lane) {
  const Lane& kind = lanes_->lanes()[lane];
  LaneState& state = lane_states_[lane];
  if (kind.exclusive && state.running > 0) return state.held.empty() ? take_called(state) : std::nullopt;
  if (kind.in_order) {
    const auto sequence = lanes_->sequence(lane);
    if (state.cursor == sequence.size() || this->state(sequence[state.cursor]) != State::kReady) return std::nullopt;
    return sequence[state.cursor++];
  }
  if (state.ready.empty()) return std::nullopt;
  std::ranges::pop_heap(state.ready, std::ranges::greater{});
  const NodeId node = state.ready.back();
  state.ready.pop_back();
  std::erase(state.called, node);
  return node;
}

// The smallest id that is both ready and called.
std::optional<NodeId> RankExecution::take_called(LaneState& lane) {
  std::optional<NodeId> first;
  for (const NodeId node : lane.called)
    if ((!first || node < *first) && std::ranges::find(lane.ready, node) != lane.ready.end()) first = node;
  if (!first) return std::nullopt;
  std::erase(lane.called, *first);
  std::erase(lane.ready, *first);
  std::ranges::make_heap(lane.ready, std::ranges::greater{});
  return first;
}

}  // namespace orrery
