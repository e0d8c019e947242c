// SPDX-License-Identifier: MIT
#include "system/execution/ranks.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "core/assert.h"

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

StreamTable::StreamTable(const workload::ExecutionGraph& graph, QueueScope scope) : stream_of_(graph.size()) {
  std::map<std::pair<workload::NodeKind, std::uint32_t>, std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    const Stream stream = stream_for(graph, NodeId(i), scope);
    const auto [entry, added] =
        numbers.try_emplace({stream.kind, stream.slot}, static_cast<std::uint32_t>(streams_.size()));
    if (added) streams_.push_back(stream);
    stream_of_[i] = entry->second;
  }
  offsets_.assign(streams_.size() + 1, 0);
  for (const std::uint32_t stream : stream_of_)
    if (streams_[stream].in_order) ++offsets_[stream + 1];
  for (std::size_t stream = 0; stream < streams_.size(); ++stream) offsets_[stream + 1] += offsets_[stream];
  sequence_.resize(offsets_.back());
  std::vector<std::uint32_t> next(offsets_.begin(), offsets_.end() - 1);
  for (const NodeId node : graph.order())
    if (const std::uint32_t stream = stream_of(node); streams_[stream].in_order) sequence_[next[stream]++] = node;
}

std::span<const NodeId> StreamTable::sequence(std::uint32_t stream) const {
  return std::span(sequence_).subspan(offsets_[stream], offsets_[stream + 1] - offsets_[stream]);
}

RankExecution::RankExecution(const workload::ExecutionGraph& graph, const StreamTable& streams)
    : graph_(&graph), streams_(&streams), nodes_(graph.size()), stream_states_(streams.streams().size()) {
  synchronised_ = Time{} - graph.host_ahead(0);
  for (std::uint32_t i = 0; i < graph.size(); ++i)
    if (graph.predecessor_count(NodeId(i)) == 0) make_ready(NodeId(i), Time{});
}

std::optional<NodeId> RankExecution::take(Time now) {
  while (!touched_.empty()) {
    const std::uint32_t stream = touched_.back();
    if (const auto node = take_from(stream)) {
      nodes_.open(index_of(*node)) = {kRunning, now, Duration::zero()};
      ++stream_states_[stream].running;
      ++stream_states_[stream].runs;
      if (graph_->repetition(*node)) {
        const auto ready = std::ranges::find(ready_repetitions_, *node, &std::pair<NodeId, Time>::first);
        has_waited_ = ready->second != now;
        ready_repetitions_.erase(ready);
      }
      return node;
    }
    stream_states_[stream].touched = false;
    touched_.pop_back();
  }
  return std::nullopt;
}

Time RankExecution::complete(NodeId node, Time now, Time synchronised) {
  Node& completed = nodes_.open(index_of(node));
  ORRERY_ASSERT(completed.predecessors_done == kRunning);
  completed.predecessors_done = kDone;
  const Time taken = completed.taken;
  nodes_.finish(index_of(node));
  ++done_;
  const std::span<const NodeId> synchronisations = graph_->synchronisations();
  if (synchronisations_ < synchronisations.size() && synchronisations[synchronisations_] == node) {
    ++synchronisations_;
    synchronised_ = synchronised - graph_->host_ahead(synchronisations_);
  }
  const std::uint32_t stream = streams_->stream_of(node);
  --stream_states_[stream].running;
  std::erase(stream_states_[stream].held, node);
  std::erase(stream_states_[stream].waiting, node);
  touch(stream);
  for (const NodeId successor : graph_->successors(node))
    if (++nodes_.open(index_of(successor)).predecessors_done == graph_->predecessor_count(successor))
      make_ready(successor, now);
  return taken;
}

