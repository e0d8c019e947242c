// What bounded a run: the link that was used most, or latency.
#pragma once

#include <string>

#include "core/units.h"
#include "network/fabric.h"
#include "network/network.h"

namespace orrery {

// The busiest link needs at least this share of its capacity, from the start of the run to its end, to have bounded it.
inline constexpr double kBindingUtilisation = 0.5;

struct LinkBound {
  std::string name;        // the busiest link's class without its direction: "nvlink", "nic"; or "latency"
  double utilisation = 0;  // of the busiest link: bytes / (bandwidth * time); above 1 only where links are not shared
};

// Of a run from 0 to `finish` > 0. Of equally busy links the first counts.
LinkBound link_bound(const Fabric& fabric, const Network& network, Time finish);

}  // namespace orrery
