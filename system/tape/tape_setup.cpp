// SPDX-License-Identifier: MIT
// Knowledge of a tape before it runs: programs, peers, calls, and which calls have their links to themselves.
#include <algorithm>

#include "system/plans/plans.h"
#include "system/tape/tape.h"

namespace orrery::system {

using workload::NodeKind;

void Tape::set_up() {
  const CastInput& input = cast_.input();
  if (!input.network.keeps_messages_alike()) throw Refused{"messages queue"};
  if (options_.queue_scope == QueueScope::kRank) throw Refused{"calls share queues"};
  if (times_.has_shared_memory()) throw Refused{"ranks share memory"};
  for (const workload::ExecutionGraph& graph : job_.graphs) {
    programs_.emplace_back(graph, contends_);
    if (!programs_.back().why_not().empty()) throw Refused{programs_.back().why_not()};
  }
  check_plans();
  has_begun_ = true;
  if (cast_.is_folded()) bring_into_use();
  agents_.resize(cast_.agents());
  for (std::uint32_t i = 0; i < agents_.size(); ++i) set_up_agent(i);
  find_meetings();
}

// Calls have one phase of one chunk, which their members enter and leave together.
void Tape::check_plans() {
  CollectivePlans& plans = cast_.input().plans;
  for (std::uint32_t group = 0; group < job_.communicators.size(); ++group) {
    if (plans.model_of(GroupId(group)) != GroupId(group)) continue;
    const auto calls = static_cast<std::uint32_t>(cast_.input().matching.calls(GroupId(group)).size());
    for (std::uint32_t call = 0; call < calls; ++call) {
      const CollectivePlan& plan = plans.plan(GroupId(group), call);
      if (plan.phases.size() > 1 || plan.chunks > 1) throw Refused{"calls have several phases"};
      if (!plan.phases.empty() && options_.granularity == Granularity::kStep) throw Refused{"calls run step by step"};
    }
  }
}

// The first call of each communicator and the first send to each peer, of all agents.
void Tape::bring_into_use() {
  std::vector<Cast::FirstUse> uses;
  for (std::uint32_t i = 0; i < cast_.agents(); ++i) {
    const RankId rank = cast_.first_rank(i);
    const workload::ExecutionGraph& graph = job_.graph(rank);
    for (std::uint32_t slot = 0; slot < graph.communicator_slots(); ++slot)
      if (!graph.calls(slot).empty()) uses.push_back({rank, graph.calls(slot).front()});
    std::vector<bool> known(graph.peer_slots());
    for (const NodeId node : graph.transfers())
      if (graph.kind(node) == NodeKind::kSend && !known[graph.peer_slot(node)]) {
        known[graph.peer_slot(node)] = true;
        uses.push_back({rank, node});
      }
  }
  std::erase_if(uses, [&](const Cast::FirstUse& use) { return cast_.is_in_use(use.rank, use.node); });
  if (!uses.empty()) cast_.bring_into_use(uses, Time{});
}

void Tape::set_up_agent(std::uint32_t number) {
  Agent& agent = agents_[number];
  agent.rank = cast_.first_rank(number);
  agent.program = &programs_[job_.ranks[index_of(agent.rank)].graph];
  const workload::ExecutionGraph& graph = agent.program->graph();
  agent.operations.open(pages_, agent.program->waits(), times_.start(agent.rank));
  agent.synchronised.resize(graph.has_host() ? graph.synchronisations().size() : 0);
  nodes_total_ += graph.size();
  set_up_peers(agent);
  for (std::uint32_t slot = 0; slot < graph.communicator_slots(); ++slot)
    agent.homes.push_back(graph.calls(slot).empty()
                              ? kNone
                              : index_of(cast_.home_of(job_.ranks[index_of(agent.rank)].communicators[slot])));
  for (auto node = static_cast<std::uint32_t>(graph.size()); node-- > 0;)
    if (agent.program->waits()[node] == 0 && agent.operations.waits(NodeId(node)) == 0)
      ready_.push_back({number, NodeId(node)});
}

void Tape::set_up_peers(Agent& agent) {
  const workload::ExecutionGraph& graph = agent.program->graph();
  const CastInput& input = cast_.input();
  agent.peers.resize(graph.peer_slots());
  for (const NodeId node : graph.transfers()) {
    Peer& peer = agent.peers[graph.peer_slot(node)];
    if (graph.kind(node) != NodeKind::kSend || peer.count > 0) continue;
    peer.count = cast_.started_by(agent.rank, node);
    const Cast::Ends ends = cast_.ends_of(agent.rank, node);
    if (peer.count == 0 || ends.size() != 1 || cast_.sends_with(agent.rank, node).size() != 1)
      throw Refused{"a rank sends alike to several peers"};
    peer.path = cast_.path(agent.rank, node);
    peer.receiver = cast_.agent_of(ends.front().rank);
    const RankId to = job_.ranks[index_of(agent.rank)].peers[graph.peer_slot(node)];
    const DeviceId here = input.placement[index_of(agent.rank)], there = input.placement[index_of(to)];
    peer.is_same_node = network::node_of(input.fabric, here) == network::node_of(input.fabric, there);
    peer.latency = network::route_latency(input.fabric, here, there);
  }
}

std::uint32_t Tape::kind_of(Home& home, CallKey key) {
  const std::uint32_t number = cast_.input().plans.plan_number(key.group, key.index);
  if (number >= home.kinds.size()) home.kinds.resize(number + 1);
  if (home.kinds[number].cast == nullptr) home.kinds[number] = make_kind(key);
  return number;
}

Tape::CallKind Tape::make_kind(CallKey key) {
  CallCast& cast = cast_.call(key);
  const CollectivePlan& plan = cast.plan();
  CallKind kind;
  kind.cast = &cast;
  kind.takes = plan.takes();
  kind.is_empty = plan.phases.empty();
  if (kind.is_empty) return kind;
  const LineClass& line = cast.line(0, 0);
  if (line.seats.size() != cast.seats()) throw Refused{"calls have several lines"};
  kind.path = line.path;
  kind.count = line.count;
  kind.latency = cast_.input().network.latency(line.path);
  const PlannedPhase& phase = plan.phases.front();
  if (phase.is_whole() && phase.transfer().least > Duration::zero())
    kind.least = saturating_add(phase.transfer().least, phase.transfer().latency);
  kind.transfer = cast_.input().network.time_alone(kind.path, Bytes(0));
  return kind;
}

}  // namespace orrery::system
