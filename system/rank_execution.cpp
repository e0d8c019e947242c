#include "system/rank_execution.h"

#include <algorithm>
#include <functional>

#include "core/assert.h"

namespace orrery {

RankExecution::RankExecution(const ExecutionGraph& graph, const LaneTable& lanes)
    : graph_(&graph), lanes_(&lanes), waiting_for_(graph.size()), lane_states_(lanes.lanes().size()) {
  for (std::uint32_t i = 0; i < graph.size(); ++i) waiting_for_[i] = graph.predecessor_count(NodeId(i));
  for (std::uint32_t i = 0; i < graph.size(); ++i)
    if (waiting_for_[i] == 0) make_ready(NodeId(i));
}

std::optional<NodeId> RankExecution::take() {
  while (!touched_.empty()) {
    const std::uint32_t lane = touched_.back();
    if (const auto node = take_from(lane)) {
      waiting_for_[index_of(*node)] = kRunning;
      ++lane_states_[lane].running;
      return node;
    }
    lane_states_[lane].touched = false;
    touched_.pop_back();
  }
  return std::nullopt;
}

void RankExecution::complete(NodeId node) {
  ORRERY_ASSERT(waiting_for_[index_of(node)] == kRunning);
  waiting_for_[index_of(node)] = kDone;
  ++done_;
  const std::uint32_t lane = lanes_->lane_of(node);
  --lane_states_[lane].running;
  std::erase(lane_states_[lane].held, node);
  touch(lane);
  for (const NodeId successor : graph_->successors(node))
    if (--waiting_for_[index_of(successor)] == 0) make_ready(successor);
}

void RankExecution::call(NodeId node) {
  if (waiting_for_[index_of(node)] >= kRunning) return;
  const std::uint32_t lane = lanes_->lane_of(node);
  lane_states_[lane].called.push_back(node);
  touch(lane);
}

void RankExecution::hold(NodeId node) {
  if (waiting_for_[index_of(node)] == kRunning) lane_states_[lanes_->lane_of(node)].held.push_back(node);
}

RankExecution::State RankExecution::state(NodeId node) const {
  const std::uint32_t waiting = waiting_for_[index_of(node)];
  if (waiting == kDone) return State::kDone;
  if (waiting == kRunning) return State::kRunning;
  return waiting == 0 ? State::kReady : State::kBlocked;
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
    if (state.cursor == sequence.size() || waiting_for_[index_of(sequence[state.cursor])] != 0) return std::nullopt;
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
