// What a collective that runs as one whole puts on the links of the fabric.
#pragma once

#include <span>
#include <vector>

#include "collectives/group_transfer.h"
#include "core/ids.h"
#include "core/units.h"
#include "network/fabric.h"
#include "system/group_messages.h"
#include "system/line_traffic.h"

namespace orrery {

struct LinkLoad {
  LinkId link{};
  Bytes within{0};  // of messages within nodes
  Bytes between{0};
};

// By LinkId, each link that carries something once. Counts stop at Bytes::max().
std::vector<LinkLoad> link_loads(const GroupTransfer& transfer, const NodeMembers& nodes,
                                 std::span<const DeviceId> devices, const Fabric& fabric);

// `devices` by member. What the slowest link carries sets the pace: there the group has the share of one message.
// Throws InputError when a link would carry 2^62 bytes or more.
LineTraffic group_traffic(const GroupTransfer& transfer, const NodeMembers& nodes, std::span<const DeviceId> devices,
                          const Fabric& fabric);

}  // namespace orrery
