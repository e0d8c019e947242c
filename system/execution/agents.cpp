// SPDX-License-Identifier: MIT
#include "system/execution/agents.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "system/execution/calls.h"
#include "system/execution/transfers.h"

namespace orrery::system {
namespace {

// In place of a node, the events that an agent may begin, and that the time has come until which it ran ahead.
constexpr NodeId kBegin{UINT32_MAX};
constexpr NodeId kGoOn{UINT32_MAX - 1};

std::uint64_t pack(std::uint32_t agent, NodeId node) { return std::uint64_t{agent} << 32 | index_of(node); }

}  // namespace

Agents::Agents(Engine& engine, Cast& cast, OperationTimes& times, Calls& calls, Transfers& transfers,
               SimulationObserver& observer, const CollectiveOptions& options)
    : engine_(engine),
      job_(cast.input().job),
      plans_(cast.input().plans),
      placement_(cast.input().placement),
      cast_(cast),
      times_(times),
      calls_(calls),
      transfers_(transfers),
      observer_(observer),
      scope_(options.queue_scope),
      contends_(options.contention && options.library != nullptr && times.is_timed() &&
                std::ranges::any_of(job_.graphs, &workload::ExecutionGraph::has_processor_bounds)),
      repetitions_(cast, times, calls, observer, contends_) {
  std::map<const void*, std::shared_ptr<const StreamTable>> of_forms;
  for (const workload::ExecutionGraph& graph : job_.graphs) {
    std::shared_ptr<const StreamTable>& of_form = of_forms[graph.form()];
    if (of_form == nullptr) of_form = std::make_shared<const StreamTable>(graph, scope_);
    streams_.push_back(of_form);
  }
  agents_.reserve(cast.agents());
  is_touched_.resize(cast.agents());
  for (std::uint32_t i = 0; i < cast.agents(); ++i) {
    const RankId rank = cast.first_rank(i);
    const std::uint32_t graph = job_.ranks.graph(index_of(rank));
    agents_.push_back({.rank = rank,
                       .undisturbed = times.undisturbed(rank),
                       .execution = RankExecution(job_.graphs[graph], *streams_[graph])});
    nodes_total_ += job_.graphs[graph].size();
  }
}

void Agents::begin(const SimulationProgress& progress) {
  progress_ = progress;
  for (std::uint32_t i = 0; i < agents_.size(); ++i) {
    if (!is_waiting_to_begin(agents_[i].rank)) {
      touch(i);
      continue;
    }
    is_touched_[i] = true;
    engine_.at(times_.start(agents_[i].rank), *this, pack(i, kBegin));
  }
  engine_.at(Time{}, *this, kNothing);
}

void Agents::decide() {
  // Sorts by device, so that a shared memory pool serves the requests of one instant in an order that knows no rank
  // numbers.
  const auto device = [&](RankId rank) { return placement_[index_of(rank)]; };
  if (times_.has_shared_memory())
    std::ranges::sort(touched_, {}, [&](std::uint32_t i) { return device(agents_[i].rank); });
  constexpr std::size_t kFetched = 4;  // agents ahead: their state comes from far while others decide
  for (std::size_t i = 0; i < touched_.size(); ++i) {
    if (i + kFetched < touched_.size()) fetch(touched_[i + kFetched]);
    issue(touched_[i]);
  }
  for (const std::uint32_t i : touched_) is_touched_[i] = false;
  touched_.clear();
  // First uses are sorted by device, so that a report names the same first.
  std::ranges::stable_sort(first_uses_, {}, [&](const Cast::FirstUse& use) { return device(use.rank); });
}

void Agents::fetch(std::uint32_t number) const {
  constexpr std::size_t kCacheLine = 64, kLines = 5;  // up to what is rarely looked at
  const auto* const agent = reinterpret_cast<const std::byte*>(&agents_[number]);
  for (std::size_t line = 0; line < kLines; ++line) __builtin_prefetch(agent + line * kCacheLine, 1);
}

void Agents::issue(std::uint32_t number) {
  Agent& agent = agents_[number];
  if (engine_.now() < agent.ahead_until) return;
  std::optional<NodeId> computation;  // the first: if it is all that runs, the rank runs ahead
  while (const std::optional<NodeId> node = agent.execution.take(engine_.now())) {
    if (!agent.execution.is_in_use(*node)) {
      if (!cast_.is_in_use(agent.rank, *node)) {
        first_uses_.push_back({agent.rank, *node});
        continue;
      }
      agent.execution.note_use(*node);
    }
    const bool competes =
        scope_ == QueueScope::kRank && agent.execution.step(*node).kind == workload::NodeKind::kCollective;
    if (competes)
      competing_.push_back({agent.rank, *node});
    else if (!computation && may_run_ahead(agent, *node))
      computation = node;
    else
      start(number, *node);
  }
  if (!computation) return;
  if (agent.execution.running() == 1)
    run_ahead(number, *computation);
  else
    start(number, *computation);
}

// Tells whether the rank does the node by itself, in a time that depends on no other rank.
bool Agents::may_run_ahead(const Agent& agent, NodeId node) const {
  const ProgramStep& step = agent.execution.step(node);
  switch (step.kind) {
    case workload::NodeKind::kCompute:
    case workload::NodeKind::kHostCompute:
    case workload::NodeKind::kCopyToHost:
    case workload::NodeKind::kCopyToDevice:
      return !step.is_repetition;
    default:
      return false;
  }
}

// `node` was taken and is all that runs. What takes no time is done in the round after, and is not run ahead of.
void Agents::run_ahead(std::uint32_t number, NodeId node) {
  Agent& agent = agents_[number];
  Time now = engine_.now();
  Duration time = time_of(agent, node, now);
  if (time == Duration::zero()) return start(number, node);
  for (;;) {
    ++started_;
    if (saturating_add(now.time_since_epoch(), time) == Duration::max()) refuse_time(number, node);
    const Time moving = agent.execution.moving(node);
    now += time;
    end(number, node, moving, now, Duration::zero());
    const std::optional<NodeId> next = agent.execution.only_next();
    if (!next || !may_run_ahead(agent, *next) || !agent.execution.is_in_use(*next)) break;
    time = time_alone(agent, *next, now);
    if (time == Duration::zero()) break;
    node = *agent.execution.take(now);
    time = with_host_wait(agent, node, time, now);
  }
  agent.ahead_until = now;
  engine_.at(now, *this, pack(number, kGoOn));
}

void Agents::start(std::uint32_t number, NodeId node) {
  last_step_ = std::max(last_step_, engine_.now());
  ++started_;
  const RankId rank = agents_[number].rank;
  switch (agents_[number].execution.step(node).kind) {
    case workload::NodeKind::kCollective:
      return calls_.enter(rank, node);
    case workload::NodeKind::kSend:
      return transfers_.start_send(rank, node);
    case workload::NodeKind::kReceive:
      return transfers_.post_receive(rank, node);
    case workload::NodeKind::kNoOp:
    case workload::NodeKind::kHostCompute:
    case workload::NodeKind::kCompute:
    case workload::NodeKind::kMemoryLoad:
    case workload::NodeKind::kMemoryStore:
    case workload::NodeKind::kCopyToHost:
    case workload::NodeKind::kCopyToDevice:
      return start_alone(number, node);
  }
}

void Agents::start_alone(std::uint32_t number, NodeId node) {
  Agent& agent = agents_[number];
  if (agent.execution.step(node).is_repetition) return repeat(number, node);
  if (contends_) {
    const std::optional<std::uint32_t> bound = agent.execution.graph().processor_bound(node);
    if (bound) return compute(number, node, *bound);
  }
  const Duration duration = time_of(agent, node, engine_.now());
  if (saturating_add(engine_.now().time_since_epoch(), duration) == Duration::max()) refuse_time(number, node);
  engine_.after(duration, *this, pack(number, node));
}

void Agents::repeat(std::uint32_t number, NodeId node) {
  Agent& agent = agents_[number];
  if (!agent.device.computations().empty()) throw NotRepeatable{};  // the calls of the stretch would slow them
  agent.repetition = Repeating{node, {}, {}};
  schedule(number, repetitions_.begin(number, agent.execution, node, agent.device.taken()));
}

// Written out, it is known which operation of a repetition does not end.
void Agents::schedule(std::uint32_t number, Time end) {
  Repeating& repetition = *agents_[number].repetition;
  if (end.time_since_epoch() == Duration::max()) throw NotRepeatable{};
  repetition.due = end;
  repetition.event = engine_.at(end, *this, pack(number, repetition.node));
}

void Agents::refuse_time(std::uint32_t number, NodeId node) const {
  const RankId rank = agents_[number].rank;
  throw InputError({job_.ranks.details(index_of(rank)).source},
                   fmt::format("rank {}, {}: it would end beyond 106 days, the end of simulated time", index_of(rank),
                               job_.describe(rank, node)),
                   "look for a duration, size or rate that is off by orders of magnitude");
}

void Agents::compute(std::uint32_t number, NodeId node, std::uint32_t processor_bound) {
  Agent& agent = agents_[number];
  const Time now = engine_.now();
  if (agent.repetition) throw NotRepeatable{};  // its calls would slow this
  const Duration alone = time_alone(agent, node, now);
  const Duration wait = agent.execution.host_wait(node, alone, now);
  const Duration launched = saturating_add(now.time_since_epoch(), saturating_add(alone, wait));
  Computation computation =
      Computation::of(node, alone, processor_bound, now, wait > Duration::zero() ? Time(launched) : now);
  agent.device.computations().push_back(computation);
  adjust(number);
}

void Agents::set_speed(Agent& agent, Computation& computation) {
  const std::uint32_t speed =
      speed_beside(agent.device.taken(), times_.capacity(agent.rank), computation.processor_bound);
  if (speed != computation.speed) computation.go_on(speed, engine_.now());
}

void Agents::schedule(std::uint32_t number, Computation& computation) {
  const Time end = computation.end();
  if (end.time_since_epoch() == Duration::max()) refuse_time(number, computation.node);
  computation.due = end;
  computation.event = engine_.at(computation.due, *this, pack(number, computation.node));
}

void Agents::take_device(RankId rank, NodeId node, const collectives::DeviceShare& share) {
  if (!contends_ || share.is_none()) return;
  const std::uint32_t number = cast_.agent_of(rank);
  agents_[number].device.take(node, share);
  adjust(number);
}

void Agents::hold(RankId rank, NodeId node) {
  const std::uint32_t number = cast_.agent_of(rank);
  agents_[number].execution.hold(node);
  if (!contends_) return;
  agents_[number].device.move(node);
  adjust(number);
}

void Agents::adjust(std::uint32_t number) {
  Agent& agent = agents_[number];
  if (agent.is_adjusted || (agent.device.computations().empty() && !agent.repetition)) return;
  agent.is_adjusted = true;
  adjusted_.push_back(number);
}

void Agents::adjust_speeds() {
  for (const std::uint32_t number : adjusted_) {
    Agent& agent = agents_[number];
    agent.is_adjusted = false;
    if (agent.repetition) adjust_repetition(number);
    for (Computation& computation : agent.device.computations()) {
      set_speed(agent, computation);
      if (computation.is_scheduled() && computation.due <= computation.end()) continue;  // it comes back when due
      engine_.cancel(computation.event);
      schedule(number, computation);
    }
  }
  adjusted_.clear();
}

void Agents::adjust_repetition(std::uint32_t number) {
  Agent& agent = agents_[number];
  const Repeating& repetition = *agent.repetition;
  const Time end = repetitions_.go_on(number, agent.execution, repetition.node, agent.device.taken(), engine_.now());
  if (repetition.event.sequence != 0 && end == repetition.due) return;
  engine_.cancel(repetition.event);
  schedule(number, end);
}

// Time of what a rank does by itself.
Duration Agents::time_alone(const Agent& agent, NodeId node, Time now) {
  if (agent.execution.step(node).kind == workload::NodeKind::kCompute)
    return times_.disturbed(agent.rank, node, agent.undisturbed[agent.execution.graph().amount_number(node)]);
  return times_.take(agent.rank, node, now);
}

// The same with how long it waits for the host.
Duration Agents::time_of(Agent& agent, NodeId node, Time now) {
  return with_host_wait(agent, node, time_alone(agent, node, now), now);
}

Duration Agents::with_host_wait(Agent& agent, NodeId node, Duration time, Time now) {
  if (!times_.is_timed()) return time;
  const Duration wait = agent.execution.host_wait(node, time, now);
  if (wait > Duration::zero()) agent.execution.wait_for_host(node, wait);
  return saturating_add(time, wait);
}

void Agents::on_event(std::uint64_t payload) {
  if (payload == kNothing) return;
  const auto number = static_cast<std::uint32_t>(payload >> 32);
  const NodeId node{static_cast<std::uint32_t>(payload)};
  Agent& agent = agents_[number];
  if (node == kGoOn) return touch(number);
  if (node != kBegin) return end(number, node);
  is_touched_[number] = false;
  agent.execution.begin_at(engine_.now());
  touch(number);
}

void Agents::add_parts(std::uint64_t payload, std::vector<std::uint64_t>& parts) {
  if (payload == kNothing) return;
  for (const std::uint32_t part : cast_.latest_split().parts_of(static_cast<std::uint32_t>(payload >> 32)))
    parts.push_back(pack(part, NodeId(static_cast<std::uint32_t>(payload))));
}

void Agents::complete(RankId rank, NodeId node, Time moving) {
  const std::uint32_t number = cast_.agent_of(rank);
  if (contends_) {
    agents_[number].device.release(node);
    adjust(number);
  }
  end(number, node, moving, engine_.now(), Duration::zero());
}

// Ends a node that the rank runs by itself; a computation that was slowed since its end was scheduled goes on until
// then.
void Agents::end(std::uint32_t number, NodeId node) {
  Agent& agent = agents_[number];
  Computation* computation = contends_ ? agent.device.find(node) : nullptr;
  if (computation != nullptr && computation->end() > engine_.now()) return schedule(number, *computation);
  const Duration slowed = computation == nullptr ? Duration::zero() : finish_computation(number, *computation);
  end(number, node, agent.execution.moving(node), engine_.now(), slowed);
}

// Returns by how much calls beside the computation delayed it, and settles how long it waited for its host.
Duration Agents::finish_computation(std::uint32_t number, const Computation& computation) {
  Agent& agent = agents_[number];
  const NodeId node = computation.node;
  const Duration slowed = computation.done - computation.taken - computation.alone;
  if (computation.not_before > computation.taken) agent.execution.wait_for_host(node, engine_.now() - computation.done);
  agent.device.erase(node);
  return slowed;
}

void Agents::end(std::uint32_t number, NodeId node, Time moving, Time time, Duration slowed) {
  last_step_ = std::max(last_step_, time);
  Agent& agent = agents_[number];
  const workload::ExecutionGraph& graph = agent.execution.graph();
  if (agent.execution.step(node).is_repetition) {
    agent.repetition.reset();
    const Time synchronised = repetitions_.finish(number, agent.execution, node);
    agent.execution.complete(node, time, synchronised);
  } else {
    const Time taken = agent.execution.complete(node, time);
    const OperationRecord operation{node, graph.number(node), taken, moving, time, slowed};
    observer_.finished(agent.rank, operation);
    if (!graph.stretches().empty()) repetitions_.ran(number, graph, operation);
  }
  if (agent.execution.finished()) agent.finish = time;
  touch(number);
  constexpr std::uint64_t kProgressInterval = 4096;
  if (++nodes_done_ % kProgressInterval == 0) report_progress();
}

void Agents::report_progress() const {
  if (progress_) progress_(nodes_done_, nodes_total_);
}

void Agents::call(RankId rank, NodeId node) {
  const std::uint32_t number = cast_.agent_of(rank);
  agents_[number].execution.call(node);
  touch(number);
}

void Agents::await_receive(RankId rank, NodeId node) {
  const std::uint32_t number = cast_.agent_of(rank);
  agents_[number].execution.await_receive(node);
  touch(number);
}

void Agents::touch(std::uint32_t number) {
  if (is_touched_[number]) return;
  is_touched_[number] = true;
  touched_.push_back(number);
}

bool Agents::finished() const {
  return std::ranges::all_of(agents_, [](const Agent& agent) { return agent.execution.finished(); });
}

bool Agents::join_ready_calls() {
  if (joined_at_ == started_ + nodes_done_) return false;  // the last time nobody could
  joined_at_ = started_ + nodes_done_;
  std::set<CallKey> ready;  // calls that some member could join
  for (const Agent& agent : agents_) {
    const workload::ExecutionGraph& graph = agent.execution.graph();
    for (const NodeId node : graph.collectives())
      if (agent.execution.state(node) == RankExecution::State::kReady)
        ready.insert({cast_.home_of(job_.communicator(agent.rank, node)), graph.call_index(node)});
  }
  std::optional<GroupId> joined;
  for (const CallKey call : ready) {
    if (joined == call.group || !all_could_join(call)) continue;
    joined = call.group;  // one call of a communicator: it holds the others up
    calls_.announce(call);
  }
  return joined.has_value();
}

bool Agents::all_could_join(CallKey call) const {
  for (std::uint32_t seat = 0; seat < cast_.call(call).seats(); ++seat) {
    const RankId rank = cast_.holder(call, seat);
    const RankExecution::State state = execution(rank).state(plans_.node_of(call.group, call.index, rank));
    if (state != RankExecution::State::kReady && state != RankExecution::State::kRunning) return false;
  }
  return true;
}

void Agents::start_first_uses() {
  first_uses_.insert(first_uses_.end(), competing_.begin(), competing_.end());
  competing_.clear();
  for (const auto& [rank, node] : first_uses_) {
    const std::uint32_t number = cast_.agent_of(rank);
    start(number, node);
    for (const std::uint32_t part : cast_.latest_split().parts_of(number)) start(part, node);
  }
  first_uses_.clear();
}

void Agents::start_competing() {
  for (const auto& [rank, node] : competing_) start(cast_.agent_of(rank), node);
  competing_.clear();
}

void Agents::split(const ClassSplit& split) {
  std::vector<std::uint32_t> parent(cast_.agents());
  for (const auto& entry : split.parts_of_agent) call_back(entry.first);
  for (const auto& [agent, parts] : split.parts_of_agent)
    for (const std::uint32_t part : parts) parent[part] = agent;
  for (auto part = static_cast<std::uint32_t>(agents_.size()); part < cast_.agents(); ++part) {
    Agent agent = agents_[parent[part]];
    agent.rank = cast_.first_rank(part);
    agent.undisturbed = times_.undisturbed(agent.rank);
    is_touched_.push_back(is_waiting_to_begin(agent.rank));
    agent.is_adjusted = false;
    nodes_total_ += agent.execution.graph().size() - agent.execution.done();
    repetitions_.split(part, parent[part]);
    times_.split(agent.rank, agents_[parent[part]].rank);
    observer_.split(agent.rank, agents_[parent[part]].rank);
    agents_.push_back(std::move(agent));
    adjust(part);
  }
}

// Computations and the repetition of an agent that comes apart are scheduled anew, for each part by itself, when the
// round is over.
void Agents::call_back(std::uint32_t number) {
  if (!contends_) return;
  for (Computation& computation : agents_[number].device.computations()) {
    engine_.cancel(computation.event);
    computation.event = {};
  }
  if (std::optional<Repeating>& repetition = agents_[number].repetition) {
    engine_.cancel(repetition->event);
    repetition->event = {};
  }
  adjust(number);
}

}  // namespace orrery::system
