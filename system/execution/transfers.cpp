// SPDX-License-Identifier: MIT
#include "system/execution/transfers.h"

#include <algorithm>

#include "network/fabric/fabric.h"

namespace orrery::system {
namespace {

// An event that begins a message; the others are rank and node of a receive.
constexpr std::uint64_t kBegins = std::uint64_t{1} << 63;

}  // namespace

TransferExecution::TransferExecution(Engine& engine, const network::Fabric& fabric, network::Network& network,
                                     TransferListener& listener, const workload::Job& job,
                                     const workload::Matching& matching, std::span<const DeviceId> placement,
                                     const Folding* folding, const GroupLibrary* library)
    : engine_(engine),
      fabric_(fabric),
      network_(network),
      listener_(listener),
      job_(job),
      matching_(matching),
      placement_(placement),
      folding_(folding),
      library_(library) {
  if (folding != nullptr)
    for (const workload::ExecutionGraph& graph : job.graphs) slots_.emplace_back(graph);
  const auto agents = folding == nullptr ? static_cast<std::uint32_t>(job.ranks.size()) : folding->agent_count();
  for (std::uint32_t agent = 0; agent < agents; ++agent)
    inboxes_.emplace_back(job.graph(first_rank(folding, agent)).transfers().size());
}

void TransferExecution::start_send(RankId rank, NodeId node) {
  const workload::ExecutionGraph& graph = job_.graph(rank);
  if (folding_ != nullptr && message_class(rank, node).sends.front() != graph.peer_slot(node)) return;
  for (const workload::TransferEnd& end : ends_of(rank, node)) {
    Inbox& box = inbox(end.rank, end.node);
    box.started = engine_.now();
  }
  const std::uint32_t id = messages_.put({rank, node, engine_.now()});
  sent_ += folding_ == nullptr ? 1 : message_class(rank, node).count;
  const Duration latency = point_to_point(rank, node).latency;
  if (latency == Duration::zero()) return begin(id);
  engine_.after(latency, *this, kBegins | id);
}

network::MessagePlace TransferExecution::place_of(std::uint32_t id) const {
  const Message& message = messages_[id];
  const RankId to = job_.ranks[index_of(message.from)].peers[job_.graph(message.from).peer_slot(message.send)];
  return {index_of(placement_[index_of(message.from)]), index_of(placement_[index_of(to)]), 0, index_of(message.send)};
}

void TransferExecution::begin(std::uint32_t id) {
  const Message& message = messages_[id];
  const Bytes bytes = point_to_point(message.from, message.send).bytes;
  network_.start({path(message.from, message.send), bytes, this, id});
}

// Of whom the message stands for they are alike in size, in route latency and in whether it stays in a node (Symmetry).
PointToPoint TransferExecution::point_to_point(RankId from, NodeId send) const {
  const Bytes bytes = job_.graph(from).bytes(send);
  if (library_ == nullptr) return {Duration::zero(), bytes};
  const RankId to = job_.ranks[index_of(from)].peers[job_.graph(from).peer_slot(send)];
  const DeviceId here = placement_[index_of(from)], there = placement_[index_of(to)];
  const bool is_same_node = network::node_of(fabric_, here) == network::node_of(fabric_, there);
  return library_->point_to_point(bytes, is_same_node, network::route_latency(fabric_, here, there));
}

const MessageClass& TransferExecution::message_class(RankId rank, NodeId send) const {
  return folding_->sends(rank, job_.graph(rank).peer_slot(send));
}

// The sends of the rank that the message stands for.
std::vector<NodeId> TransferExecution::sends_like(RankId rank, NodeId send) const {
  if (folding_ == nullptr) return {send};
  const TransferSlots& slots = slots_[job_.ranks[index_of(rank)].graph];
  std::vector<NodeId> sends;
  for (const std::uint32_t slot : message_class(rank, send).sends)
    sends.push_back(slots.sends(slot)[slots.ordinal(job_.graph(rank), send)]);
  return sends;
}

// The receives of whoever acts for the receiver.
std::vector<workload::TransferEnd> TransferExecution::ends_of(RankId rank, NodeId send) const {
  const workload::TransferEnd end = matching_.end(rank, job_.graph(rank).transfer_index(send));
  if (folding_ == nullptr) return {end};
  const MessageClass& message = message_class(rank, send);
  const RankId acting = folding_->first_rank(message.receiver);
  if (message.slots.size() == 1) return {{acting, end.node}};
  const TransferSlots& slots = slots_[job_.ranks[index_of(acting)].graph];
  const std::uint32_t ordinal = slots.ordinal(job_.graph(end.rank), end.node);
  std::vector<workload::TransferEnd> ends;
  for (const std::uint32_t slot : message.slots) ends.push_back({acting, slots.receives(slot)[ordinal]});
  return ends;
}

network::PathId TransferExecution::path(RankId from, NodeId send) const {
  if (folding_ != nullptr) return message_class(from, send).path;
  const RankId to = job_.ranks[index_of(from)].peers[job_.graph(from).peer_slot(send)];
  return network_.path(placement_[index_of(from)], placement_[index_of(to)]);
}

void TransferExecution::post_receive(RankId rank, NodeId node) {
  Inbox& box = inbox(rank, node);
  box.is_posted = true;
  box.posted = engine_.now();
  // It took no time: done in the round after.
  if (box.has_arrived) engine_.after(Duration::zero(), *this, std::uint64_t{index_of(rank)} << 32 | index_of(node));
}

void TransferExecution::on_released(std::uint32_t id) {
  const Message& message = messages_[id];
  for (const NodeId send : sends_like(message.from, message.send)) finish(message.from, send, message.started);
}

void TransferExecution::on_arrived(std::uint32_t id) {
  const Message message = messages_[id];
  messages_.release(id);
  for (const workload::TransferEnd& end : ends_of(message.from, message.send)) {
    Inbox& box = inbox(end.rank, end.node);
    box.has_arrived = true;
    if (box.is_posted) finish_receive(end.rank, end.node);
  }
}

void TransferExecution::on_event(std::uint64_t payload) {
  if ((payload & kBegins) != 0) return begin(static_cast<std::uint32_t>(payload));
  finish_receive(RankId(static_cast<std::uint32_t>(payload >> 32)), NodeId(static_cast<std::uint32_t>(payload)));
}

TransferExecution::Inbox& TransferExecution::inbox(RankId rank, NodeId transfer) {
  return inboxes_[agent_of(folding_, rank)].open(job_.graph(rank).transfer_index(transfer));
}

void TransferExecution::finish_receive(RankId rank, NodeId node) {
  const Inbox& box = inbox(rank, node);
  finish(rank, node, std::max(box.started, box.posted));
}

void TransferExecution::finish(RankId rank, NodeId transfer, Time moving) {
  inbox(rank, transfer);  // of a send it was not needed until now
  inboxes_[agent_of(folding_, rank)].finish(job_.graph(rank).transfer_index(transfer));
  listener_.on_transfer_done(rank, transfer, moving);
}

void TransferExecution::split(const ClassSplit& split) {
  split_ = &split;
  inboxes_.resize(folding_->agent_count(), Paged<Inbox>(0));
  for (const auto& [agent, parts] : split.parts_of_agent)
    for (const std::uint32_t part : parts) inboxes_[part] = inboxes_[agent];
}

std::span<const network::MessagePart> TransferExecution::parts_of(std::uint32_t id) {
  const auto [known, is_new] = parts_.try_emplace(id);
  std::vector<network::MessagePart>& parts = known->second;
  if (!is_new) return parts;
  const Message whole = messages_[id];
  const workload::ExecutionGraph& graph = job_.graph(whole.from);
  const std::uint32_t agent = folding_->agent_of(whole.from);
  parts.push_back({id, path(whole.from, whole.send)});
  const auto before = split_->sends_before.find({agent, graph.peer_slot(whole.send)});
  if (before == split_->sends_before.end()) return parts;
  const auto add_parts_of = [&](RankId from) {
    const TransferSlots& slots = slots_[job_.ranks[index_of(from)].graph];
    for (const std::uint32_t slot : before->second) {
      const MessageClass& message = folding_->sends(from, slot);
      if (message.sends.front() != slot) continue;
      const NodeId send = slots.sends(slot)[slots.ordinal(graph, whole.send)];
      if (from == whole.from && send == whole.send) continue;
      parts.push_back({messages_.put({from, send, whole.started}), message.path});
    }
  };
  add_parts_of(whole.from);
  for (const std::uint32_t part : split_->parts_of(agent)) add_parts_of(folding_->first_rank(part));
  return parts;
}

void TransferExecution::end_split() {
  split_ = nullptr;
  parts_.clear();
}

void TransferExecution::add_parts(std::uint64_t payload, std::vector<std::uint64_t>& parts) {
  if ((payload & kBegins) != 0) {
    const auto id = static_cast<std::uint32_t>(payload);
    for (const network::MessagePart& part : parts_of(id).subspan(1)) parts.push_back(kBegins | part.id);
    return;
  }
  const RankId rank{static_cast<std::uint32_t>(payload >> 32)};
  for (const std::uint32_t part : split_->parts_of(folding_->agent_of(rank)))
    parts.push_back(std::uint64_t{index_of(folding_->first_rank(part))} << 32 | (payload & UINT32_MAX));
}

}  // namespace orrery::system
