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

FifoNetwork::FifoNetwork(Engine& engine, const Fabric& fabric, MessageListener& listener)
    : PathNetwork(engine, fabric, listener), queues_(fabric.link_count()) {}

void FifoNetwork::start(PathId path, Bytes bytes, std::uint64_t token) {
  ORRERY_ASSERT(bytes >= Bytes(0));
  const auto links = paths_.links(path);
  if (links.empty()) {
    events_.deliver(Duration::zero(), Duration::zero(), token);
    return;
  }
  queue_new(bytes, links).token = token;
}

void FifoNetwork::start_group(PathId path, std::uint64_t token) {
  const auto loads = paths_.loads(path);
  const Duration latency = paths_[path].latency;
  if (loads.empty()) return events_.deliver(Duration::zero(), latency, token);
  const std::uint32_t group = groups_.put({token, latency, loads.size()});
  for (const auto& [load, transfer] : loads) queue_new(load.bytes, std::span(&load.link, 1)).group = group;
}

FifoNetwork::Message& FifoNetwork::queue_new(Bytes bytes, std::span<const LinkId> route) {
  std::uint32_t index = static_cast<std::uint32_t>(messages_.size());
  if (free_.empty()) {
    messages_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Message& message = messages_[index];
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
Duration FifoNetwork::count_private(PathId, Bytes, std::uint32_t) { ORRERY_ASSERT(false); }

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

std::vector<LinkUsage> FifoNetwork::link_usage() const {
  std::vector<LinkUsage> usage;
  for (const Queue& queue : queues_) usage.push_back(queue.usage);
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
  Message& message = messages_[index];
  const LinkId link = message.route[message.hop];
  const Duration latency = fabric_.link(link).latency;
  const std::uint64_t token = message.token;
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
  if (is_last && latency > Duration::zero()) events_.arrive(latency, token);
  if (is_first) listener_.on_released(token);
  if (is_last && latency == Duration::zero()) listener_.on_arrived(token);
}

void FifoNetwork::on_part_sent(std::uint32_t index) {
  Group& group = groups_[index];
  if (--group.parts > 0) return;
  const auto [token, latency, parts] = group;
  groups_.release(index);
  if (latency > Duration::zero()) events_.arrive(latency, token);
  listener_.on_released(token);
  if (latency == Duration::zero()) listener_.on_arrived(token);
}

// All of one link.
void FifoNetwork::queue_up(std::span<const std::uint32_t> messages) {
  if (messages.size() == 1) return queue_up(messages.front());
  std::vector<std::pair<MessagePlace, std::uint32_t>> queue;
  for (const std::uint32_t index : messages) {
    const Message& message = messages_[index];
    queue.emplace_back(listener_.place_of(message.group == kNone ? message.token : groups_[message.group].token),
                       index);
  }
  std::ranges::sort(queue);
  for (const auto& [place, index] : queue) queue_up(index);
}

void FifoNetwork::queue_up(std::uint32_t index) {
  Message& message = messages_[index];
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
  const Message& message = messages_[index];
  const Duration sending = message.bytes / fabric_.link(link).bandwidth;
  engine_.after(sending, *this, kSent | index);
  queue.first = message.next;
  queue.sending = true;
  queue.usage.busy += sending;
}

}  // namespace orrery::network
