// Which rings have all their links to themselves, whenever their messages are sent: links that no other communicator
// and no transfer ever crosses, each crossed by one message of the ring and, in other calls, by messages of the same
// sender only. (Of two members that share a link, one may be in a call while the other is still in the one before.)
// Settled for the whole job, in use or not.
#pragma once

#include <span>
#include <vector>

#include "core/ids.h"
#include "network/fabric/fabric.h"
#include "system/folding/patterns.h"
#include "system/plans/plans.h"
#include "workload/graph/job.h"

namespace orrery {

class PrivateRings {
 public:
  // At granularity `phase` there are none. Keeps no reference to what it is made from.
  PrivateRings(const Job& job, const Fabric& fabric, std::span<const DeviceId> placement, const CollectivePlans& plans,
               const Patterns& patterns, Granularity granularity);

  // A pattern of uniform rings in phases that do not wait for one another, of a communicator.
  bool contains(GroupId group, std::uint32_t pattern) const { return private_[index_of(group)][pattern]; }

 private:
  std::vector<std::vector<bool>> private_;  // by communicator, by pattern
};

}  // namespace orrery
