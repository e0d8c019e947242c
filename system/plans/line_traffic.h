// What a phase of a collective puts on the network in one line of ranks, all its messages taken together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/schedule.h"
#include "core/ids.h"
#include "core/units.h"
#include "network/fabric/fabric.h"
#include "network/link_share.h"

namespace orrery {

// As Network::group_path takes it.
struct LineTraffic {
  std::vector<LinkLoad> loads;  // by LinkId, each link once
  Duration latency{};           // of the schedule's longest chain
};

// Throws InputError when the load of a link is 2^62 bytes or more.
void require_countable_load(Bytes load);

// As how many connections `load` counts where a rank sends up to `most`: what one rank sends is one, whatever the
// number of its messages. 0 without load.
std::uint32_t connections_of(Bytes load, Bytes most);

// `devices` are those of the schedule's ranks. Throws InputError when a link would carry 2^62 bytes or more.
LineTraffic line_traffic(const Schedule& schedule, std::span<const DeviceId> devices, const Fabric& fabric);

}  // namespace orrery
