#include "system/plans/in_network_traffic.h"

#include <algorithm>
#include <set>
#include <vector>

#include "system/plans/routes.h"

namespace orrery {

LineTraffic in_network_traffic(const Schedule& schedule, std::span<const DeviceId> devices, const Fabric& fabric) {
  LineTraffic traffic;
  Bytes data(0);
  std::set<LinkId> crossed;
  std::vector<LinkId> route;
  for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank)
    for (std::uint32_t send = 0; send < schedule.sends(rank); ++send) {
      const Step step = schedule.step(rank, send);
      data = std::max(data, step.bytes);
      traffic.latency = std::max(traffic.latency, route_latency(fabric, devices[rank], devices[step.to]));
      if (step.bytes == Bytes(0)) continue;
      fabric.route(devices[rank], devices[step.to], route);
      crossed.insert(route.begin(), route.end());
    }
  require_countable_load(data);
  for (const LinkId link : crossed) traffic.loads.push_back({link, data, 1});
  return traffic;
}

}  // namespace orrery
