// SPDX-License-Identifier: MIT
// Traffic of a collective's phase in one line of ranks, or of a collective that runs as one whole: all messages taken
// together, per link.
#pragma once

#include <cstdint>
#include <functional>
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

// Traffic as Network::group_path takes it.
struct LineTraffic {
  std::vector<network::LinkLoad> loads;  // by LinkId, each link once
  Duration latency{};                    // of the schedule's longest chain
  Duration least{};                      // Aggregate::least
};

// Throws InputError when the load of a link is 2^62 bytes or more.
void require_countable_load(Bytes load);

// Number of connections that `load` counts as where a rank sends up to `most`: what one rank sends is one, whatever the
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

// Traffic of a ring, or of a double tree, among nodes that are alike: each has its members at the same places, and
// swapping two with all their links leaves every route as it is (Fabric::has_nodes_alike). All messages between nodes
// are alike, so that a node's links carry what its members send among themselves, and for each neighbour the same.
struct NodeTraffic {
  std::uint32_t node = 0;          // of the fabric: one of the group's, whose links these are
  std::vector<LinkTraffic> links;  // `between`: for one neighbour
  Bytes most_within{0};            // that any rank sends
  Bytes most_between{0};           // likewise, to one neighbour

  // Load of a link of a node with so many neighbours, of which no node has more than `most`.
  network::LinkLoad load(const LinkTraffic& link, std::uint32_t neighbours, std::uint32_t most) const;
};
NodeTraffic traffic_of_node(const collectives::Aggregate& transfer, const NodeMembers& nodes,
                            const std::function<DeviceId(std::uint32_t)>& device_of_member,
                            const network::Fabric& fabric);
// Nodes that each node sends to, with repetition, which are as many as it receives from.
std::vector<std::uint32_t> neighbours_of_nodes(collectives::NodePattern pattern, std::uint32_t nodes);
// True if the above holds of a group: its members by node and their devices.
bool are_nodes_alike(const NodeMembers& nodes, std::span<const DeviceId> devices, const network::Fabric& fabric);

// The same as the network takes it. `devices` by member; `alike`: whether are_nodes_alike(). On every link what one
// rank sends within its node, or between nodes, counts as one connection. Throws InputError when a link would carry
// 2^62 bytes or more.
LineTraffic group_traffic(const collectives::Aggregate& transfer, const NodeMembers& nodes,
                          std::span<const DeviceId> devices, const network::Fabric& fabric, bool alike = false);

}  // namespace orrery::system
