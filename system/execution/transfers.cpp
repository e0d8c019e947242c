// SPDX-License-Identifier: MIT
#include "system/execution/transfers.h"

#include <algorithm>

#include "network/fabric/fabric.h"
#include "system/execution/agents.h"

namespace orrery::system {
namespace {

// An event that begins a message; the others are rank and node of a receive.
constexpr std::uint64_t kBegins = std::uint64_t{1} << 63;

}  // namespace

Transfers::Transfers(Engine& engine, const Cast& cast, Agents& agents, const GroupLibrary* library)
    : engine_(engine), input_(cast.input()), cast_(cast), agents_(agents), library_(library) {
  for (std::uint32_t agent = 0; agent < cast.agents(); ++agent)
    inboxes_.emplace_back(input_.job.graph(cast.first_rank(agent)).transfers().size());
}

void Transfers::start_send(RankId rank, NodeId node) {
  const std::uint64_t messages = cast_.started_by(rank, node);
  if (messages == 0) return;
  sent_ += messages;
  for (const workload::TransferEnd& end : cast_.ends_of(rank, node)) inbox(end.rank, end.node).started = engine_.now();
  const std::uint32_t id = messages_.put({rank, node, engine_.now()});
  const Duration latency = point_to_point(rank, node).latency;
  if (latency == Duration::zero()) return begin(id);
  engine_.after(latency, *this, kBegins | id);
}

RankId Transfers::receiver_of(RankId from, NodeId send) const {
  return input_.job.ranks[index_of(from)].peers[input_.job.graph(from).peer_slot(send)];
}

network::MessagePlace Transfers::place_of(std::uint32_t id) const {
  const Message& message = messages_[id];
  const RankId to = receiver_of(message.from, message.send);
  return {index_of(input_.placement[index_of(message.from)]), index_of(input_.placement[index_of(to)]), 0,
          index_of(message.send)};
}

void Transfers::begin(std::uint32_t id) {
  const Message& message = messages_[id];
  const Bytes bytes = point_to_point(message.from, message.send).bytes;
  input_.network.start({cast_.path(message.from, message.send), bytes, this, id});
}

// Of whom the message stands for they are alike in size, in route latency and in whether it stays in a node (Symmetry).
PointToPoint Transfers::point_to_point(RankId from, NodeId send) const {
  const Bytes bytes = input_.job.graph(from).bytes(send);
  if (library_ == nullptr) return {Duration::zero(), bytes};
  const RankId to = receiver_of(from, send);
  const DeviceId here = input_.placement[index_of(from)], there = input_.placement[index_of(to)];
  const bool is_same_node = network::node_of(input_.fabric, here) == network::node_of(input_.fabric, there);
  return library_->point_to_point(bytes, is_same_node, network::route_latency(input_.fabric, here, there));
}

void Transfers::post_receive(RankId rank, NodeId node) {
  Inbox& box = inbox(rank, node);
  box.is_posted = true;
  box.posted = engine_.now();
  // It took no time: done in the round after.
  if (box.has_arrived) engine_.after(Duration::zero(), *this, std::uint64_t{index_of(rank)} << 32 | index_of(node));
}

void Transfers::on_released(std::uint32_t id) {
  const Message& message = messages_[id];
  for (const NodeId send : cast_.sends_with(message.from, message.send)) finish(message.from, send, message.started);
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
  finish_receive(RankId(static_cast<std::uint32_t>(payload >> 32)), NodeId(static_cast<std::uint32_t>(payload)));
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
}

std::span<const network::MessagePart> Transfers::parts_of(std::uint32_t id) {
  const auto [known, is_new] = parts_.try_emplace(id);
  std::vector<network::MessagePart>& parts = known->second;
  if (!is_new) return parts;
  const Message whole = messages_[id];
  for (const auto& [from, send] : cast_.parts_of(whole.from, whole.send)) {
    const std::uint32_t part = parts.empty() ? id : messages_.put({from, send, whole.started});
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
  const RankId rank{static_cast<std::uint32_t>(payload >> 32)};
  for (const std::uint32_t part : cast_.latest_split().parts_of(cast_.agent_of(rank)))
    parts.push_back(std::uint64_t{index_of(cast_.first_rank(part))} << 32 | (payload & UINT32_MAX));
}

}  // namespace orrery::system
