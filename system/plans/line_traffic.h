// SPDX-License-Identifier: MIT
// Traffic of a collective's phase in one line of ranks, or of a collective that runs as one whole: all messages taken
// together, per link.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/aggregate.h"
#include "collectives/schedule.h"
#include "core/ids.h"
#include "core/units.h"
#include "network/fabric/fabric.h"
#include "network/network.h"
#include "system/plans/group_messages.h"

namespace orrery::system {

// As Network::group_path takes it.
struct LineTraffic {
  std::vector<network::LinkLoad> loads;  // by LinkId, each link once
  Duration latency{};                    // of the schedule's longest chain
  Duration least{};                      // Aggregate::least
};

// Throws InputError when the load of a link is 2^62 bytes or more.
void require_countable_load(Bytes load);

// As how many connections `load` counts where a rank sends up to `most`: what one rank sends is one, whatever the
// number of its messages. 0 without load.
std::uint32_t connections_of(Bytes load, Bytes most);

// `devices` are those of the schedule's ranks. Throws InputError when a link would carry 2^62 bytes or more.
LineTraffic line_traffic(const collectives::Schedule& schedule, std::span<const DeviceId> devices,
                         const network::Fabric& fabric);

// Traffic of a phase in which switches add up and copy on the way: every link that its messages cross carries the data
// once. The schedule is_in_network(); `devices` are those of its ranks. Latency is that of the longest of its routes.
LineTraffic in_network_traffic(const collectives::Schedule& schedule, std::span<const DeviceId> devices,
                               const network::Fabric& fabric);

// Traffic on one link of a collective that runs as one whole.
struct LinkTraffic {
  LinkId link{};
  Bytes within{0};  // of messages within nodes
  Bytes between{0};
};

// Each link that carries something once, in the order of first use, and the most that any rank sends. Counts stop at
// Bytes::max().
struct GroupTraffic {
  std::vector<LinkTraffic> links;
  Bytes most_within{0};
  Bytes most_between{0};
};
GroupTraffic traffic_by_link(const collectives::Aggregate& transfer, const NodeMembers& nodes,
                             std::span<const DeviceId> devices, const network::Fabric& fabric);

// The same as the network takes it. `devices` by member. On every link what one rank sends within its node, or between
// nodes, counts as one connection. Throws InputError when a link would carry 2^62 bytes or more.
LineTraffic group_traffic(const collectives::Aggregate& transfer, const NodeMembers& nodes,
                          std::span<const DeviceId> devices, const network::Fabric& fabric);

}  // namespace orrery::system
