// What bounds a collective: a link, or latency.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/units.h"
#include "network/fabric/fabric.h"
#include "network/network.h"

namespace orrery {

struct CollectiveBound {
  std::string name;  // the busiest link's class without its direction: "nvlink", "nic"; or "latency"
  // Of the time. A link: bytes / (bandwidth * time), which passes 1 only where links are not shared. Latency: what the
  // call would take without its bytes.
  double share = 0;
};

// "nvlink" of "nvlink.up": traffic goes both ways alike in most collectives, so which of the two is named means
// nothing.
std::string without_direction(std::string_view link_class);

// How many times its bandwidth a link carried.
struct LinkOverload {
  std::string name;  // its class without its direction
  double factor = 0;
};

// Of the link that carried most while it was busy. More than 1 only in a network model that does not share links.
LinkOverload worst_overload(const Fabric& fabric, std::span<const LinkUsage> usage);

// Of a run from 0 to `finish` that would have taken `latency` with (next to) no bytes in its messages. Latency, if
// that is at least half of the time; else the most utilised of all links, the first of equals. Where phases on
// different links follow one another, the latter may be utilised for less than half of the time.
CollectiveBound collective_bound(const Fabric& fabric, std::span<const LinkUsage> usage, Time finish, Duration latency);

}  // namespace orrery
