// What a phase of a collective puts on the network in one line of ranks, all its messages taken together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/schedule.h"
#include "core/ids.h"
#include "core/units.h"
#include "network/fabric.h"
#include "network/link_share.h"

namespace orrery {

// As Network::start_group takes it. What a rank sends to another in all its steps counts as one message, of which the
// one with the most bytes sets the pace.
struct LineTraffic {
  std::vector<LinkShare> shares;  // by LinkId, each link once
  Bytes busiest{0};
  Duration latency{};  // of the schedule's longest chain
};

// Throws InputError when the load of a link is 2^62 bytes or more.
void require_countable_load(Bytes load);

// `devices` are those of the schedule's ranks. Throws InputError when a link would carry 2^62 bytes or more.
LineTraffic line_traffic(const Schedule& schedule, std::span<const DeviceId> devices, const Fabric& fabric);

}  // namespace orrery
