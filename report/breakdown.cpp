// SPDX-License-Identifier: MIT
#include "report/breakdown.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "core/assert.h"
#include "report/rank_history.h"

namespace orrery::report {

Duration Breakdown::exposed_total() const {
  Duration total{};
  for (const auto& [name, time] : exposed) total += time;
  return total;
}

Breakdown TimeAccount::of(RankId rank, std::span<const system::OperationRecord> operations, Time end) {
  take_up(rank);
  sort_starts(operations);
  if (graph_->has_host() && !operations.empty())
    host_free_ = paced_until_ = std::ranges::min_element(operations, {}, &system::OperationRecord::start)->start;
  auto next = starts_.begin();
  for (const system::OperationRecord& operation : operations) {
    for (; next != starts_.end() && next->time < operation.end; ++next) {
      book_until(next->time);
      start(operations[next->operation], next->stage);
    }
    if (graph_->has_host()) follow_host(operation);
    if (operation.start == operation.end) continue;
    book_until(operation.end);
    finish(operation);
    result_.finish = operation.end;
  }
  book_until(end);
  for (std::uint32_t slot = 0; slot < in_collectives_.size(); ++slot)
    if (in_collectives_[slot] > Duration::zero())
      result_.exposed[job_.communicators[index_of(job_.ranks[index_of(rank)].communicators[slot])].name] +=
          in_collectives_[slot];
  for (std::uint32_t slot = 0; slot < in_transfers_.size(); ++slot)
    if (in_transfers_[slot] > Duration::zero()) result_.exposed[std::string(peer_family(slot))] += in_transfers_[slot];
  ORRERY_ASSERT(result_.compute + result_.exposed_total() + result_.bubble + result_.wait + result_.idle ==
                end.time_since_epoch());
  return std::move(result_);
}

void TimeAccount::take_up(RankId rank) {
  result_ = {};
  now_ = Time{};
  busy_ = {};
  loading_ = 0;
  synchronisations_ = 0;
  open_.clear();
  const workload::ExecutionGraph& graph = job_.graph(rank);
  in_collectives_.assign(graph.communicator_slots(), Duration::zero());
  in_transfers_.assign(graph.peer_slots(), Duration::zero());
  if (graph_ == &graph) return;
  graph_ = &graph;
  graph_number_ = job_.ranks[index_of(rank)].graph;
  position_.clear();
  if (!graph.stretches().empty()) return;
  position_.resize(graph.size());
  std::uint32_t position = 0;
  for (const NodeId node : graph.order()) position_[index_of(node)] = position++;
}

// Most operations start in the order in which they end: only the others are sorted.
void TimeAccount::sort_starts(std::span<const system::OperationRecord> operations) {
  starts_.clear();
  late_.clear();
  for (std::uint32_t i = 0; i < operations.size(); ++i) {
    const system::OperationRecord& operation = operations[i];
    if (operation.start == operation.end) continue;
    const auto add = [&](Time time, Stage stage) {
      const bool in_order = starts_.empty() || starts_.back().time <= time;
      (in_order ? starts_ : late_).push_back({time, i, stage});
    };
    add(operation.start, Stage::kBegun);
    if (graph_->kind(operation.node) != workload::NodeKind::kCompute) continue;
    if (operation.moving > operation.start) add(operation.moving, Stage::kLaunched);
    if (operation.slowed > Duration::zero()) add(operation.end - operation.slowed, Stage::kOverdue);
  }
  if (late_.empty()) return;
  std::ranges::sort(late_, std::less{});
  merged_.clear();
  std::ranges::merge(starts_, late_, std::back_inserter(merged_), std::less{});
  starts_.swap(merged_);
}

void TimeAccount::start(const system::OperationRecord& operation, Stage stage) {
  if (is_input(operation.node)) {
    if (!is_checkpoint(operation.node)) ++loading_;
    return open(operation);
  }
  switch (graph_->kind(operation.node)) {
    case workload::NodeKind::kNoOp:
      return;
    case workload::NodeKind::kCompute:
      if (stage == Stage::kLaunched) --busy(Busy::kHost);
      if (stage == Stage::kOverdue) --busy(Busy::kDevice);
      if (stage == Stage::kOverdue)
        ++busy(Busy::kSlowed);
      else
        ++busy(operation.moving > operation.start && stage == Stage::kBegun ? Busy::kHost : Busy::kDevice);
      return;
    case workload::NodeKind::kMemoryLoad:
    case workload::NodeKind::kMemoryStore:
      ++busy(Busy::kMemory);
      return;
    case workload::NodeKind::kHostCompute:
      ++busy(Busy::kHost);
      return;
    case workload::NodeKind::kCollective:
    case workload::NodeKind::kSend:
    case workload::NodeKind::kReceive:
    case workload::NodeKind::kCopyToHost:
    case workload::NodeKind::kCopyToDevice:
      return open(operation);
  }
}

void TimeAccount::open(const system::OperationRecord& operation) {
  open_.push_back({position_.empty() ? operation.number : position_[index_of(operation.node)], &operation});
  std::ranges::push_heap(open_, std::greater{});
}

bool TimeAccount::is_input(NodeId node) const {
  const workload::NodeKind kind = graph_->kind(node);
  return job_.facts(graph_number_).has_input_nodes &&
         (kind == workload::NodeKind::kHostCompute || kind == workload::NodeKind::kMemoryLoad ||
          kind == workload::NodeKind::kMemoryStore);
}

void TimeAccount::finish(const system::OperationRecord& operation) {
  if (is_input(operation.node)) {  // the heap finds out
    if (!is_checkpoint(operation.node)) --loading_;
    return;
  }
  switch (graph_->kind(operation.node)) {
    case workload::NodeKind::kCompute:
      --busy(operation.slowed > Duration::zero() ? Busy::kSlowed : Busy::kDevice);
      return;
    case workload::NodeKind::kMemoryLoad:
    case workload::NodeKind::kMemoryStore:
      --busy(Busy::kMemory);
      return;
    case workload::NodeKind::kHostCompute:
      --busy(Busy::kHost);
      return;
    case workload::NodeKind::kNoOp:
    case workload::NodeKind::kCollective:  // the heap finds out
    case workload::NodeKind::kSend:
    case workload::NodeKind::kReceive:
    case workload::NodeKind::kCopyToHost:
    case workload::NodeKind::kCopyToDevice:
      return;
  }
}

void TimeAccount::follow_host(const system::OperationRecord& operation) {
  const workload::HostWork host = graph_->host(operation.node);
  if (graph_->kind(operation.node) == workload::NodeKind::kCompute && operation.moving > operation.start) {
    const Time turns_to = host_free_ + (graph_->host_before(operation.node) - graph_->host_ahead(synchronisations_));
    const Time launched = launched_at(*graph_, operation, turns_to + host.launches);
    const Time from = std::max(host_free_, paced_until_);
    result_.host_pace += std::max(Duration::zero(), launched - from);
    paced_until_ = std::max(from, launched);
  }
  if (!host.synchronises) return;
  ++synchronisations_;
  host_free_ = operation.end;
}

// The same is under way from now_ to `time`.
void TimeAccount::book_until(Time time) {
  const Duration span = time - now_;
  if (span == Duration::zero()) return;
  if (loading_ > 0) result_.loading += span;
  while (!open_.empty() && open_.front().operation->end <= now_) {
    std::ranges::pop_heap(open_, std::greater{});
    open_.pop_back();
  }
  if (std::ranges::any_of(busy_, [](int count) { return count > 0; })) {
    result_.compute += span;
    if (busy(Busy::kDevice) == 0)
      (busy(Busy::kMemory) > 0 ? result_.memory : busy(Busy::kSlowed) > 0 ? result_.slowed : result_.host) += span;
  } else if (open_.empty()) {
    result_.idle += span;
  } else {
    book_blocked(*open_.front().operation, time);
  }
  now_ = time;
}

// Traces do not say what their messages are for; mostly pipelines send them.
void TimeAccount::book_blocked(const system::OperationRecord& first, Time until) {
  if (is_input(first.node)) {
    result_.exposed[is_checkpoint(first.node) ? kCheckpoint : kInput] += until - now_;
    return;
  }
  if (workload::is_host_copy(graph_->kind(first.node))) {
    result_.exposed[kOffload] += until - now_;
    return;
  }
  const Time moving = std::clamp(first.moving, now_, until);
  if (graph_->kind(first.node) == workload::NodeKind::kCollective) {
    result_.wait += moving - now_;
    in_collectives_[graph_->communicator_slot(first.node)] += until - moving;
    return;
  }
  const std::uint32_t slot = graph_->peer_slot(first.node);
  const std::string_view family = peer_family(slot);
  (family == "pipeline" || family == "p2p" ? result_.bubble : result_.wait) += moving - now_;
  in_transfers_[slot] += until - moving;
}

std::string_view TimeAccount::peer_family(std::uint32_t peer_slot) const {
  const std::vector<std::string>& families = job_.facts(graph_number_).peer_families;
  return families.empty() ? "p2p" : std::string_view(families[peer_slot]);
}

}  // namespace orrery::report
