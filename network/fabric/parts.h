// Adding tiers and links to a fabric under construction.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "network/fabric/fabric.h"

namespace orrery {

// Adds `instances` instances of a topology, with their links and switches. Link classes are named "<name>.<class>", or
// "<class>" if there is no name.
Tier add_tier(FabricParts& parts, const Topology& topology, const TopologyParameters& parameters,
              std::uint32_t instances, std::string_view name);

// Adds `count` equal links of a class of their own. Returns the first.
std::uint32_t add_links(FabricParts& parts, std::uint32_t count, Bandwidth nominal, Efficiency efficiency,
                        Duration latency, std::string link_class);

}  // namespace orrery
