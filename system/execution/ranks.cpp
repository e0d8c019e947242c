// SPDX-License-Identifier: MIT
#include "system/execution/ranks.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "core/assert.h"
#include "system/execution/host_launch.h"

namespace orrery::system {
namespace {

Stream stream_for(const workload::ExecutionGraph& graph, NodeId node, QueueScope scope) {
  switch (const workload::NodeKind kind = graph.kind(node); kind) {
    case workload::NodeKind::kNoOp:
      return {kind, 0, false, false};
    case workload::NodeKind::kHostCompute:
    case workload::NodeKind::kMemoryLoad:
      return {kind, 0, false, true};
    case workload::NodeKind::kMemoryStore:
      return {workload::NodeKind::kMemoryLoad, 0, false, true};
    case workload::NodeKind::kCopyToHost:
    case workload::NodeKind::kCopyToDevice:
      return {kind, 0, false, true};
    case workload::NodeKind::kCompute:
      return {kind, graph.stream(node), graph.stream(node) > 0, true};
    case workload::NodeKind::kCollective:
      return {kind, graph.communicator_slot(node), false, scope == QueueScope::kCollective};
    case workload::NodeKind::kSend:
    case workload::NodeKind::kReceive:
      return {kind, graph.peer_slot(node), false, kind == workload::NodeKind::kSend};
  }
  ORRERY_ASSERT(false);
}

}  // namespace

StreamTable::StreamTable(const workload::ExecutionGraph& graph, QueueScope scope) : steps_(graph.size()) {
  std::map<std::pair<workload::NodeKind, std::uint32_t>, std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    const NodeId node{i};
    const Stream stream = stream_for(graph, node, scope);
    const auto [entry, added] =
        numbers.try_emplace({stream.kind, stream.slot}, static_cast<std::uint32_t>(streams_.size()));
    if (added) streams_.push_back(stream);
    steps_[i] = {.stream = entry->second,
                 .predecessors = graph.predecessor_count(node),
                 .successors = graph.successors(node),
                 .kind = graph.kind(node),
                 .is_repetition = graph.repetition(node).has_value()};
  }
  offsets_.assign(streams_.size() + 1, 0);
  for (const ProgramStep& step : steps_)
    if (streams_[step.stream].in_order) ++offsets_[step.stream + 1];
  for (std::size_t stream = 0; stream < streams_.size(); ++stream) offsets_[stream + 1] += offsets_[stream];
  sequence_.resize(offsets_.back());
  std::vector<std::uint32_t> next(offsets_.begin(), offsets_.end() - 1);
  for (const NodeId node : graph.order())
    if (const std::uint32_t stream = step(node).stream; streams_[stream].in_order) sequence_[next[stream]++] = node;
  for (std::uint32_t stream = 0; stream < streams_.size(); ++stream)
    if (streams_[stream].kind == workload::NodeKind::kCompute) computing_.push_back(stream);
  std::uint32_t computations = 0, node = 0;
  for (const NodeId synchronisation : graph.synchronisations()) {
    for (; node <= index_of(synchronisation); ++node)
      if (steps_[node].kind == workload::NodeKind::kCompute) ++computations;
    computations_up_to_.push_back(computations);
  }
}

std::span<const NodeId> StreamTable::sequence(std::uint32_t stream) const {
  return std::span(sequence_).subspan(offsets_[stream], offsets_[stream + 1] - offsets_[stream]);
}

RankExecution::RankExecution(const workload::ExecutionGraph& graph, const StreamTable& streams)
    : graph_(&graph), streams_(&streams), stream_states_(streams.streams().size()), nodes_(graph.size()), host_(graph) {
  for (std::uint32_t i = 0; i < graph.size(); ++i)
    if (graph.predecessor_count(NodeId(i)) == 0) make_ready(NodeId(i), Time{});
}

std::optional<NodeId> RankExecution::take(Time now) {
  while (!touched_.empty()) {
    const std::uint32_t number = touched_.back();
    StreamState& stream = stream_states_[number];
    if (const std::optional<NodeId> node = choose(number)) {
      if (!streams_->streams()[number].in_order) leave_ready(*node, stream);
      nodes_.open(index_of(*node)) = kRunning + begin_run(now);
      ++stream.running;
      ++stream.runs;
      if (streams_->streams()[number].kind == workload::NodeKind::kCompute) host_.take();
      if (step(*node).is_repetition) note_repetition(*node, now);
      return node;
    }
    stream.touched = false;
    touched_.pop_back();
  }
  return std::nullopt;
}

std::optional<NodeId> RankExecution::only_next() const {
  if (running_ > 0) return std::nullopt;
  std::optional<NodeId> only;
  for (const std::uint32_t stream : touched_)
    if (const std::optional<NodeId> node = choose(stream)) {
      if (only) return std::nullopt;
      only = node;
    }
  return only;
}

void RankExecution::note_repetition(NodeId node, Time now) {
  const auto ready = std::ranges::find(ready_repetitions_, node, &std::pair<NodeId, Time>::first);
  has_waited_ = ready->second != now;
  ready_repetitions_.erase(ready);
}

std::uint32_t RankExecution::begin_run(Time now) {
  ++running_;
  const std::uint32_t run = free_run_;
  if (run == kNone) {
    ORRERY_ASSERT(runs_.size() < kDone - kRunning);
    runs_.push_back({.taken = now});
    return runs_.size() - 1;
  }
  free_run_ = runs_[run].next_free;
  runs_[run] = {.taken = now};
  return run;
}

