#include "system/plans/routes.h"

#include <vector>

namespace orrery {

Duration route_latency(const Fabric& fabric, DeviceId from, DeviceId to) {
  std::vector<LinkId> route;
  fabric.route(from, to, route);
  Duration latency{};
  for (const LinkId link : route) latency = saturating_add(latency, fabric.link(link).latency);
  return latency;
}

}  // namespace orrery
