#include "system/transfer_execution.h"

#include <algorithm>

namespace orrery {

TransferExecution::TransferExecution(Engine& engine, Network& network, TransferListener& listener, const Job& job,
                                     const Matching& matching, std::span<const DeviceId> placement,
                                     const Folding* folding)
    : engine_(engine),
      network_(network),
      listener_(listener),
      job_(job),
      matching_(matching),
      placement_(placement),
      folding_(folding) {
  if (folding != nullptr)
    for (const ExecutionGraph& graph : job.graphs) slots_.emplace_back(graph);
  const auto agents = folding == nullptr ? static_cast<std::uint32_t>(job.ranks.size()) : folding->agent_count();
  for (std::uint32_t agent = 0; agent < agents; ++agent)
    inboxes_.emplace_back(job.graph(first_rank(folding, agent)).transfers().size());
}

void TransferExecution::start_send(RankId rank, NodeId node, std::uint64_t message_tag) {
  const ExecutionGraph& graph = job_.graph(rank);
  if (folding_ != nullptr && message_class(rank, node).sends.front() != graph.peer_slot(node)) return;
  for (const TransferEnd& end : ends_of(rank, node)) {
    Inbox& box = inbox(end.rank, end.node);
    box.started = engine_.now();
    box.has_started = true;
  }
  const std::uint32_t id = messages_.put({rank, node, engine_.now()});
  sent_ += folding_ == nullptr ? 1 : message_class(rank, node).count;
  network_.start(path(rank, node), graph.bytes(node), message_tag | id);
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
std::vector<TransferEnd> TransferExecution::ends_of(RankId rank, NodeId send) const {
  const TransferEnd end = matching_.transfers[index_of(rank)][job_.graph(rank).transfer_index(send)];
  if (folding_ == nullptr) return {end};
  const MessageClass& message = message_class(rank, send);
  const RankId acting = folding_->first_rank(message.receiver);
  if (message.slots.size() == 1) return {{acting, end.node}};
  const TransferSlots& slots = slots_[job_.ranks[index_of(acting)].graph];
  const std::uint32_t ordinal = slots.ordinal(job_.graph(end.rank), end.node);
  std::vector<TransferEnd> ends;
  for (const std::uint32_t slot : message.slots) ends.push_back({acting, slots.receives(slot)[ordinal]});
  return ends;
}

PathId TransferExecution::path(RankId from, NodeId send) {
  const std::uint32_t slot = job_.graph(from).peer_slot(send);
  const RankId to = job_.ranks[index_of(from)].peers[slot];
  if (folding_ == nullptr) return network_.path(placement_[index_of(from)], placement_[index_of(to)]);
  const auto [path, is_new] = class_paths_.try_emplace({from, slot});
  if (is_new) path->second = network_.class_path(message_class(from, send).shares, message_class(from, send).latency);
  return path->second;
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
  for (const NodeId send : sends_like(message.from, message.send))
    listener_.on_transfer_done(message.from, send, message.started);
}

void TransferExecution::on_arrived(std::uint32_t id) {
  const Message message = messages_[id];
  messages_.release(id);
  for (const TransferEnd& end : ends_of(message.from, message.send)) {
    Inbox& box = inbox(end.rank, end.node);
    box.has_arrived = true;
    if (box.is_posted) finish_receive(end.rank, end.node);
  }
}

bool TransferExecution::sender_started(RankId rank, NodeId receive) const {
  return inboxes_[agent_of(folding_, rank)][job_.graph(rank).transfer_index(receive)].has_started;
}

void TransferExecution::on_event(std::uint64_t payload) {
  finish_receive(RankId(static_cast<std::uint32_t>(payload >> 32)), NodeId(static_cast<std::uint32_t>(payload)));
}

TransferExecution::Inbox& TransferExecution::inbox(RankId rank, NodeId receive) {
  return inboxes_[agent_of(folding_, rank)][job_.graph(rank).transfer_index(receive)];
}

void TransferExecution::finish_receive(RankId rank, NodeId node) {
  const Inbox& box = inbox(rank, node);
  listener_.on_transfer_done(rank, node, std::max(box.started, box.posted));
}

}  // namespace orrery
