// SPDX-License-Identifier: MIT
#include "system/execution/replay.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "system/execution/contention.h"

namespace orrery::system {

using workload::NodeKind;

void require_repeatable(bool condition) {
  if (!condition) throw NotRepeatable{};
}

bool OutsideUse::operator<(const OutsideUse& other) const {
  return std::tuple(since, share.processors, share.memory_rate) <
         std::tuple(other.since, other.share.processors, other.share.memory_rate);
}

Replay::Replay(const workload::ExecutionGraph& graph, const workload::Stretch& stretch,
               std::vector<OperationRecord> first_run, std::optional<ContendedDevice> device)
    : graph_(graph), stretch_(stretch), first_run_(std::move(first_run)), device_(std::move(device)) {
  nodes_.resize(stretch.count);
  std::map<std::pair<NodeKind, std::uint32_t>, std::uint32_t> streams;  // by kind, and communicator or no-op
  Duration all{};
  for (std::uint32_t offset = 0; offset < stretch.count; ++offset) {
    const OperationRecord& operation = first_run_[offset];
    const NodeKind kind = graph.kind(operation.node);
    Node& node = nodes_[offset];
    const std::uint32_t slot = kind == NodeKind::kNoOp         ? offset
                               : kind == NodeKind::kCollective ? graph.communicator_slot(operation.node)
                                                               : 0;
    node.stream = streams.try_emplace({kind, slot}, static_cast<std::uint32_t>(streams.size())).first->second;
    node.time = operation.end - operation.moving - operation.slowed;
    if (device_ && kind == NodeKind::kCompute) node.processor_bound = graph.processor_bound(operation.node);
    for (const NodeId after : graph.successors(operation.node))
      if (stretch.holds(after)) ++nodes_[offset_of(after)].waits_for;
    all = saturating_add(all, node.time);
  }
  streams_ = static_cast<std::uint32_t>(streams.size());
  require_repeatable(all < Duration::max() / 4);
  if (graph.has_host()) take_host();
}

void Replay::take_host() {
  Duration before{};
  std::optional<std::uint32_t> synchronisation;
  for (std::uint32_t offset = 0; offset < stretch_.count; ++offset) {
    const workload::HostWork host = graph_.host(first_run_[offset].node);
    nodes_[offset].synchronisation = synchronisation;
    if (host.span > Duration::zero()) nodes_[offset].until_end = before + host.span;
    before += host.launches;
    if (!host.synchronises) continue;
    synchronisation = offset;
    before = Duration::zero();
  }
}

// One run.
class ReplayRun {
 public:
  ReplayRun(const Replay& replay, std::span<const OutsideUse> outside)
      : replay_(replay),
        outside_(outside),
        operations_(replay.first_run_),
        ready_(replay.streams_),
        is_busy_(replay.streams_),
        is_done_(operations_.size()) {
    for (const Replay::Node& node : replay.nodes_) waits_for_.push_back(node.waits_for);
  }

  std::vector<OperationRecord> run() && {
    for (std::uint32_t offset = 0; offset < waits_for_.size(); ++offset)
      if (waits_for_[offset] == 0) make_ready(offset);
    for (;;) {
      start_all();
      set_speed();
      if (running_.empty() && !computation_) break;
      go_on();
    }
    require_repeatable(std::ranges::count(is_done_, true) == static_cast<std::ptrdiff_t>(is_done_.size()));
    return std::move(operations_);
  }

 private:
  const Replay::Node& node(std::uint32_t offset) const { return replay_.nodes_[offset]; }

  // The ready ones of a stream start in the order of their numbers.
  void make_ready(std::uint32_t offset) {
    std::vector<std::uint32_t>& ready = ready_[node(offset).stream];
    ready.insert(std::ranges::upper_bound(ready, offset), offset);
  }

  void start_all() {
    for (std::uint32_t stream = 0; stream < ready_.size(); ++stream) {
      std::vector<std::uint32_t>& ready = ready_[stream];
      if (ready.empty() || is_busy_[stream]) continue;
      const std::uint32_t offset = ready.front();
      const std::optional<std::uint32_t> synchronisation = node(offset).synchronisation;
      const bool is_computation = replay_.graph_.kind(operations_[offset].node) == NodeKind::kCompute;
      if (is_computation && synchronisation && !is_done_[*synchronisation]) continue;
      ready.erase(ready.begin());
      is_busy_[stream] = true;
      start(offset, is_computation ? host_wait(offset) : Duration::zero());
    }
  }

