// SPDX-License-Identifier: MIT
// Collective calls and messages on a tape.
#include <algorithm>

#include "system/tape/payload.h"
#include "system/tape/tape.h"

namespace orrery::system {

void Tape::enter(std::uint32_t number, NodeId node) {
  Agent& agent = agents_[number];
  note_started(agent, node);
  const Time now = agent.operations[index_of(node)].start;
  const workload::ExecutionGraph& graph = agent.program->graph();
  const std::uint32_t group = agent.homes[graph.communicator_slot(node)];
  const std::uint32_t index = graph.call_index(node);
  Home& home = homes_[group];
  const std::uint32_t number_of_kind = kind_of(home, {GroupId(group), index});
  const CallKind& kind = home.kinds[number_of_kind];
  if (kind.is_empty) {
    if (agent.computing) go_on_computing(number);
    return finish(number, node, now, now);
  }
  if (home.entrants.empty()) {
    home.index = index;
    home.kind = number_of_kind;
    home.latest = now;
  }
  if (home.index != index) throw Refused{"calls of one communicator overlap"};
  home.latest = std::max(home.latest, now);
  home.entrants.push_back({number, node});
  take_device(number, node, kind.takes, now);
  if (home.entrants.size() == kind.cast->seats()) begin_call(group);
}

// All have come.
void Tape::begin_call(std::uint32_t number) {
  Home& home = homes_[number];
  CallKind& kind = home.kinds[home.kind];
  messages_sent_ += kind.count;
  const Duration begin = home.latest.time_since_epoch();
  home.not_before = kind.least > Duration::zero() ? Time(saturating_add(begin, kind.least)) : Time{};
  if (!kind.is_private) {
    for (const Entrant& entrant : home.entrants) note_use(entrant.agent, entrant.node, home.latest, kUnknown);
    engine_.at(home.latest, *this, payload(TapeEvent::kCallBegins, number));
    return;
  }
  ++kind.calls;
  const Time arrival(saturating_add(begin, saturating_add(kind.transfer, kind.latency)));
  end_call(number, std::max(arrival, home.not_before));
}

void Tape::end_call(std::uint32_t number, Time end) {
  Home& home = homes_[number];
  const Time latest = home.latest;
  leaving_.clear();
  leaving_.swap(home.entrants);
  for (const Entrant& entrant : leaving_) {
    note_use(entrant.agent, entrant.node, latest, end);
    finish(entrant.agent, entrant.node, latest, end);
  }
}

void Tape::on_arrived(std::uint32_t id) {
  if ((id & kIsCall) != 0) {
    const std::uint32_t home = id & ~kIsCall;
    if (engine_.now() >= homes_[home].not_before) return end_call(home, engine_.now());
    engine_.at(homes_[home].not_before, *this, payload(TapeEvent::kCallEnds, home));
    return;
  }
  const Message& message = messages_[id];
  messages_.release(id);
  Inbox& box = agents_[message.receiver].inboxes[message.transfer];
  box.arrived = engine_.now();
  if (box.posted == kUnknown) return;
  finish(message.receiver, message.receive, std::max(box.sent, box.posted), std::max(box.arrived, box.posted));
}

void Tape::on_released(std::uint32_t id) {
  if ((id & kIsCall) != 0) return;
  const Message& message = messages_[id];
  const std::uint32_t number = message.agent;
  SendUnderWay& send = send_under_way(message);
  send.end = engine_.now();
  note_use(number, message.node, send.moving, send.end);
  finish(number, message.node, send.moving, send.end);
  send_what_can(number, agents_[number].program->graph().peer_slot(message.node));
}

Tape::SendUnderWay& Tape::send_under_way(const Message& message) {
  Agent& agent = agents_[message.agent];
  std::vector<SendUnderWay>& under_way = agent.peers[agent.program->graph().peer_slot(message.node)].under_way;
  return *std::ranges::find(under_way, message.node, &SendUnderWay::node);
}

// Sends to a peer start in order, each when it is ready and all those that have started wait for their receives.
void Tape::send_what_can(std::uint32_t number, std::uint32_t slot) {
  Agent& agent = agents_[number];
  Peer& peer = agent.peers[slot];
  const std::span<const NodeId> sends = agent.program->sends(slot);
  while (peer.next < sends.size() && agent.waits[index_of(sends[peer.next])] == 0) {
    const NodeId node = sends[peer.next];
    Time time = std::max(agent.operations[index_of(node)].start, peer.latest);
    if (!is_free(number, slot, time)) return;
    ++peer.next;
    send(number, slot, node, time);
  }
}

// Moves `time` on to when a send to the peer may start. False if that is not known yet: then it is looked again.
bool Tape::is_free(std::uint32_t number, std::uint32_t slot, Time& time) {
  Peer& peer = agents_[number].peers[slot];
  for (bool is_busy = true; is_busy;) {
    is_busy = false;
    std::erase_if(peer.under_way, [&](const SendUnderWay& send) { return send.end <= time; });
    for (SendUnderWay& send : peer.under_way) {
      if (send.moving == kUnknown) {
        if (engine_.now() >= time) {
          send.taken_for_waiting = time;
          continue;
        }
        if (peer.asked != time) engine_.at(time, *this, payload(TapeEvent::kSends, number, slot));
        peer.asked = time;
        return false;
      }
      if (send.moving > time) continue;
      if (send.posted == time) throw Refused{"a send and a receive come at one instant"};
      if (send.end == kUnknown) return false;
      time = send.end;
      is_busy = true;
      break;
    }
  }
  return true;
}

void Tape::send(std::uint32_t number, std::uint32_t slot, NodeId node, Time now) {
  Agent& agent = agents_[number];
  note_started(agent, node);
  agent.operations[index_of(node)].start = now;
  Peer& peer = agent.peers[slot];
  peer.latest = now;
  const workload::ExecutionGraph& graph = agent.program->graph();
  const Bytes bytes = graph.bytes(node);
  if (!peer.costs || peer.bytes != bytes) {
    peer.bytes = bytes;
    peer.costs = options_.library == nullptr ? PointToPoint{Duration::zero(), bytes}
                                             : options_.library->point_to_point(bytes, peer.is_same_node, peer.latency);
  }
  const NodeId receive = cast_.input().matching.end(agent.rank, graph.transfer_index(node)).node;
  const std::uint32_t transfer = agents_[peer.receiver].program->graph().transfer_index(receive);
  const std::uint32_t id = messages_.put({number, node, peer.receiver, transfer, receive, *peer.costs});
  messages_sent_ += peer.count;
  peer.under_way.push_back({node, now});
  take_device(number, node, {peer.costs->processors, 0}, now);
  Inbox& box = agents_[peer.receiver].inboxes[transfer];
  box.sent = now;
  if (!peer.costs->is_awaited)
    move(id, now, kUnknown);
  else if (box.posted != kUnknown)
    move(id, std::max(now, box.posted), box.posted);
  else
    box.awaiting = id;
}

void Tape::move(std::uint32_t id, Time moving, Time posted) {
  const Message& message = messages_[id];
  SendUnderWay& send = send_under_way(message);
  send.moving = moving;
  send.posted = posted;
  if (send.taken_for_waiting != kUnknown && moving <= send.taken_for_waiting)
    throw Refused{"a send and a receive come at one instant"};
  const Duration begin = saturating_add(moving.time_since_epoch(), message.costs.latency);
  if (begin == Duration::max()) throw Refused{"an operation takes months"};
  engine_.at(Time(begin), *this, payload(TapeEvent::kMessageBegins, id));
}

void Tape::post(std::uint32_t number, NodeId node) {
  Agent& agent = agents_[number];
  note_started(agent, node);
  Inbox& box = agent.inboxes[agent.program->graph().transfer_index(node)];
  box.posted = agent.operations[index_of(node)].start;
  if (box.awaiting != kNone) move(box.awaiting, std::max(box.posted, box.sent), box.posted);
  if (box.arrived != kUnknown) finish(number, node, std::max(box.sent, box.posted), std::max(box.arrived, box.posted));
}

}  // namespace orrery::system
