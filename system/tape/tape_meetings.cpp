// SPDX-License-Identifier: MIT
// Which messages and calls of a tape may meet others on their links, and which are likely to.
#include <algorithm>

#include "system/tape/tape.h"

namespace orrery::system {

using workload::NodeKind;

namespace {

// Numbers of computations of which something may be under way when so many have ended.
struct Window {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

Window window_of(const TapeProgram& program, NodeId node) {
  const std::uint32_t first = program.computed_before(node);
  return {first, std::max(first, std::min(program.awaited_at(node), program.computations()))};
}

class Windows {
 public:
  Windows(const std::vector<Window>& windows, std::uint32_t computations) : before_(1) {
    std::vector<std::uint32_t> change(computations + 2);  // of how many are open
    for (const Window& window : windows) {
      ++change[window.first];
      --change[window.last + 1];
    }
    std::uint32_t open = 0;
    for (std::uint32_t i = 0; i <= computations; ++i) {
      open += change[i];
      before_.push_back(before_.back() + (open > 0 ? 1 : 0));
    }
  }
  // True if one of them overlaps `other`.
  bool meet(const Window& other) const { return before_[other.last + 1] > before_[other.first]; }

 private:
  std::vector<std::uint32_t> before_;  // of the first numbers, so many are in a window
};

}  // namespace

// Calls of a communicator come one after the other. Where nothing else crosses their links, these carry one of them at
// a time.
void Tape::find_meetings() {
  network::Network& network = cast_.input().network;
  std::uint32_t users = 0, owners = 0;
  homes_.resize(job_.communicators.size());
  for (std::uint32_t group = 0; group < homes_.size(); ++group) {
    const auto calls = static_cast<std::uint32_t>(cast_.input().matching.calls(GroupId(group)).size());
    if (calls == 0 || cast_.home_of(GroupId(group)) != GroupId(group)) continue;
    for (std::uint32_t call = 0; call < calls; ++call) kind_of(homes_[group], {GroupId(group), call});
    for (CallKind& kind : homes_[group].kinds) {
      if (kind.cast == nullptr || kind.is_empty) continue;
      bookings_.add(kind.user = users++, owners, true, network.links(kind.path));
    }
    ++owners;
  }
  for (Agent& agent : agents_)
    for (Peer& peer : agent.peers)
      if (peer.count > 0) bookings_.add(peer.user = users++, owners++, false, network.links(peer.path));
  bookings_.close(users);
  for (Home& home : homes_)
    for (CallKind& kind : home.kinds)
      if (kind.cast != nullptr && !kind.is_empty) kind.is_private = kind.transfer && !bookings_.may_meet(kind.user);
  for (std::uint32_t number = 0; number < agents_.size(); ++number) find_likely_meetings(number);
  take_by_network();
}

// A send or receive and a call of one rank that are not ordered by its computations are likely to meet.
void Tape::find_likely_meetings(std::uint32_t number) {
  const Agent& agent = agents_[number];
  const TapeProgram& program = *agent.program;
  const workload::ExecutionGraph& graph = program.graph();
  if (graph.transfers().empty()) return;
  const auto home_of = [&](NodeId call) { return agent.homes[graph.communicator_slot(call)]; };
  std::vector<NodeId> calls;
  std::vector<Window> windows;
  for (const NodeId node : graph.collectives()) {
    Home& home = homes_[home_of(node)];
    const CallKind& kind = home.kinds[kind_of(home, {GroupId(home_of(node)), graph.call_index(node)})];
    if (kind.is_empty || !bookings_.may_meet_sends(kind.user)) continue;
    calls.push_back(node);
    windows.push_back(window_of(program, node));
  }
  if (calls.empty()) return;
  const Windows of_calls(windows, program.computations());
  windows.clear();
  for (const NodeId node : graph.transfers()) {
    const bool is_send = graph.kind(node) == NodeKind::kSend;
    Window window = window_of(program, node);
    if (is_send) window.last = window.first;
    windows.push_back(window);
    if (!of_calls.meet(window)) continue;
    const workload::TransferEnd other = cast_.input().matching.end(agent.rank, graph.transfer_index(node));
    is_send ? set_by_network(number, node) : set_by_network(cast_.agent_of(other.rank), other.node);
  }
  const Windows of_transfers(windows, program.computations());
  for (const NodeId node : calls)
    if (of_transfers.meet(window_of(program, node))) set_by_network(homes_[home_of(node)], graph.call_index(node));
}

void Tape::take_by_network() {
  for (const LinkBookings::Message& message : by_network_.messages) {
    if (message.is_call)
      set_by_network(homes_[message.of], message.number);
    else
      set_by_network(message.of, NodeId(message.number));
  }
  if (!by_network_.all) return;
  for (Agent& agent : agents_) agent.by_network.assign(agent.program->graph().transfers().size(), true);
  for (std::uint32_t group = 0; group < homes_.size(); ++group)
    homes_[group].by_network.assign(cast_.input().matching.calls(GroupId(group)).size(), true);
}

void Tape::set_by_network(std::uint32_t number, NodeId send) {
  Agent& agent = agents_[number];
  agent.by_network.resize(agent.program->graph().transfers().size());
  agent.by_network[agent.program->graph().transfer_index(send)] = true;
}

void Tape::set_by_network(Home& home, std::uint32_t index) {
  if (home.by_network.size() <= index) home.by_network.resize(index + 1);
  home.by_network[index] = true;
}

}  // namespace orrery::system
