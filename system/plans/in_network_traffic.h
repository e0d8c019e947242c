// What a phase puts on the network where switches add up and copy on the way: every link that its messages cross
// carries the data once.
#pragma once

#include <span>

#include "collectives/schedule.h"
#include "core/ids.h"
#include "network/fabric/fabric.h"
#include "system/plans/line_traffic.h"

namespace orrery {

// Of a schedule that is_in_network(); `devices` are those of its ranks. Latency is that of the longest of its routes.
LineTraffic in_network_traffic(const Schedule& schedule, std::span<const DeviceId> devices, const Fabric& fabric);

}  // namespace orrery
