#include "network/alpha_beta.h"

#include <algorithm>

#include "core/assert.h"

namespace orrery {
AlphaBetaNetwork::AlphaBetaNetwork(Engine& engine, const Fabric& fabric, MessageListener& listener, BusyTime busy)
    : engine_(engine), fabric_(fabric), events_(engine, listener), paths_(fabric) {
  if (busy == BusyTime::kRecord) activity_.resize(fabric.link_count());
}

void AlphaBetaNetwork::start(PathId path, Bytes bytes, std::uint64_t token) {
  events_.deliver(book(path, bytes), paths_[path].latency, token);
}

void AlphaBetaNetwork::start_group(std::span<const LinkShare> shares, Bytes busiest, Duration latency,
                                   std::uint64_t token) {
  ORRERY_ASSERT(busiest >= Bytes(0));
  const Duration transfer = busiest / rate_alone(fabric_, shares);
  events_.deliver(transfer, latency, token);
  group_bytes_.resize(fabric_.link_count());
  for (const LinkShare& share : shares) {
    Bytes& sent = group_bytes_[index_of(share.link)];
    sent = saturating_add(sent, load_of(share, busiest));
    if (!activity_.empty() && transfer > Duration::zero()) record_busy(share.link, transfer);
  }
}

Duration AlphaBetaNetwork::count_private(PathId path, Bytes bytes, std::uint32_t messages) {
  const Duration transfer = paths_.send(path, bytes, messages);
  if (!activity_.empty())
    for (const LinkId link : paths_.links(path)) activity_[index_of(link)].busy += transfer * messages;
  return transfer;
}

void AlphaBetaNetwork::split(std::span<const LinkSplit> links) {
  paths_.split(links);
  for (const LinkSplit& split : links) {
    if (!group_bytes_.empty()) group_bytes_[index_of(split.link)] = group_bytes_[index_of(split.parent)];
    if (!activity_.empty()) activity_[index_of(split.link)] = activity_[index_of(split.parent)];
  }
}

std::optional<Time> AlphaBetaNetwork::start_foretold(PathId path, Bytes bytes, std::uint64_t token) {
  const Duration latency = paths_[path].latency;
  if (latency == Duration::zero() || bytes == Bytes(0)) {  // the two may come in one instant, or at once
    start(path, bytes, token);
    return std::nullopt;
  }
  const Duration transfer = book(path, bytes);
  events_.arrive(saturating_add(transfer, latency), token);
  return engine_.now() + transfer;
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

std::vector<LinkUsage> AlphaBetaNetwork::link_usage() const {
  std::vector<LinkUsage> usage(fabric_.link_count());
  paths_.add_sent(usage);
  for (std::size_t link = 0; link < group_bytes_.size(); ++link)
    usage[link].bytes = saturating_add(usage[link].bytes, group_bytes_[link]);
  for (std::size_t link = 0; link < activity_.size(); ++link) usage[link].busy = activity_[link].busy;
  return usage;
}

}  // namespace orrery
