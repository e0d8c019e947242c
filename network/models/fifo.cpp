// SPDX-License-Identifier: MIT
#include "network/models/fifo.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"

namespace orrery::network {
namespace {

// Events are of a message: it came to its next link, or its link has sent it.
constexpr std::uint64_t kSent = std::uint64_t{1} << 32;

}  // namespace

FifoNetwork::FifoNetwork(Engine& engine, const Fabric& fabric)
    : Network(engine, fabric), queues_(fabric.link_count()) {}

Time FifoNetwork::start(const Message& message) {
  ORRERY_ASSERT(message.bytes >= Bytes(0));
  const auto links = paths_.links(message.path);
  if (links.empty())
    message.recipient->deliver(engine_, Duration::zero(), paths_[message.path].latency, message.id);
  else if (paths_.is_group(message.path))
    start_group(message);
  else
    queue_new(message.bytes, links).message = message;
  return kNotPredicted;
}

void FifoNetwork::start_group(const Message& message) {
  const auto loads = paths_.loads(message.path);
  const std::uint32_t group = groups_.put({message, loads.size()});
  for (const auto& [load, transfer] : loads) queue_new(load.bytes, std::span(&load.link, 1)).group = group;
}

FifoNetwork::Queued& FifoNetwork::queue_new(Bytes bytes, std::span<const LinkId> route) {
  std::uint32_t index = static_cast<std::uint32_t>(messages_.size());
  if (free_.empty()) {
    messages_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Queued& message = messages_[index];
  message.bytes = bytes;
  message.route.assign(route.begin(), route.end());
  message.hop = 0;
  message.group = kNone;
  for (const LinkId link : route) {
    Bytes& sent = queues_[index_of(link)].usage.bytes;
    sent = saturating_add(sent, bytes);
  }
  came_.push_back(index);
  return message;
}

// Store and forward makes a message's time depend on others' places in queues.
Duration FifoNetwork::count_private(PathId, Bytes, std::uint64_t) { ORRERY_ASSERT(false); }

void FifoNetwork::settle() {
  std::ranges::sort(came_, {}, [&](std::uint32_t message) { return next_link(message); });
  for (auto first = came_.begin(); first != came_.end();) {
    const auto last =
        std::find_if(first, came_.end(), [&](std::uint32_t other) { return next_link(other) != next_link(*first); });
    queue_up(std::span(first, last));
    first = last;
  }
  came_.clear();
  for (const LinkId link : ready_) send_next(link);
  ready_.clear();
}

PagedArray<LinkUsage> FifoNetwork::usage() const {
  PagedArray<LinkUsage> usage(queues_.size());
  for (std::size_t link = 0; link < queues_.size(); ++link)
    if (queues_[link].usage.bytes > Bytes(0)) usage.own(link) = queues_[link].usage;
  return usage;
}

void FifoNetwork::on_event(std::uint64_t payload) {
  const auto message = static_cast<std::uint32_t>(payload);
  if ((payload & kSent) != 0)
    on_sent(message);
  else
    came_.push_back(message);
}

void FifoNetwork::on_sent(std::uint32_t index) {
  Queued& message = messages_[index];
  const LinkId link = message.route[message.hop];
  const Duration latency = fabric_.link(link).latency;
  const Message sent = message.message;
  const bool is_first = message.hop == 0;
  const bool is_last = ++message.hop == message.route.size();
  queues_[index_of(link)].sending = false;
  ready_.push_back(link);
  if (message.group != kNone) {
    free_.push_back(index);
    return on_part_sent(message.group);
  }
  if (is_last) {
    free_.push_back(index);
  } else if (latency == Duration::zero()) {
    came_.push_back(index);
  } else {
    engine_.after(latency, *this, index);
  }
  if (is_last && latency > Duration::zero()) sent.recipient->arrive(engine_, latency, sent.id);
  if (is_first) sent.recipient->on_released(sent.id);
  if (is_last && latency == Duration::zero()) sent.recipient->on_arrived(sent.id);
}

void FifoNetwork::on_part_sent(std::uint32_t index) {
  Group& group = groups_[index];
  if (--group.parts > 0) return;
  const Message sent = group.message;
  groups_.release(index);
  const Duration latency = paths_[sent.path].latency;
  if (latency > Duration::zero()) sent.recipient->arrive(engine_, latency, sent.id);
  sent.recipient->on_released(sent.id);
  if (latency == Duration::zero()) sent.recipient->on_arrived(sent.id);
}

// All of one link.
void FifoNetwork::queue_up(std::span<const std::uint32_t> messages) {
  if (messages.size() == 1) return queue_up(messages.front());
  std::vector<std::pair<MessagePlace, std::uint32_t>> queue;
  for (const std::uint32_t index : messages) {
    const Queued& queued = messages_[index];
    const Message& message = queued.group == kNone ? queued.message : groups_[queued.group].message;
    queue.emplace_back(message.recipient->place_of(message.id), index);
  }
  std::ranges::sort(queue);
  for (const auto& [place, index] : queue) queue_up(index);
}

void FifoNetwork::queue_up(std::uint32_t index) {
  Queued& message = messages_[index];
  message.next = kNone;
  const LinkId link = message.route[message.hop];
  Queue& queue = queues_[index_of(link)];
  (queue.first == kNone ? queue.first : messages_[queue.last].next) = index;
  queue.last = index;
  ready_.push_back(link);
}

void FifoNetwork::send_next(LinkId link) {
  Queue& queue = queues_[index_of(link)];
  if (queue.sending || queue.first == kNone) return;
  const std::uint32_t index = queue.first;
  const Queued& message = messages_[index];
  const Duration sending = message.bytes / fabric_.link(link).bandwidth;
  engine_.after(sending, *this, kSent | index);
  queue.first = message.next;
  queue.sending = true;
  queue.usage.busy += sending;
}

}  // namespace orrery::network
