// SPDX-License-Identifier: MIT
#include "system/tape/tape.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "system/execution/host_launch.h"
#include "system/execution/replay.h"
#include "system/tape/payload.h"

namespace orrery::system {

using workload::NodeKind;

Tape::Tape(Engine& engine, Cast& cast, OperationTimes& times, const CollectiveOptions& options)
    : engine_(engine),
      job_(cast.input().job),
      cast_(cast),
      times_(times),
      options_(options),
      contends_(options.contention && options.library != nullptr && times.is_timed() &&
                std::ranges::any_of(job_.graphs, &workload::ExecutionGraph::has_processor_bounds)) {}

Tape::~Tape() = default;

std::string_view Tape::run(const SimulationProgress& progress) {
  progress_ = progress;
  try {
    set_up();
    engine_.at(Time{}, *this, payload(TapeEvent::kNothing, 0));
    engine_.run(*this);
    if (nodes_done_ != nodes_total_) return "ranks wait for each other";
  } catch (const Refused& refused) {
    return refused.why;
  } catch (const NotRepeatable&) {
    return "a repetition would not be exact";
  } catch (const InputError&) {
    return "it does not end well";  // the engine says when and where
  }
  if (progress_) progress_(nodes_done_, nodes_total_);
  return {};
}

void Tape::on_event(std::uint64_t event) {
  const std::uint32_t number = number_in(event);
  switch (event_in(event)) {
    case TapeEvent::kNothing:
      return;
    case TapeEvent::kComputed:
      return end_computation(number);
    case TapeEvent::kCallBegins: {
      const Home& home = homes_[number];
      cast_.input().network.start({home.kinds[home.kind].path, Bytes(0), this, kIsCall | number});
      return;
    }
    case TapeEvent::kCallEnds:
      return end_call(number, engine_.now());
    case TapeEvent::kSends:
      agents_[number].peers[slot_in(event)].asked = kUnknown;
      return send_what_can(number, slot_in(event));
    case TapeEvent::kMessageBegins: {
      const Message& message = messages_[number];
      const std::uint32_t slot = agents_[message.agent].program->graph().peer_slot(message.node);
      cast_.input().network.start({agents_[message.agent].peers[slot].path, message.costs.bytes, this, number});
      return;
    }
  }
}

void Tape::run_ahead() {
  while (!ready_.empty()) {
    const ReadyNode next = ready_.back();
    ready_.pop_back();
    start(next.agent, next.node);
  }
}

void Tape::start(std::uint32_t number, NodeId node) {
  Agent& agent = agents_[number];
  const workload::ExecutionGraph& graph = agent.program->graph();
  switch (graph.kind(node)) {
    case NodeKind::kCollective:
      return enter(number, node);
    case NodeKind::kReceive:
      return post(number, node);
    case NodeKind::kSend:
      return send_what_can(number, graph.peer_slot(node));
    case NodeKind::kCompute:
      if (graph.repetition(node)) return repeat(number, node);
      if (const auto bound = contends_ ? graph.processor_bound(node) : std::nullopt)
        return compute(number, node, *bound);
      return run_alone(number, node);
    default:
      return run_alone(number, node);
  }
}

void Tape::run_alone(std::uint32_t number, NodeId node) {
  Agent& agent = agents_[number];
  note_started(agent, node);
  const Time now = agent.operations[index_of(node)].start;
  const Duration time = times_.take(agent.rank, node, now);
  const Duration wait = times_.is_timed() ? host_wait(agent, node, time, now) : Duration::zero();
  const Time end(saturating_add(now.time_since_epoch(), saturating_add(time, wait)));
  finish(number, node, Time(saturating_add(now.time_since_epoch(), wait)), end);
}

void Tape::finish(std::uint32_t number, NodeId node, Time moving, Time end) {
  if (end == kUnknown) throw Refused{"an operation takes months"};
  Agent& agent = agents_[number];
  Operation& operation = agent.operations[index_of(node)];
  operation.moving = moving;
  operation.end = end;
  ++agent.done;
  agent.finish = std::max(agent.finish, end);
  for (const NodeId after : agent.program->after(node)) {
    Time& start = agent.operations[index_of(after)].start;
    start = std::max(start, end);
    if (--agent.waits[index_of(after)] == 0) ready_.push_back({number, after});
  }
  constexpr std::uint64_t kProgressInterval = 4096;
  if (++nodes_done_ % kProgressInterval == 0 && progress_) progress_(nodes_done_, nodes_total_);
}

// Of a repetition `moving` is when the host went on.
Time Tape::host_turns_to(const Agent& agent, NodeId node) const {
  const workload::ExecutionGraph& graph = agent.program->graph();
  const std::uint32_t done = agent.program->synchronisations_before(node);
  Time begin = times_.start(agent.rank);
  if (done > 0) {
    const NodeId synchronisation = graph.synchronisations()[done - 1];
    const Operation& operation = agent.operations[index_of(synchronisation)];
    begin = graph.repetition(synchronisation) ? operation.moving : operation.end;
  }
  return begin - graph.host_ahead(done) + graph.host_before(node);
}

// As RankExecution::host_wait(): no computation starts when a synchronisation behind it is done.
Duration Tape::host_wait(const Agent& agent, NodeId node, Duration time, Time now) const {
  const workload::ExecutionGraph& graph = agent.program->graph();
  if (!graph.has_host()) return Duration::zero();
  const workload::HostWork host = graph.host(node);
  return launch_wait(host.launches, host.span, graph.duration(node).value_or(time), time, host_turns_to(agent, node),
                     now);
}

void Tape::tell(SimulationObserver& observer) {
  for (const Agent& agent : agents_) count_repetitions(agent);
  for (const Home& home : homes_)
    for (const CallKind& kind : home.kinds)
      if (kind.calls > 0) cast_.input().network.count_groups(kind.path, kind.calls);
  std::vector<std::pair<Time, std::uint32_t>> by_end;
  for (Agent& agent : agents_) {
    by_end.clear();
    for (std::uint32_t node = 0; node < agent.operations.size(); ++node)
      by_end.emplace_back(agent.operations[node].end, node);
    std::ranges::sort(by_end);
    const workload::ExecutionGraph& graph = agent.program->graph();
    auto repeated = agent.repeated.begin();
    for (const auto& [end, node] : by_end) {
      if (graph.repetition(NodeId(node))) {
        observer.repeated(agent.rank, *repeated++);
        continue;
      }
      const Operation& operation = agent.operations[node];
      observer.finished(agent.rank, {NodeId(node), graph.number(NodeId(node)), operation.start, operation.moving, end,
                                     operation.slowed});
    }
    std::vector<Operation>().swap(agent.operations);
  }
}

}  // namespace orrery::system
