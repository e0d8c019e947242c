// SPDX-License-Identifier: MIT
// NICs that carry a group's traffic between nodes when some are dead, or when devices share them over TCP.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.h"
#include "network/fabric/fabric.h"
#include "system/plans/group_messages.h"

namespace orrery::system {

// Places, by node of the group, of the members whose NICs carry it, ascending. A member whose NIC is dead counts where
// it has another that no other member uses. All nodes have as many as the poorest of those that lack some, since NCCL
// takes the least number of channels of all ranks (NVIDIA/nccl, src/init.cc); they keep places that the others have, so
// that traffic stays on its rail. A node with no NIC left has all. Hosts' threads that move the data take one member
// for each NIC: a channel has one socket connection between two nodes, with the threads of one rank.
//
// An empty list stands for all members of all nodes.
std::vector<std::vector<std::uint32_t>> ports_of_nodes(const NodeMembers& nodes, std::span<const DeviceId> devices,
                                                       const network::Fabric& fabric);

}  // namespace orrery::system
