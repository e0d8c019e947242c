// Every topology in several sizes, for properties that hold for all of them. A topology with keys of its own needs a
// line in the .cpp; without one the tests fail.
#pragma once

#include <string>
#include <vector>

#include "network/fabric/topology.h"

namespace orrery {

// Instances with links of `bandwidth` and neighbours `latency` apart, of up to about 64 members.
std::vector<TopologyParameters> topology_examples(const Topology& topology, Bandwidth bandwidth, Duration latency);

// One instance: `keys` is YAML, such as "leaf_ports: 4, trunk_latency: 1 us". `size` 0 takes that of the keys.
TopologyParameters topology_example(const Topology& topology, const std::string& keys, std::uint32_t size,
                                    MemberKind members = MemberKind::kDevice);

// The links of a route within an instance, in the order of travel.
std::vector<std::uint32_t> route(const Topology& topology, const TopologyParameters& p, std::uint32_t from,
                                 std::uint32_t to);

}  // namespace orrery