Duration RankExecution::host_wait(NodeId node, Duration time, Time now) const {
  if (!graph_->has_host()) return Duration::zero();
  const workload::HostWork host = graph_->host(node);
  const std::span<const NodeId> synchronisations = graph_->synchronisations();
  const bool was_launched = synchronisations_ > 0 && node < synchronisations[synchronisations_ - 1];
  if (host.span == Duration::zero() || was_launched) return Duration::zero();
  Duration span = host.span;
  const Duration nominal = graph_->duration(node).value_or(time);
  if (nominal != time && nominal > Duration::zero() && span > host.launches) {
    const Int128 kernels = Int128{(span - host.launches).count()} * time.count() / nominal.count();
    span = saturating_add(host.launches,
                          Duration(static_cast<std::int64_t>(std::min<Int128>(kernels, Duration::max().count()))));
  }
  const Duration ends = saturating_add(host_turns_to(node).time_since_epoch(), span);
  return std::max(Duration::zero(), ends - saturating_add(now.time_since_epoch(), time));
}

bool RankExecution::is_behind_host(NodeId node) const {
  const std::span<const NodeId> synchronisations = graph_->synchronisations();
  return synchronisations_ < synchronisations.size() && node > synchronisations[synchronisations_];
}

std::optional<std::uint32_t> RankExecution::runs_if_free(NodeId node) const {
  const StreamState& state = stream_states_[streams_->stream_of(node)];
  if (state.running > 0 || !state.ready.empty()) return std::nullopt;
  return state.runs;
}

void RankExecution::call(NodeId node) {
  const State now = state(node);
  if (now == State::kRunning || now == State::kDone) return;
  const std::uint32_t stream = streams_->stream_of(node);
  stream_states_[stream].called.push_back(node);
  touch(stream);
}

void RankExecution::hold(NodeId node) {
  if (state(node) == State::kRunning) stream_states_[streams_->stream_of(node)].held.push_back(node);
}

void RankExecution::await_receive(NodeId node) {
  const std::uint32_t stream = streams_->stream_of(node);
  stream_states_[stream].waiting.push_back(node);
  touch(stream);
}

RankExecution::State RankExecution::state(NodeId node) const {
  if (nodes_.has_finished_page(index_of(node))) return State::kDone;
  const Node* found = nodes_.find(index_of(node));
  const std::uint32_t done = found == nullptr ? 0 : found->predecessors_done;
  if (done == kDone) return State::kDone;
  if (done == kRunning) return State::kRunning;
  return done == graph_->predecessor_count(node) ? State::kReady : State::kBlocked;
}

void RankExecution::make_ready(NodeId node, Time now) {
  if (graph_->repetition(node)) ready_repetitions_.emplace_back(node, now);
  const std::uint32_t stream = streams_->stream_of(node);
  if (!streams_->streams()[stream].in_order) {
    std::vector<NodeId>& ready = stream_states_[stream].ready;
    ready.push_back(node);
    std::ranges::push_heap(ready, std::ranges::greater{});
  }
  touch(stream);
}

void RankExecution::touch(std::uint32_t stream) {
  if (stream_states_[stream].touched) return;
  stream_states_[stream].touched = true;
  touched_.push_back(stream);
}

std::optional<NodeId> RankExecution::take_from(std::uint32_t stream) {
  const Stream& kind = streams_->streams()[stream];
  StreamState& state = stream_states_[stream];
  if (kind.exclusive && state.running > state.waiting.size())
    return state.held.empty() ? take_called(state) : std::nullopt;
  if (kind.in_order) {
    const auto sequence = streams_->sequence(stream);
    if (state.cursor == sequence.size() || this->state(sequence[state.cursor]) != State::kReady) return std::nullopt;
    return sequence[state.cursor++];
  }
  if (state.ready.empty()) return std::nullopt;
  if (kind.kind == workload::NodeKind::kCompute && is_behind_host(state.ready.front())) return std::nullopt;
  std::ranges::pop_heap(state.ready, std::ranges::greater{});
  const NodeId node = state.ready.back();
  state.ready.pop_back();
  std::erase(state.called, node);
  return node;
}

// The smallest id that is both ready and called.
std::optional<NodeId> RankExecution::take_called(StreamState& stream) {
  std::optional<NodeId> first;
  for (const NodeId node : stream.called)
    if ((!first || node < *first) && std::ranges::find(stream.ready, node) != stream.ready.end()) first = node;
  if (!first) return std::nullopt;
  std::erase(stream.called, *first);
  std::erase(stream.ready, *first);
  std::ranges::make_heap(stream.ready, std::ranges::greater{});
  return first;
}

}  // namespace orrery::system