  // Wait as in RankExecution::host_wait(), behind a synchronisation of the stretch.
  Duration host_wait(std::uint32_t offset) const {
    const Replay::Node& node = this->node(offset);
    if (!node.synchronisation || !node.until_end || (synchronised_ && offset < *synchronised_)) return Duration::zero();
    const Time launched = operations_[*node.synchronisation].end + *node.until_end;
    return std::max(Duration::zero(), launched - (now_ + node.time));
  }

  void start(std::uint32_t offset, Duration wait) {
    OperationRecord& operation = operations_[offset];
    const Duration time = node(offset).time;
    operation.start = now_;
    operation.moving = now_ + wait;
    operation.end = operation.moving + time;
    operation.slowed = Duration::zero();
    if (const std::optional<std::uint32_t> bound = node(offset).processor_bound) {
      const Time not_before = wait > Duration::zero() ? operation.end : now_;
      computation_ = Computation::of(NodeId(offset), time, *bound, now_, not_before);
      return;
    }
    running_.push_back(offset);
    take(offset, true);
  }

  void take(std::uint32_t offset, bool begins) {
    if (!replay_.device_) return;
    const collectives::DeviceShare& share = replay_.device_->takes[offset];
    taken_.processors += begins ? share.processors : 0 - share.processors;
    taken_.memory_rate += begins ? share.memory_rate : -share.memory_rate;
  }

  void set_speed() {
    while (use_ < outside_.size() && Time(outside_[use_].since) <= now_) ++use_;
    if (!computation_) return;
    const collectives::DeviceShare outside = use_ == 0 ? collectives::DeviceShare{} : outside_[use_ - 1].share;
    const collectives::DeviceShare taken{taken_.processors + outside.processors,
                                         taken_.memory_rate + outside.memory_rate};
    const std::uint32_t speed = speed_beside(taken, replay_.device_->capacity, computation_->processor_bound);
    if (speed != computation_->speed) computation_->go_on(speed, now_);
  }

  // To the next time at which something ends or calls outside take another part.
  void go_on() {
    Time next = computation_ ? computation_->end() : Time::max();
    for (const std::uint32_t offset : running_) next = std::min(next, operations_[offset].end);
    if (use_ < outside_.size()) next = std::min(next, Time(outside_[use_].since));
    now_ = next;
    finish_ended();
  }

  void finish_ended() {
    std::vector<std::uint32_t> ended;
    const bool has_computed = computation_ && computation_->end() == now_;
    for (const std::uint32_t offset : running_)
      if (operations_[offset].end == now_) ended.push_back(offset);
    std::erase_if(running_, [&](std::uint32_t offset) { return operations_[offset].end == now_; });
    for (const std::uint32_t offset : ended) {
      const OperationRecord& operation = operations_[offset];
      // In which round of the instant a call ends depends on how its data move.
      require_repeatable(ended.size() + (has_computed ? 1 : 0) == 1 || operation.start == operation.end ||
                         replay_.graph_.kind(operation.node) != NodeKind::kCollective);
      take(offset, false);
    }
    if (has_computed) ended.push_back(finish_computation());
    for (const std::uint32_t offset : ended) finish(offset);
  }

  std::uint32_t finish_computation() {
    const auto offset = index_of(computation_->node);
    OperationRecord& operation = operations_[offset];
    const Duration wait = now_ - computation_->done;
    operation.moving = computation_->not_before > computation_->taken ? operation.start + wait : operation.start;
    operation.end = now_;
    operation.slowed = computation_->done - computation_->taken - computation_->alone;
    computation_.reset();
    return offset;
  }

  void finish(std::uint32_t offset) {
    is_busy_[node(offset).stream] = false;
    is_done_[offset] = true;
    const NodeId done = operations_[offset].node;
    if (replay_.graph_.has_host() && replay_.graph_.host(done).synchronises) synchronised_ = offset;
    for (const NodeId after : replay_.graph_.successors(done))
      if (replay_.stretch_.holds(after) && --waits_for_[replay_.offset_of(after)] == 0)
        make_ready(replay_.offset_of(after));
  }

  const Replay& replay_;
  std::span<const OutsideUse> outside_;
  std::size_t use_ = 0;  // of them, those whose time has come
  std::vector<OperationRecord> operations_;
  std::vector<std::uint32_t> waits_for_;
  std::vector<std::vector<std::uint32_t>> ready_;  // by stream
  std::vector<bool> is_busy_, is_done_;
  std::vector<std::uint32_t> running_;         // all but a computation that may be slowed
  std::optional<Computation> computation_;     // the stretch has one stream of them
  collectives::DeviceShare taken_;             // by its own calls
  std::optional<std::uint32_t> synchronised_;  // latest synchronisation that is done
  Time now_{};
};

std::vector<OperationRecord> Replay::run(std::span<const OutsideUse> outside) const {
  return ReplayRun(*this, outside).run();
}

}  // namespace orrery::system
