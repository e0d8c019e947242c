#include "network/alpha_beta.h"

#include <algorithm>

namespace orrery {
AlphaBetaNetwork::AlphaBetaNetwork(Engine& engine, const Fabric& fabric, MessageListener& listener, BusyTime busy)
    : engine_(engine), fabric_(fabric), released_(listener), arrived_(listener), both_(listener), paths_(fabric) {
  if (busy == BusyTime::kRecord) activity_.resize(fabric.link_count());
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
  const Duration transfer = paths_.send(path, bytes);
  if (!activity_.empty() && transfer > Duration::zero()) record_busy(path, transfer);
  return transfer;
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
  paths_.add_sent(usage);
  for (std::size_t link = 0; link < activity_.size(); ++link) usage[link].busy = activity_[link].busy;
  return usage;
}

}  // namespace orrery