void RankExecution::end_run(const Run& run, StreamState& stream) {
  --running_;
  --stream.running;
  if (run.is_held) --stream.held;
  if (run.is_waiting) --stream.waiting;
}

Time RankExecution::complete(NodeId node, Time now, Time synchronised) {
  std::uint32_t& kept = nodes_.open(index_of(node));
  ORRERY_ASSERT(kept >= kRunning && kept != kDone);
  const std::uint32_t number = kept - kRunning;
  kept = kDone;
  nodes_.finish(index_of(node));
  const ProgramStep& step = this->step(node);
  Run& run = runs_[number];
  end_run(run, stream_states_[step.stream]);
  run.next_free = free_run_;
  free_run_ = number;
  ++done_;
  touch(step.stream);
  const Time taken = run.taken;
  for (const NodeId successor : step.successors)
    if (++nodes_.open(index_of(successor)) == this->step(successor).predecessors) make_ready(successor, now);
  if (host_.finish(*graph_, node, synchronised, streams_->computations_up_to()))
    for (const std::uint32_t stream : streams_->computing()) touch(stream);
  return taken;
}

Duration RankExecution::host_wait(NodeId node, Duration time, Time now) const {
  if (!graph_->has_host()) return Duration::zero();
  const workload::HostWork host = graph_->host(node);
  if (host.span == Duration::zero()) return Duration::zero();
  return launch_wait(host.launches, host.span, graph_->duration(node).value_or(time), time, host_turns_to(node), now);
}

std::optional<std::uint32_t> RankExecution::runs_if_free(NodeId node) const {
  const StreamState& state = stream_states_[stream_of(node)];
  if (state.running > 0 || !state.ready.empty()) return std::nullopt;
  return state.runs;
}

void RankExecution::call(NodeId node) {
  const State now = state(node);
  if (now == State::kRunning || now == State::kDone) return;
  if (std::ranges::find(called_, node) == called_.end()) called_.push_back(node);
  touch(stream_of(node));
}

void RankExecution::hold(NodeId node) {
  if (state(node) != State::kRunning || run_of(node).is_held) return;
  run_of(node).is_held = true;
  ++stream_states_[stream_of(node)].held;
}

void RankExecution::await_receive(NodeId node) {
  const std::uint32_t stream = stream_of(node);
  if (Run& run = run_of(node); !run.is_waiting) {
    run.is_waiting = true;
    ++stream_states_[stream].waiting;
  }
  touch(stream);
}

void RankExecution::moves(NodeId node) {
  if (state(node) != State::kRunning || !run_of(node).is_waiting) return;
  run_of(node).is_waiting = false;
  --stream_states_[stream_of(node)].waiting;
}

RankExecution::State RankExecution::state(NodeId node) const {
  if (nodes_.has_finished_page(index_of(node))) return State::kDone;
  const std::uint32_t* found = nodes_.find(index_of(node));
  const std::uint32_t kept = found == nullptr ? 0 : *found;
  if (kept == kDone) return State::kDone;
  if (kept >= kRunning) return State::kRunning;
  return kept == step(node).predecessors ? State::kReady : State::kBlocked;
}

void RankExecution::make_ready(NodeId node, Time now) {
  const ProgramStep& step = this->step(node);
  if (step.is_repetition) ready_repetitions_.emplace_back(node, now);
  if (!streams_->streams()[step.stream].in_order) {
    SmallVector<NodeId, 2>& ready = stream_states_[step.stream].ready;
    ready.push_back(node);
    std::push_heap(ready.begin(), ready.end(), std::greater{});
  }
  touch(step.stream);
}

void RankExecution::touch(std::uint32_t stream) {
  if (stream_states_[stream].touched) return;
  stream_states_[stream].touched = true;
  touched_.push_back(stream);
}

// The next node of a stream that can start now.
std::optional<NodeId> RankExecution::choose(std::uint32_t number) const {
  const Stream& stream = streams_->streams()[number];
  const StreamState& state = stream_states_[number];
  if (stream.exclusive && state.running > state.waiting) return state.held == 0 ? choose_called(number) : std::nullopt;
  NodeId first;
  if (stream.in_order) {
    const std::span<const NodeId> sequence = streams_->sequence(number);
    if (state.runs == sequence.size() || this->state(sequence[state.runs]) != State::kReady) return std::nullopt;
    first = sequence[state.runs];
  } else {
    if (state.ready.empty()) return std::nullopt;
    first = state.ready.front();
  }
  if (stream.kind == workload::NodeKind::kCompute && host_.is_in_front_of(*graph_, first)) return std::nullopt;
  return first;
}

// The smallest id that is both ready and called.
std::optional<NodeId> RankExecution::choose_called(std::uint32_t stream) const {
  std::optional<NodeId> first;
  for (const NodeId node : called_)
    if ((!first || node < *first) && stream_of(node) == stream && state(node) == State::kReady) first = node;
  return first;
}

void RankExecution::leave_ready(NodeId node, StreamState& stream) {
  SmallVector<NodeId, 2>& ready = stream.ready;
  if (node == ready.front()) {
    std::pop_heap(ready.begin(), ready.end(), std::greater{});
    ready.pop_back();
  } else {
    ready.erase_first(node);
    std::make_heap(ready.begin(), ready.end(), std::greater{});
  }
  called_.erase_first(node);
}

}  // namespace orrery::system
