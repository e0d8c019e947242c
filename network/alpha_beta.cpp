#include "network/alpha_beta.h"

#include <algorithm>

#include "core/assert.h"

namespace orrery {

AlphaBetaNetwork::AlphaBetaNetwork(Engine& engine, const Fabric& fabric, MessageListener& listener, BusyTime busy)
    : engine_(engine), fabric_(fabric), released_(listener), arrived_(listener), both_(listener), paths_(fabric) {
  if (busy == BusyTime::kRecord) activity_.resize(fabric.link_count());
}

PathId AlphaBetaNetwork::path(DeviceId from, DeviceId to) {
  const PathId path = paths_.intern(from, to);
  if (paths_.size() > bytes_.size()) bytes_.resize(paths_.size());
  return path;
}

void AlphaBetaNetwork::start(PathId path, Bytes bytes, std::uint64_t token) {
  ORRERY_ASSERT(bytes >= Bytes(0));
  const Path& cost = paths_[path];
  // What stays on a device crosses no link and takes no time.
  const Duration transfer = cost.from == cost.to ? Duration::zero() : bytes / cost.narrowest;
  deliver(transfer, cost.latency, token);
  Bytes& sent = bytes_[static_cast<std::size_t>(path)];
  sent = saturating_add(sent, bytes);
  if (activity_.empty() || transfer == Duration::zero()) return;
  for (const LinkId link : paths_.links(path)) record_busy(link, transfer);
}

void AlphaBetaNetwork::start_group(std::span<const LinkShare> shares, Bytes busiest, Duration latency,
                                   std::uint64_t token) {
  ORRERY_ASSERT(busiest >= Bytes(0));
  const Duration transfer = busiest / rate_alone(fabric_, shares);
  deliver(transfer, latency, token);
  group_bytes_.resize(fabric_.link_count());
  for (const LinkShare& share : shares) {
    Bytes& sent = group_bytes_[index_of(share.link)];
    sent = saturating_add(sent, load_of(share, busiest));
    if (!activity_.empty() && transfer > Duration::zero()) record_busy(share.link, transfer);
  }
}

void AlphaBetaNetwork::deliver(Duration transfer, Duration latency, std::uint64_t token) {
  if (latency == Duration::zero()) {
    engine_.after(transfer, both_, token);
  } else {
    engine_.after(transfer, released_, token);
    engine_.after(saturating_add(transfer, latency), arrived_, token);
  }
}

// Transfers start in the order of time, so the union of their intervals needs only the latest end so far.
void AlphaBetaNetwork::record_busy(LinkId link, Duration transfer) {
  const Time now = engine_.now();
  const Time end = now + transfer;
  Activity& activity = activity_[index_of(link)];
  if (end <= activity.until) return;
  activity.busy += end - std::max(now, activity.until);
  activity.until = end;
}

std::vector<LinkUsage> AlphaBetaNetwork::link_usage() const {
  std::vector<LinkUsage> usage(fabric_.link_count());
  std::vector<LinkId> route;
  for (std::size_t path = 0; path < bytes_.size(); ++path) {
    if (bytes_[path] == Bytes(0)) continue;
    const Path& ends = paths_[PathId(static_cast<std::uint32_t>(path))];
    fabric_.route(ends.from, ends.to, route);
    for (const LinkId link : route) {
      Bytes& sent = usage[index_of(link)].bytes;
      sent = saturating_add(sent, bytes_[path]);
    }
  }
  for (std::size_t link = 0; link < group_bytes_.size(); ++link)
    usage[link].bytes = saturating_add(usage[link].bytes, group_bytes_[link]);
  for (std::size_t link = 0; link < activity_.size(); ++link) usage[link].busy = activity_[link].busy;
  return usage;
}

}  // namespace orrery
