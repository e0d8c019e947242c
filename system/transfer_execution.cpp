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
  const auto agents = folding == nullptr ? static_cast<std::uint32_t>(job.ranks.size()) : folding->agent_count();
  for (std::uint32_t agent = 0; agent < agents; ++agent)
    inboxes_.emplace_back(job.graph(first_rank(folding, agent)).transfers().size());
}

void TransferExecution::start_send(RankId rank, NodeId node, std::uint64_t message_tag) {
  const ExecutionGraph& graph = job_.graph(rank);
  const TransferEnd end = other_end(rank, node);
  Inbox& box = inbox(end.rank, end.node);
  box.started = engine_.now();
  box.has_started = true;
  const std::uint32_t id = messages_.put({rank, node, engine_.now()});
  sent_ += folding_ == nullptr ? 1 : folding_->sends(rank, graph.peer_slot(node)).count;
  network_.start(path(rank, node), graph.bytes(node), message_tag | id);
}

// Who acts for the rank at the other end.
TransferEnd TransferExecution::other_end(RankId rank, NodeId node) const {
  TransferEnd end = matching_.transfers[index_of(rank)][job_.graph(rank).transfer_index(node)];
  end.rank = acting_rank(folding_, end.rank);
  return end;
}

PathId TransferExecution::path(RankId from, NodeId send) {
  const std::uint32_t slot = job_.graph(from).peer_slot(send);
  const RankId to = job_.ranks[index_of(from)].peers[slot];
  if (folding_ == nullptr) return network_.path(placement_[index_of(from)], placement_[index_of(to)]);
  const auto [path, is_new] = class_paths_.try_emplace({from, slot});
  const MessageClass& sends = folding_->sends(from, slot);
  if (is_new) path->second = network_.class_path(sends.shares, sends.latency);
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
  listener_.on_transfer_done(message.from, message.send, message.started);
}

void TransferExecution::on_arrived(std::uint32_t id) {
  const Message message = messages_[id];
  messages_.release(id);
  const TransferEnd end = other_end(message.from, message.send);
  Inbox& box = inbox(end.rank, end.node);
  box.has_arrived = true;
  if (box.is_posted) finish_receive(end.rank, end.node);
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
