#include "network/alpha_beta.h"

#include <algorithm>

#include "core/assert.h"

namespace orrery {
namespace {

Bytes saturating_sum(Bytes a, Bytes b) { return a > Bytes::max() - b ? Bytes::max() : a + b; }

}  // namespace

AlphaBetaNetwork::AlphaBetaNetwork(Engine& engine, const Fabric& fabric, MessageListener& listener, BusyTime busy)
    : engine_(engine), fabric_(fabric), released_(listener), arrived_(listener), both_(listener), paths_(fabric) {
  if (busy == BusyTime::kRecord) activity_.resize(fabric.link_count());
}

PathId AlphaBetaNetwork::path(DeviceId from, DeviceId to) {
  const PathId path = paths_.intern(from, to);
  if (paths_.size() > traffic_.size()) traffic_.resize(paths_.size());
  return path;
}

void AlphaBetaNetwork::start(PathId path, Bytes bytes, std::uint64_t token) {
  const Duration transfer = book(path, bytes);
  const Duration latency = paths_[path].latency;
  if (latency == Duration::zero()) {
    engine_.after(transfer, both_, token);
  } else {
    engine_.after(transfer, released_, token);
    engine_.after(saturating_add(transfer, latency), arrived_, token);
  }
}

std::optional<Time> AlphaBetaNetwork::start_foretold(PathId path, Bytes bytes, std::uint64_t token) {
  const Duration latency = paths_[path].latency;
  if (latency == Duration::zero() || bytes == Bytes(0)) {  // the two may come in one instant, or at once
    start(path, bytes, token);
    return std::nullopt;
  }
  const Duration transfer = book(path, bytes);
  engine_.after(saturating_add(transfer, latency), arrived_, token);
  return engine_.now() + transfer;
}

// Enters the message into the books; how long its transfer takes.
Duration AlphaBetaNetwork::book(PathId path, Bytes bytes) {
  ORRERY_ASSERT(bytes >= Bytes(0));
  Traffic& traffic = traffic_[static_cast<std::size_t>(path)];
  traffic.bytes = saturating_sum(traffic.bytes, bytes);
  if (bytes != traffic.last) {
    const Path& cost = paths_[path];
    // What stays on a device crosses no link and takes no time.
    traffic.transfer = cost.from == cost.to ? Duration::zero() : bytes / cost.narrowest;
    traffic.last = bytes;
  }
  if (!activity_.empty() && traffic.transfer > Duration::zero()) record_busy(path, traffic.transfer);
  return traffic.transfer;
}

// Transfers start in the order of time, so the union of their intervals needs only the latest end so far.
void AlphaBetaNetwork::record_busy(PathId path, Duration transfer) {
  const Time now = engine_.now();
  const Time end = now + transfer;
  for (const LinkId link : paths_.links(path)) {
    Activity& activity = activity_[index_of(link)];
    if (end <= activity.until) continue;
    activity.busy += end - std::max(now, activity.until);
    activity.until = end;
  }
}

std::vector<LinkUsage> AlphaBetaNetwork::link_usage() const {
  std::vector<LinkUsage> usage(fabric_.link_count());
  std::vector<LinkId> route;
  for (std::size_t path = 0; path < traffic_.size(); ++path) {
    if (traffic_[path].bytes == Bytes(0)) continue;
    const Path& ends = paths_[PathId(static_cast<std::uint32_t>(path))];
    fabric_.route(ends.from, ends.to, route);
    for (const LinkId link : route) {
      Bytes& sent = usage[index_of(link)].bytes;
      sent = saturating_sum(sent, traffic_[path].bytes);
    }
  }
  for (std::size_t link = 0; link < activity_.size(); ++link) usage[link].busy = activity_[link].busy;
  return usage;
}

}  // namespace orrery
