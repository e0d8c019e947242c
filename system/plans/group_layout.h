// How the members of a communicator lie on nodes and how fast traffic goes among them: all that a library of
// collectives may know of a group, so that groups of equal layout are planned alike.
#pragma once

#include <span>

#include "collectives/group_shape.h"
#include "core/ids.h"
#include "network/fabric/fabric.h"
#include "system/plans/group_messages.h"

namespace orrery {

struct GroupLayout {
  NodeMembers nodes;
  GroupShape shape;

  auto operator<=>(const GroupLayout&) const = default;
};

// `devices` are those of the members, in the order of the group.
GroupLayout lay_out_group(std::span<const DeviceId> devices, const Fabric& fabric);

}  // namespace orrery
