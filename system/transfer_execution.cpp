#include "system/transfer_execution.h"

#include <algorithm>

namespace orrery {

TransferExecution::TransferExecution(Engine& engine, Network& network, TransferListener& listener, const Job& job,
                                     const Matching& matching, std::span<const DeviceId> placement)
    : engine_(engine), network_(network), listener_(listener), job_(job), matching_(matching), placement_(placement) {
  inboxes_.reserve(job.ranks.size());
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank)
    inboxes_.emplace_back(job.graph(RankId(rank)).transfers().size());
}

void TransferExecution::start_send(RankId rank, NodeId node, std::uint64_t message_tag) {
  const ExecutionGraph& graph = job_.graph(rank);
  const TransferEnd end = matching_.transfers[index_of(rank)][graph.transfer_index(node)];
  Inbox& box = inbox(end.rank, end.node);
  box.started = engine_.now();
  box.has_started = true;
  const std::uint32_t id = messages_.put({rank, node, engine_.now()});
  ++sent_;
  const PathId path = network_.path(placement_[index_of(rank)], placement_[index_of(end.rank)]);
  network_.start(path, graph.bytes(node), message_tag | id);
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
  const ExecutionGraph& graph = job_.graph(message.from);
  const TransferEnd end = matching_.transfers[index_of(message.from)][graph.transfer_index(message.send)];
  Inbox& box = inbox(end.rank, end.node);
  box.has_arrived = true;
  if (box.is_posted) finish_receive(end.rank, end.node);
}

bool TransferExecution::sender_started(RankId rank, NodeId receive) const {
  return inboxes_[index_of(rank)][job_.graph(rank).transfer_index(receive)].has_started;
}

void TransferExecution::on_event(std::uint64_t payload) {
  finish_receive(RankId(static_cast<std::uint32_t>(payload >> 32)), NodeId(static_cast<std::uint32_t>(payload)));
}

TransferExecution::Inbox& TransferExecution::inbox(RankId rank, NodeId receive) {
  return inboxes_[index_of(rank)][job_.graph(rank).transfer_index(receive)];
}

void TransferExecution::finish_receive(RankId rank, NodeId node) {
  const Inbox& box = inbox(rank, node);
  listener_.on_transfer_done(rank, node, std::max(box.started, box.posted));
}

}  // namespace orrery
