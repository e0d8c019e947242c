// SPDX-License-Identifier: MIT
#include "report/breakdown.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "core/assert.h"
#include "report/rank_history.h"

namespace orrery::report {
namespace {

// Most stretches of which the time is kept from rank to rank.
constexpr std::size_t kMostTimes = 1024;

}  // namespace

Duration Breakdown::exposed_total() const {
  Duration total{};
  for (const auto& [name, time] : exposed) total += time;
  return total;
}

Breakdown TimeAccount::of(RankId rank, std::span<const system::OperationRecord> operations, Time end) {
  take_up(rank);
  repeated_.clear();
  account(operations, end);
  return named(rank, result_, in_collectives_, end);
}

Breakdown TimeAccount::of(RankId rank, const OperationLog& log, Time end) {
  if (!alike_) alike_.emplace(log);
  const auto [known, is_new] = known_.try_emplace({alike_->first(rank), job_.ranks[index_of(rank)].graph});
  Known& own = known->second;
  if (is_new) {
    take_up(rank);
    log.of(rank, operations_, repeated_,
           [&](const RepeatedStretch& stretch) { return !time_of(stretch).concerns_host(); });
    account(operations_, end);
    own = {std::move(result_), in_collectives_};
  }
  return named(rank, own.common, own.in_collectives, end);
}

void TimeAccount::account(std::span<const system::OperationRecord> operations, Time end) {
  sort_starts(operations);
  Time first = take_stretches();
  if (graph_->has_host()) {
    for (const system::OperationRecord& operation : operations) first = std::min(first, operation.start);
    if (first < Time::max()) host_free_ = paced_until_ = first;
  }
  auto next = starts_.begin();
  for (const system::OperationRecord& operation : operations) {
    for (; next != starts_.end() && next->time < operation.end; ++next) {
      book_until(next->time);
      start(operations[next->operation], next->stage);
    }
    if (!synchronises_.empty()) follow_host(operation);
    if (operation.start == operation.end) continue;
    book_until(operation.end);
    finish(operation);
    result_.finish = operation.end;
  }
  for (const Stretch& stretch : stretches_) result_.finish = std::max(result_.finish, stretch.end());
  book_until(end);
  for (std::uint32_t slot = 0; slot < in_transfers_.size(); ++slot)
    if (in_transfers_[slot] > Duration::zero()) result_.exposed[std::string(peer_family(slot))] += in_transfers_[slot];
}

Breakdown TimeAccount::named(RankId rank, const Breakdown& common, std::span<const Duration> in_collectives,
                             Time end) const {
  Breakdown result = common;
  for (std::uint32_t slot = 0; slot < in_collectives.size(); ++slot)
    if (in_collectives[slot] > Duration::zero())
      result.exposed[job_.communicators[index_of(job_.ranks.communicator(index_of(rank), slot))].name] +=
          in_collectives[slot];
  ORRERY_ASSERT(result.compute + result.exposed_total() + result.bubble + result.wait + result.idle ==
                end.time_since_epoch());
  return result;
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
  if (times_.size() > kMostTimes) times_.clear();
  if (graph_ == &graph) return;
  graph_ = &graph;
  graph_number_ = job_.ranks.graph(index_of(rank));
  take_uses(graph);
  times_.clear();
  position_.clear();
  if (!graph.stretches().empty()) return;
  position_.resize(graph.size());
  std::uint32_t position = 0;
  for (const NodeId node : graph.order()) position_[index_of(node)] = position++;
}

void TimeAccount::take_uses(const workload::ExecutionGraph& graph) {
  std::array<Use, workload::kNodeKindCount> of_kind{};
  for (std::size_t kind = 0; kind < of_kind.size(); ++kind)
    of_kind[kind] = use_of(static_cast<workload::NodeKind>(kind));
  uses_.resize(graph.size());
  synchronises_.assign(graph.has_host() ? graph.size() : 0, false);
  for (std::uint32_t node = 0; node < graph.size(); ++node)
    uses_[node] = of_kind[static_cast<std::size_t>(graph.kind(NodeId(node)))];
  if (!graph.has_host()) return;
  for (const NodeId node : graph.synchronisations()) synchronises_[index_of(node)] = graph.host(node).synchronises;
}

TimeAccount::Use TimeAccount::use_of(workload::NodeKind kind) const {
  const bool has_input = job_.facts(graph_number_).has_input_nodes;
  switch (kind) {
    case workload::NodeKind::kNoOp:
      return Use::kNone;
    case workload::NodeKind::kCompute:
      return Use::kCompute;
    case workload::NodeKind::kMemoryLoad:
      return has_input ? Use::kReading : Use::kMemory;
    case workload::NodeKind::kMemoryStore:
      return has_input ? Use::kSaving : Use::kMemory;
    case workload::NodeKind::kHostCompute:
      return has_input ? Use::kReading : Use::kHost;
    case workload::NodeKind::kCollective:
    case workload::NodeKind::kSend:
    case workload::NodeKind::kReceive:
    case workload::NodeKind::kCopyToHost:
    case workload::NodeKind::kCopyToDevice:
      return Use::kCommunication;
  }
  return Use::kNone;
}

const StretchTime& TimeAccount::time_of(const RepeatedStretch& stretch) {
  std::unique_ptr<StretchTime>& known = times_[stretch.kind];
  if (!known) known = std::make_unique<StretchTime>(*graph_, *stretch.kind);
  return *known;
}

// Returns the first start of an operation in them.
Time TimeAccount::take_stretches() {
  stretches_.clear();
  under_way_.clear();
  next_stretch_ = 0;
  Time first = Time::max();
  for (const RepeatedStretch& stretch : repeated_) {
    const StretchTime& time = time_of(stretch);
    if (time.has_parts()) first = std::min(first, stretch.begin + time.first_start());
    if (time.takes_time()) stretches_.push_back({&time, stretch.begin, stretch.number});
  }
  std::ranges::sort(stretches_, {}, &Stretch::begin);
  return first;
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
    if (use(operation.node) != Use::kCompute) continue;
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
  switch (use(operation.node)) {
    case Use::kNone:
      return;
    case Use::kCompute:
      if (stage == Stage::kLaunched) --busy(Busy::kHost);
      if (stage == Stage::kOverdue) --busy(Busy::kDevice);
      if (stage == Stage::kOverdue)
        ++busy(Busy::kSlowed);
      else
        ++busy(operation.moving > operation.start && stage == Stage::kBegun ? Busy::kHost : Busy::kDevice);
      return;
    case Use::kMemory:
      ++busy(Busy::kMemory);
      return;
    case Use::kHost:
      ++busy(Busy::kHost);
      return;
    case Use::kReading:
      ++loading_;
      return open(operation);
    case Use::kCommunication:
    case Use::kSaving:
      return open(operation);
  }
}

void TimeAccount::open(const system::OperationRecord& operation) {
  open_.push_back({position_.empty() ? operation.number : position_[index_of(operation.node)], &operation});
  std::ranges::push_heap(open_, std::greater{});
}

void TimeAccount::finish(const system::OperationRecord& operation) {
  switch (use(operation.node)) {
    case Use::kCompute:
      --busy(operation.slowed > Duration::zero() ? Busy::kSlowed : Busy::kDevice);
      return;
    case Use::kMemory:
      --busy(Busy::kMemory);
      return;
    case Use::kHost:
      --busy(Busy::kHost);
      return;
    case Use::kReading:
      --loading_;
      return;
    case Use::kNone:
    case Use::kCommunication:  // the heap finds out
    case Use::kSaving:
      return;
  }
}

void TimeAccount::follow_host(const system::OperationRecord& operation) {
  if (use(operation.node) == Use::kCompute && operation.moving > operation.start) {
    const Duration launches = graph_->host(operation.node).launches;
    const Time turns_to = host_free_ + (graph_->host_before(operation.node) - graph_->host_ahead(synchronisations_));
    const Time launched = launched_at(*graph_, operation, turns_to + launches);
    const Time from = std::max(host_free_, paced_until_);
    result_.host_pace += std::max(Duration::zero(), launched - from);
    paced_until_ = std::max(from, launched);
  }
  if (!synchronises_[index_of(operation.node)]) return;
  ++synchronisations_;
  host_free_ = operation.end;
}

// Books the time from now_ on, in which the same operations are under way but for those of stretches.
void TimeAccount::book_until(Time time) {
  if (time == now_) return;
  if (loading_ > 0) result_.loading += time - now_;
  while (!open_.empty() && open_.front().operation->end <= now_) {
    std::ranges::pop_heap(open_, std::greater{});
    open_.pop_back();
  }
  while (now_ < time && (!under_way_.empty() || next_stretch_ < stretches_.size())) {
    std::erase_if(under_way_, [&](const Stretch& stretch) { return stretch.end() <= now_; });
    for (; next_stretch_ < stretches_.size() && stretches_[next_stretch_].begin() <= now_; ++next_stretch_)
      under_way_.push_back(stretches_[next_stretch_]);
    Time until = time;
    if (next_stretch_ < stretches_.size()) until = std::min(until, stretches_[next_stretch_].begin());
    for (const Stretch& stretch : under_way_) until = std::min(until, stretch.end());
    if (under_way_.empty())
      book(until);
    else if (under_way_.size() == 1 && open_.empty() && !is_busy())
      book_stretch(under_way_.front(), until);
    else
      book_together(until);
    now_ = until;
  }
  if (now_ < time) book(time);
  now_ = time;
}

// Books the time until then, in which no stretch is under way.
void TimeAccount::book(Time until) {
  const Duration span = until - now_;
  if (is_busy()) {
    result_.compute += span;
    if (busy(Busy::kDevice) == 0)
      (busy(Busy::kMemory) > 0 ? result_.memory : busy(Busy::kSlowed) > 0 ? result_.slowed : result_.host) += span;
  } else if (open_.empty()) {
    result_.idle += span;
  } else {
    book_blocked(*open_.front().operation, until);
  }
}

// Books the time until then, in which nothing but the stretch is under way.
void TimeAccount::book_stretch(const Stretch& stretch, Time until) {
  const Duration from = now_ - stretch.origin, to = until - stretch.origin;
  const StretchTime::Sums sums = stretch.time->sums_between(from, to);
  result_.compute += sums.compute;
  result_.slowed += sums.slowed;
  result_.idle += sums.idle;
  const auto slots = stretch.time->slots();
  for (std::size_t place = 0; place < slots.size(); ++place)
    in_collectives_[slots[place]] += stretch.time->exposed_between(from, to, place);
}

// Books the stretches under way step by step, with what else is under way until then.
void TimeAccount::book_together(Time until) {
  for (Stretch& stretch : under_way_) stretch.step = stretch.time->step_at(now_ - stretch.origin);
  for (; now_ < until;) {
    Time next = until;
    bool device = busy(Busy::kDevice) != 0, slowed = busy(Busy::kSlowed) > 0, is_any_busy = is_busy();
    const StretchTime::Step* first = nullptr;
    std::uint32_t first_position = open_.empty() ? UINT32_MAX : open_.front().position;
    for (const Stretch& stretch : under_way_) {
      const StretchTime::Step& step = stretch.time->steps()[stretch.step];
      next = std::min(next, stretch.origin + stretch.time->steps()[stretch.step + 1].from);
      device = device || step.device;
      slowed = slowed || step.slowed;
      is_any_busy = is_any_busy || step.device || step.slowed;
      if (!step.calls || stretch.number + step.first > first_position) continue;
      first = &step;
      first_position = stretch.number + step.first;
    }
    const Duration span = next - now_;
    if (is_any_busy) {
      result_.compute += span;
      if (!device) (busy(Busy::kMemory) > 0 ? result_.memory : slowed ? result_.slowed : result_.host) += span;
    } else if (first != nullptr) {
      in_collectives_[first->slot] += span;
    } else if (open_.empty()) {
      result_.idle += span;
    } else {
      book_blocked(*open_.front().operation, next);
    }
    now_ = next;
    for (Stretch& stretch : under_way_)
      if (stretch.origin + stretch.time->steps()[stretch.step + 1].from <= now_) ++stretch.step;
  }
}

// Traces do not say what their messages are for; mostly pipelines send them.
void TimeAccount::book_blocked(const system::OperationRecord& first, Time until) {
  if (const Use what = use(first.node); what == Use::kReading || what == Use::kSaving) {
    result_.exposed[what == Use::kSaving ? kCheckpoint : kInput] += until - now_;
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
