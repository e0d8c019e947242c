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

Tape::Tape(Engine& engine, Cast& cast, OperationTimes& times, const CollectiveOptions& options,
           const ByNetwork& by_network, SimulationObserver& observer)
    : engine_(engine),
      job_(cast.input().job),
      cast_(cast),
      times_(times),
      options_(options),
      by_network_(by_network),
      observer_(observer),
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

bool Tape::has_many_conflicts() const {
  return bookings_.has_lost_track() || bookings_.conflicts().size() > 64 + nodes_total_ / 256;
}

bool Tape::add_conflicts(ByNetwork& by_network) const {
  if (bookings_.conflicts().empty() && !bookings_.has_lost_track()) return false;
  std::vector<LinkBookings::Message>& messages = by_network.messages;
  messages.insert(messages.end(), bookings_.conflicts().begin(), bookings_.conflicts().end());
  std::ranges::sort(messages);
  messages.erase(std::unique(messages.begin(), messages.end()), messages.end());
  by_network.all = has_many_conflicts();
  return true;
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
  wait_for_open();
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
  const Time now = agent.operations[node].start;
  const Duration time = times_.take(agent.rank, node, now);
  const Duration wait = times_.is_timed() ? host_wait(agent, node, time, now) : Duration::zero();
  const Time end(saturating_add(now.time_since_epoch(), saturating_add(time, wait)));
  finish(number, node, Time(saturating_add(now.time_since_epoch(), wait)), end);
}

void Tape::finish(std::uint32_t number, NodeId node, Time moving, Time end) {
  if (end == kUnknown) throw Refused{"an operation takes months"};
  Agent& agent = agents_[number];
  OpenOperation& operation = agent.operations[node];
  operation.moving = moving;
  operation.end = end;
  agent.operations.end(node);
  if (!agent.synchronised.empty()) note_synchronised(agent, node);
  if (index_of(node) < agent.program->end_of_stretches()) note_first_run(agent, node);
  ++agent.done;
  agent.finish = std::max(agent.finish, end);
  for (const NodeId after : agent.program->after(node)) {
    Time& start = agent.operations[after].start;
    start = std::max(start, end);
    if (--agent.operations.waits(after) == 0) ready_.push_back({number, after});
  }
  if (agent.operations.is_due()) tell_ended(agent);
  constexpr std::uint64_t kProgressInterval = 4096;
  if (++nodes_done_ % kProgressInterval != 0) return;
  if (has_many_conflicts()) throw Refused{"messages share links"};
  constexpr std::size_t kMostBytes = std::size_t{1} << 30;
  if (pages_.bytes() > kMostBytes) throw Refused{"too many operations are under way at once"};
  if (progress_) progress_(nodes_done_, nodes_total_);
}

// Time at which the host turns to the node: `moving` of a repetition is when the host went on.
Time Tape::host_turns_to(const Agent& agent, NodeId node) const {
  const workload::ExecutionGraph& graph = agent.program->graph();
  const std::uint32_t done = agent.program->synchronisations_before(node);
  const Time begin = done > 0 ? agent.synchronised[done - 1] : times_.start(agent.rank);
  return begin - graph.host_ahead(done) + graph.host_before(node);
}

// Wait as in RankExecution::host_wait().
Duration Tape::host_wait(const Agent& agent, NodeId node, Duration time, Time now) const {
  const workload::ExecutionGraph& graph = agent.program->graph();
  if (!graph.has_host()) return Duration::zero();
  const workload::HostWork host = graph.host(node);
  return launch_wait(host.launches, host.span, graph.duration(node).value_or(time), time, host_turns_to(agent, node),
                     now);
}

void Tape::note_synchronised(Agent& agent, NodeId node) {
  const workload::ExecutionGraph& graph = agent.program->graph();
  const std::uint32_t before = agent.program->synchronisations_before(node);
  if (before == graph.synchronisations().size() || graph.synchronisations()[before] != node) return;
  const OpenOperation& operation = agent.operations[node];
  agent.synchronised[before] = graph.repetition(node) ? operation.moving : operation.end;
}

void Tape::note_first_run(Agent& agent, NodeId node) {
  const workload::ExecutionGraph& graph = agent.program->graph();
  agent.stretches.resize(graph.stretches().size());
  for (std::size_t number = 0; number < agent.stretches.size(); ++number)
    if (graph.stretches()[number].holds(node)) {
      const OpenOperation& of = agent.operations[node];
      agent.stretches[number].first_run.push_back({node, graph.number(node), of.start, of.moving, of.end, of.slowed});
    }
}

void Tape::tell_ended(Agent& agent) {
  const workload::ExecutionGraph& graph = agent.program->graph();
  std::size_t repeated = 0;
  agent.operations.tell_ended([&](NodeId node, const OpenOperation& of) {
    if (graph.repetition(node))
      observer_.repeated(agent.rank, agent.repeated[repeated++]);
    else
      observer_.finished(agent.rank, {node, graph.number(node), of.start, of.moving, of.end, of.slowed});
  });
  agent.repeated.erase(agent.repeated.begin(), agent.repeated.begin() + static_cast<std::ptrdiff_t>(repeated));
}

void Tape::settle_up() {
  for (Agent& agent : agents_) {
    tell_ended(agent);
    count_repetitions(agent);
    for (Peer& peer : agent.peers) count_ahead(peer);
  }
  for (const Home& home : homes_)
    for (const CallKind& kind : home.kinds)
      if (kind.calls > 0) cast_.input().network.count_groups(kind.path, kind.calls);
}

}  // namespace orrery::system
