// SPDX-License-Identifier: MIT
// Collective calls and messages on a tape.
#include <algorithm>
#include <utility>

#include "system/tape/payload.h"
#include "system/tape/tape.h"

namespace orrery::system {

void Tape::enter(std::uint32_t number, NodeId node) {
  Agent& agent = agents_[number];
  note_started(agent, node);
  const Time now = agent.operations[node].start;
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
  add_use(number, node, kind.takes, now);
  if (agent.computing) go_on_computing(number);
  if (home.entrants.size() == kind.cast->seats()) begin_call(group);
}

// All have come.
void Tape::begin_call(std::uint32_t number) {
  Home& home = homes_[number];
  CallKind& kind = home.kinds[home.kind];
  messages_sent_ += kind.count;
  const Duration begin = home.latest.time_since_epoch();
  home.not_before = kind.least > Duration::zero() ? Time(saturating_add(begin, kind.least)) : Time{};
  if (!kind.is_private && (!kind.transfer || home.is_by_network(home.index))) {
    for (const Entrant& entrant : home.entrants) note_use(entrant.agent, entrant.node, home.latest, kUnknown);
    engine_.at(home.latest, *this, payload(TapeEvent::kCallBegins, number));
    return;
  }
  ++kind.calls;
  const Duration released = saturating_add(begin, *kind.transfer);
  bookings_.book(kind.user, home.latest, Time(released), {number, home.index, true}, false);
  const Time arrival(saturating_add(released, kind.latency));
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
  const Message message = messages_[id];
  messages_.release(id);
  arrive(message, engine_.now());
}

void Tape::arrive(const Message& message, Time arrival) {
  OpenOperations& operations = agents_[message.receiver].operations;
  OpenOperation& receive = operations[message.receive];
  receive.end = arrival;
  if (operations.waits(message.receive) != OpenOperations::kStarted) return;
  finish(message.receiver, message.receive, std::max(receive.moving, receive.start), std::max(arrival, receive.start));
}

void Tape::on_released(std::uint32_t id) {
  const Time now = engine_.now();
  if ((id & kIsCall) != 0) {
    const std::uint32_t number = id & ~kIsCall;
    const Home& home = homes_[number];
    return bookings_.book(home.kinds[home.kind].user, home.latest, now, {number, home.index, true}, true);
  }
  const Message message = messages_[id];
  const std::uint32_t number = message.agent;
  const std::uint32_t slot = agents_[number].program->graph().peer_slot(message.node);
  SendUnderWay& send = send_under_way(message);
  send.end = now;
  bookings_.book(agents_[number].peers[slot].user, send.moving + message.costs.latency, now,
                 {number, index_of(message.node), false}, true);
  note_use(number, message.node, send.moving, now);
  finish(number, message.node, send.moving, now);
  send_what_can(number, slot);
}

// The message has its links to itself from `begin` on.
void Tape::carry(const Message& message, Time begin) {
  const std::uint32_t number = message.agent;
  const Peer& peer = agents_[number].peers[agents_[number].program->graph().peer_slot(message.node)];
  SendUnderWay& send = send_under_way(message);
  const Time released(saturating_add(begin.time_since_epoch(), *message.alone));
  bookings_.book(peer.user, begin, released, {number, index_of(message.node), false}, false);
  const Time arrival(saturating_add(released.time_since_epoch(), cast_.input().network.latency(peer.path)));
  const Time moving = send.moving;
  send.end = released;
  note_use(number, message.node, moving, released);
  finish(number, message.node, moving, released);
  arrive(message, arrival);
}

void Tape::count_ahead(Peer& peer) {
  if (peer.ahead > 0) cast_.input().network.count_private(peer.path, peer.costs->bytes, peer.ahead);
  peer.ahead = 0;
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
  while (peer.next < sends.size() && agent.operations.waits(sends[peer.next]) == 0) {
    const NodeId node = sends[peer.next];
    Time time = std::max(agent.operations[node].start, peer.latest);
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
  agent.operations[node].start = now;
  Peer& peer = agent.peers[slot];
  peer.latest = now;
  const workload::ExecutionGraph& graph = agent.program->graph();
  const Bytes bytes = graph.bytes(node);
  if (!peer.costs || peer.bytes != bytes) {
    count_ahead(peer);
    peer.bytes = bytes;
    peer.costs = options_.library == nullptr ? PointToPoint{Duration::zero(), bytes}
                                             : options_.library->point_to_point(bytes, peer.is_same_node, peer.latency);
    peer.transfer = cast_.input().network.time_alone(peer.path, peer.costs->bytes);
  }
  const NodeId receive = cast_.input().matching.end(agent.rank, graph.transfer_index(node)).node;
  const bool is_ahead = peer.transfer && (agent.by_network.empty() || !agent.by_network[graph.transfer_index(node)]);
  const Message message{number, node, peer.receiver, receive, *peer.costs, is_ahead ? peer.transfer : std::nullopt};
  if (is_ahead) ++peer.ahead;
  messages_sent_ += peer.count;
  peer.under_way.push_back({node, now});
  OpenOperations& operations = agents_[peer.receiver].operations;
  OpenOperation& box = operations[receive];
  box.moving = now;
  const bool is_awaited = peer.costs->is_awaited;
  const bool waits = is_awaited && operations.waits(receive) != OpenOperations::kStarted;
  add_use(number, node, {peer.costs->processors, 0}, now);
  if (waits)
    box.slowed = Duration(1 + messages_.put(message));
  else
    move(message, is_awaited ? std::max(now, box.start) : now, is_awaited ? box.start : kUnknown);
  if ((waits || !is_ahead) && agent.computing) go_on_computing(number);
}

void Tape::move(const Message& message, Time moving, Time posted) {
  SendUnderWay& send = send_under_way(message);
  send.moving = moving;
  send.posted = posted;
  if (send.taken_for_waiting != kUnknown && moving <= send.taken_for_waiting)
    throw Refused{"a send and a receive come at one instant"};
  const Duration begin = saturating_add(moving.time_since_epoch(), message.costs.latency);
  if (begin == Duration::max()) throw Refused{"an operation takes months"};
  if (message.alone) return carry(message, Time(begin));
  engine_.at(Time(begin), *this, payload(TapeEvent::kMessageBegins, messages_.put(message)));
}

void Tape::post(std::uint32_t number, NodeId node) {
  Agent& agent = agents_[number];
  note_started(agent, node);
  OpenOperation& box = agent.operations[node];
  if (box.slowed != Duration::zero()) {
    const auto awaiting = static_cast<std::uint32_t>(std::exchange(box.slowed, Duration::zero()).count() - 1);
    const Message message = messages_[awaiting];
    messages_.release(awaiting);
    move(message, std::max(box.start, box.moving), box.start);
    if (message.alone) send_what_can(message.agent, agents_[message.agent].program->graph().peer_slot(message.node));
    return;
  }
  if (box.end != kUnknown) finish(number, node, std::max(box.moving, box.start), std::max(box.end, box.start));
}

}  // namespace orrery::system
