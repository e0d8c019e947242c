#include "system/plans/line_traffic.h"

#include <algorithm>
#include <map>

#include "collectives/longest_chain.h"
#include "core/error.h"
#include "system/plans/routes.h"

namespace orrery {
namespace {

constexpr Bytes kTooMany{std::int64_t{1} << 62};

// What one rank sends to each of the others.
class SentBy {
 public:
  explicit SentBy(std::uint32_t ranks) : bytes_(ranks) {}

  void count(const Schedule& schedule, std::uint32_t rank) {
    for (const std::uint32_t to : receivers_) bytes_[to] = Bytes(0);
    receivers_.clear();
    const std::uint32_t sends = schedule.sends(rank);
    if (sends == 0) return;
    if (schedule.is_uniform_ring()) {
      const Step step = schedule.step(rank, 0);
      return add(step.to, step.bytes, sends);
    }
    for (std::uint32_t send = 0; send < sends; ++send) {
      const Step step = schedule.step(rank, send);
      add(step.to, step.bytes, 1);
    }
  }

  std::span<const std::uint32_t> receivers() const { return receivers_; }
  Bytes to(std::uint32_t receiver) const { return bytes_[receiver]; }

 private:
  void add(std::uint32_t to, Bytes bytes, std::uint32_t times) {
    if (bytes == Bytes(0)) return;
    if (bytes_[to] == Bytes(0)) receivers_.push_back(to);
    const Int128 sum = Int128{bytes_[to].count()} + Int128{bytes.count()} * times;
    bytes_[to] = sum < kTooMany.count() ? Bytes(static_cast<std::int64_t>(sum)) : kTooMany;
  }

  std::vector<Bytes> bytes_;
  std::vector<std::uint32_t> receivers_;
};

}  // namespace

void require_countable_load(Bytes load) {
  if (load >= kTooMany)
    throw InputError({}, "a collective would send 2^62 bytes or more over one link",
                     "look for a size that is off by orders of magnitude");
}

std::uint32_t connections_of(Bytes load, Bytes most) {
  if (load == Bytes(0)) return 0;
  return static_cast<std::uint32_t>(std::min<std::int64_t>((load.count() - 1) / most.count() + 1, UINT32_MAX));
}

LineTraffic line_traffic(const Schedule& schedule, std::span<const DeviceId> devices, const Fabric& fabric) {
  std::map<LinkId, Bytes> loads;
  Bytes most(0);  // that a rank sends
  std::vector<LinkId> route;
  SentBy sent(schedule.ranks());
  for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
    sent.count(schedule, rank);
    Bytes of_rank(0);
    for (const std::uint32_t to : sent.receivers()) {
      of_rank = saturating_add(of_rank, sent.to(to));
      fabric.route(devices[rank], devices[to], route);
      for (const LinkId link : route) loads[link] = saturating_add(loads[link], sent.to(to));
    }
    most = std::max(most, of_rank);
  }
  LineTraffic traffic;
  for (const auto& [link, load] : loads) {
    require_countable_load(load);
    traffic.loads.push_back({link, load, connections_of(load, most)});
  }
  traffic.latency = longest_chain(schedule, [&](std::uint32_t from, std::uint32_t to) {
    return route_latency(fabric, devices[from], devices[to]);
  });
  return traffic;
}

}  // namespace orrery
