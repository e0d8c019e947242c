// SPDX-License-Identifier: MIT
#include "network/models/alpha_beta.h"

#include <algorithm>

namespace orrery::network {

AlphaBetaNetwork::AlphaBetaNetwork(Engine& engine, const Fabric& fabric, BusyTime busy) : Network(engine, fabric) {
  if (busy == BusyTime::kRecord) activity_.resize(fabric.link_count());
}

Time AlphaBetaNetwork::start(const Message& message) {
  const Duration latency = paths_[message.path].latency;
  const Duration transfer =
      paths_.is_group(message.path) ? book_group(message.path) : book(message.path, message.bytes);
  // Release and arrival may come in one instant, or at once.
  if (!message.may_predict || latency == Duration::zero() || message.bytes == Bytes(0)) {
    message.recipient->deliver(engine_, transfer, latency, message.id);
    return kNotPredicted;
  }
  message.recipient->arrive(engine_, saturating_add(transfer, latency), message.id);
  return engine_.now() + transfer;
}

// A link that nothing shares, neither copies of the load nor the connections that it is of.
Duration AlphaBetaNetwork::transfer_of(const LinkLoad& load) const {
  return load.bytes / fabric_.link(load.link).bandwidth;
}

Duration AlphaBetaNetwork::book_group(PathId path) {
  paths_.send_group(path);
  Duration longest{};
  for (const auto& [load, transfer] : paths_.loads(path)) {
    const Duration own = transfer_of(load);
    longest = std::max(longest, own);
    if (!activity_.empty()) record_busy(load.link, own);
  }
  return longest;
}

std::optional<Duration> AlphaBetaNetwork::time_alone(PathId path, Bytes bytes) {
  if (!paths_.has_links_once(path)) return std::nullopt;
  if (!paths_.is_group(path)) return paths_.send(path, bytes, 0);
  Duration longest{};
  for (const auto& [load, transfer] : paths_.loads(path)) longest = std::max(longest, transfer_of(load));
  return longest;
}

Duration AlphaBetaNetwork::count_private(PathId path, Bytes bytes, std::uint64_t messages) {
  const auto times = static_cast<std::int64_t>(messages);
  const Duration transfer = paths_.send(path, bytes, times);
  if (!activity_.empty())
    for (const LinkId link : paths_.links(path)) {
      Duration& busy = activity_[index_of(link)].busy;
      busy = saturating_multiply_add(busy, transfer, times);
    }
  return transfer;
}

bool AlphaBetaNetwork::count_groups(PathId path, std::uint64_t groups) {
  if (!paths_.has_links_once(path)) return false;
  paths_.send_group(path, static_cast<std::int64_t>(groups));
  if (activity_.empty()) return true;
  for (const auto& [load, transfer] : paths_.loads(path)) {
    Duration& busy = activity_[index_of(load.link)].busy;
    busy = saturating_multiply_add(busy, transfer_of(load), static_cast<std::int64_t>(groups));
  }
  return true;
}

void AlphaBetaNetwork::split(std::span<const LinkSplit> links) {
  paths_.split(links);
  if (activity_.empty()) return;
  for (const LinkSplit& split : links) activity_[index_of(split.link)] = activity_[index_of(split.parent)];
}

// Enters the message into the books; how long its transfer takes.
Duration AlphaBetaNetwork::book(PathId path, Bytes bytes) {
  const Duration transfer = paths_.send(path, bytes);
  if (activity_.empty() || transfer == Duration::zero()) return transfer;
  for (const LinkId link : paths_.links(path)) record_busy(link, transfer);
  return transfer;
}

// Transfers start in the order of time, so the union of their intervals needs only the latest end so far.
void AlphaBetaNetwork::record_busy(LinkId link, Duration transfer) {
  const Time now = engine_.now();
  const Time end{saturating_add(now.time_since_epoch(), transfer)};
  Activity& activity = activity_[index_of(link)];
  if (end <= activity.until) return;
  activity.busy += end - std::max(now, activity.until);
  activity.until = end;
}

PagedArray<LinkUsage> AlphaBetaNetwork::usage() const {
  PagedArray<LinkUsage> usage(fabric_.link_count());
  paths_.add_sent(usage);
  for (std::size_t link = 0; link < activity_.size(); ++link)
    if (activity_[link].busy > Duration::zero()) usage.own(link).busy = activity_[link].busy;
  return usage;
}

}  // namespace orrery::network
