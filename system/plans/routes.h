// What is asked of the routes of a fabric: how long they are, and whether they stay in a node.
#pragma once

#include "core/ids.h"
#include "core/units.h"
#include "network/fabric/fabric.h"

namespace orrery {

// The sum over the links of the route, at most Duration::max().
Duration route_latency(const Fabric& fabric, DeviceId from, DeviceId to);

// Devices of one node differ in the fabric's first dimension only.
inline std::uint32_t node_of(const Fabric& fabric, DeviceId device) {
  return index_of(device) / fabric.dimensions().front().size;
}

}  // namespace orrery
