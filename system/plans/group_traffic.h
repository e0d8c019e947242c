// What a collective that runs as one whole puts on the links of the fabric.
#pragma once

#include <span>
#include <vector>

#include "collectives/aggregate.h"
#include "core/ids.h"
#include "core/units.h"
#include "network/fabric/fabric.h"
#include "system/plans/group_messages.h"
#include "system/plans/line_traffic.h"

namespace orrery {

struct LinkTraffic {
  LinkId link{};
  Bytes within{0};  // of messages within nodes
  Bytes between{0};
};

// By LinkId, each link that carries something once, and the most that any rank sends. Counts stop at Bytes::max().
struct GroupTraffic {
  std::vector<LinkTraffic> links;
  Bytes most_within{0};
  Bytes most_between{0};
};
GroupTraffic traffic_by_link(const Aggregate& transfer, const NodeMembers& nodes, std::span<const DeviceId> devices,
                             const Fabric& fabric);

// The same as the network takes it. `devices` by member. On every link what one rank sends within its node, or between
// nodes, counts as one connection. Throws InputError when a link would carry 2^62 bytes or more.
LineTraffic group_traffic(const Aggregate& transfer, const NodeMembers& nodes, std::span<const DeviceId> devices,
                          const Fabric& fabric);

}  // namespace orrery
