// SPDX-License-Identifier: MIT
// Senders and receivers of a group's messages in an Aggregate.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "collectives/aggregate.h"
#include "core/ids.h"
#include "core/units.h"
#include "network/fabric/fabric.h"

namespace orrery::system {

// NCCL's double binary tree (ncclGetDtree): two trees over the same nodes, in which an inner node of one is a leaf of
// the other. Each carries half of the data.
struct TreeEdge {
  std::uint32_t parent = 0;
  std::uint32_t child = 0;

  bool operator==(const TreeEdge&) const = default;
};

// Edges of both trees, those of the first tree first; within a tree by ascending place of the child in the first tree.
std::vector<TreeEdge> double_tree(std::uint32_t nodes);

// The members of each node, in the order of the group; nodes in the order of their first members.
using NodeMembers = std::vector<std::vector<std::uint32_t>>;

// `devices` by member.
NodeMembers members_of_nodes(std::span<const DeviceId> devices, const network::Fabric& fabric);

struct GroupMessage {
  std::uint32_t from = 0;  // members
  std::uint32_t to = 0;
  Bytes bytes{0};          // in all, > 0
  bool is_within = false;  // a node
};

// A member's place is where it is among those of its node. Parts are rounded up to whole bytes.
//
// Within a node (kRing, kDoubleTree), rings are rotated until every link is used: where the members are joined by links
// from device to device, and each has the same bandwidth out of them and into them, each spreads over all of its own in
// proportion to their bandwidth. Else half goes to the member before and half to the one after, if there are links from
// each to both; else all goes to the one after.
//
// Between nodes a member sends to the member of its place, modulo the number of members there; where NICs are dead,
// those that have one carry the others' part (system/plans/node_ports.h). kAllPairs: to everybody. Beyond 2^18
// messages, which is some 500 ranks, it sends to one member of each other node instead, of which places come in turn,
// and beyond that to some of the nodes, evenly spread: every NIC carries the same as by all pairs.
void for_each_message(const collectives::Aggregate& transfer, const NodeMembers& nodes,
                      std::span<const DeviceId> devices, const network::Fabric& fabric,
                      const std::function<void(const GroupMessage&)>& visit);

}  // namespace orrery::system
