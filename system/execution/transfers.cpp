// SPDX-License-Identifier: MIT
#include "system/execution/transfers.h"

#include <algorithm>
#include <utility>

#include "network/fabric/fabric.h"
#include "system/execution/agents.h"

namespace orrery::system {
namespace {

// An event that begins a message, and one by which a send looks for its receive, with rank and node; the others are
// rank and node of a receive.
constexpr std::uint64_t kBegins = std::uint64_t{1} << 63;
constexpr std::uint64_t kLooks = std::uint64_t{1} << 62;

std::uint64_t pack(RankId rank, NodeId node) { return std::uint64_t{index_of(rank)} << 32 | index_of(node); }
RankId rank_in(std::uint64_t payload) { return RankId(static_cast<std::uint32_t>((payload & ~kLooks) >> 32)); }
NodeId node_in(std::uint64_t payload) { return NodeId(static_cast<std::uint32_t>(payload)); }

}  // namespace

Transfers::Transfers(Engine& engine, const Cast& cast, Agents& agents, const GroupLibrary* library)
    : engine_(engine), input_(cast.input()), cast_(cast), agents_(agents), library_(library) {
  for (std::uint32_t agent = 0; agent < cast.agents(); ++agent)
    inboxes_.emplace_back(input_.job.graph(cast.first_rank(agent)).transfers().size());
}

void Transfers::start_send(RankId rank, NodeId node) {
  const PointToPoint costs = point_to_point(rank, node);
  const bool waits = costs.is_awaited && !is_posted(rank, node);
  if (waits) look(rank, node);
  agents_.take_device(rank, node, {costs.processors, 0});
  const std::uint64_t messages = cast_.started_by(rank, node);
  if (messages == 0) return;
  sent_ += messages;
  for (const workload::TransferEnd& end : cast_.ends_of(rank, node)) inbox(end.rank, end.node).started = engine_.now();
  const std::uint32_t id = messages_.put({rank, node, engine_.now(), costs});
  waits ? await(id) : depart(id);
}

// In the round after, when all that are posted in this one are: whether the peer's next send may start depends on it.
void Transfers::look(RankId from, NodeId send) { engine_.after(Duration::zero(), *this, kLooks | pack(from, send)); }

// Receives of like messages are posted together.
bool Transfers::is_posted(RankId from, NodeId send) {
  const workload::TransferEnd end = cast_.ends_of(from, send).front();
  return inbox(end.rank, end.node).is_posted;
}

void Transfers::await(std::uint32_t id) {
  const Message& message = messages_[id];
  awaiting_.insert(id);
  for (const workload::TransferEnd& end : cast_.ends_of(message.from, message.send))
    inbox(end.rank, end.node).awaiting = id;
}

// Both ends are there, or it does not wait.
void Transfers::depart(std::uint32_t id) {
  const Duration latency = messages_[id].costs.latency;
  if (latency == Duration::zero()) return begin(id);
  engine_.after(latency, *this, kBegins | id);
}

RankId Transfers::receiver_of(RankId from, NodeId send) const {
  return input_.job.ranks.peer(index_of(from), input_.job.graph(from).peer_slot(send));
}

network::MessagePlace Transfers::place_of(std::uint32_t id) const {
  const Message& message = messages_[id];
  const RankId to = receiver_of(message.from, message.send);
  return {index_of(input_.placement[index_of(message.from)]), index_of(input_.placement[index_of(to)]), 0,
          index_of(message.send)};
}

void Transfers::begin(std::uint32_t id) {
  const Message& message = messages_[id];
  input_.network.start({cast_.path(message.from, message.send), message.costs.bytes, this, id});
}

// The ranks that the message stands for are alike in size, route latency and whether it stays in a node (Symmetry), so
// one of them answers for all.
PointToPoint Transfers::point_to_point(RankId from, NodeId send) const {
  const Bytes bytes = input_.job.graph(from).bytes(send);
  if (library_ == nullptr) return {Duration::zero(), bytes};
  return system::point_to_point(*library_, input_.fabric, input_.placement, from, receiver_of(from, send), bytes);
}

PointToPoint point_to_point(const GroupLibrary& library, const network::Fabric& fabric,
                            std::span<const DeviceId> placement, RankId from, RankId to, Bytes bytes) {
  const DeviceId here = placement[index_of(from)], there = placement[index_of(to)];
  const bool is_same_node = network::node_of(fabric, here) == network::node_of(fabric, there);
  return library.point_to_point(bytes, is_same_node, network::route_latency(fabric, here, there));
}

void Transfers::post_receive(RankId rank, NodeId node) {
  Inbox& box = inbox(rank, node);
  box.is_posted = true;
  box.posted = engine_.now();
  if (const std::uint32_t id = box.awaiting; id != kNone && awaiting_.erase(id) > 0) {
    Message& message = messages_[id];
    message.moving = engine_.now();
    for (const NodeId send : cast_.sends_with(message.from, message.send)) look(message.from, send);
    return depart(id);
  }
  // It took no time: done in the round after.
  if (box.has_arrived) engine_.after(Duration::zero(), *this, pack(rank, node));
}

void Transfers::on_released(std::uint32_t id) {
  const Message& message = messages_[id];
  for (const NodeId send : cast_.sends_with(message.from, message.send)) finish(message.from, send, message.moving);
}

void Transfers::on_arrived(std::uint32_t id) {
  const Message message = messages_[id];
  messages_.release(id);
  for (const workload::TransferEnd& end : cast_.ends_of(message.from, message.send)) {
    Inbox& box = inbox(end.rank, end.node);
    box.has_arrived = true;
    if (box.is_posted) finish_receive(end.rank, end.node);
  }
}

void Transfers::on_event(std::uint64_t payload) {
  if ((payload & kBegins) != 0) return begin(static_cast<std::uint32_t>(payload));
  const RankId rank = rank_in(payload);
  const NodeId node = node_in(payload);
  if ((payload & kLooks) == 0) return finish_receive(rank, node);
  if (agents_.execution(rank).state(node) != RankExecution::State::kRunning) return;  // done in this instant
  is_posted(rank, node) ? agents_.moves(rank, node) : agents_.await_receive(rank, node);
}

Transfers::Inbox& Transfers::inbox(RankId rank, NodeId transfer) {
  return inboxes_[cast_.agent_of(rank)].open(input_.job.graph(rank).transfer_index(transfer));
}

void Transfers::finish_receive(RankId rank, NodeId node) {
  const Inbox& box = inbox(rank, node);
  finish(rank, node, std::max(box.started, box.posted));
}

void Transfers::finish(RankId rank, NodeId transfer, Time moving) {
  inbox(rank, transfer);  // of a send it was not needed until now
  inboxes_[cast_.agent_of(rank)].finish(input_.job.graph(rank).transfer_index(transfer));
  agents_.complete(rank, transfer, moving);
}

void Transfers::split(const ClassSplit& split) {
  parts_.clear();
  inboxes_.resize(cast_.agents(), Paged<Inbox>(0));
  for (const auto& [agent, parts] : split.parts_of_agent)
    for (const std::uint32_t part : parts) inboxes_[part] = inboxes_[agent];
  for (const std::uint32_t id : std::exchange(awaiting_, {}))
    for (const network::MessagePart& part : parts_of(id)) await(part.id);
}

std::span<const network::MessagePart> Transfers::parts_of(std::uint32_t id) {
  const auto [known, is_new] = parts_.try_emplace(id);
  std::vector<network::MessagePart>& parts = known->second;
  if (!is_new) return parts;
  const Message whole = messages_[id];
  for (const auto& [from, send] : cast_.parts_of(whole.from, whole.send)) {
    const std::uint32_t part = parts.empty() ? id : messages_.put({from, send, whole.moving, whole.costs});
    parts.push_back({part, cast_.path(from, send)});
  }
  return parts;
}

void Transfers::add_parts(std::uint64_t payload, std::vector<std::uint64_t>& parts) {
  if ((payload & kBegins) != 0) {
    const auto id = static_cast<std::uint32_t>(payload);
    for (const network::MessagePart& part : parts_of(id).subspan(1)) parts.push_back(kBegins | part.id);
    return;
  }
  for (const std::uint32_t part : cast_.latest_split().parts_of(cast_.agent_of(rank_in(payload))))
    parts.push_back((payload & kLooks) | pack(cast_.first_rank(part), node_in(payload)));
}

}  // namespace orrery::system
