// SPDX-License-Identifier: MIT
// Every topology in several sizes, for properties that hold for all of them. A topology with keys of its own needs a
// line in the .cpp; without one the tests fail.
#pragma once

#include <string>
#include <vector>

#include "network/fabric/topology.h"

namespace orrery {

// Instances with links of `bandwidth` and neighbours `latency` apart, of up to about 64 members.
std::vector<network::TopologyParameters> topology_examples(const network::Topology& topology, Bandwidth bandwidth,
                                                           Duration latency);

// One instance: `keys` is YAML, such as "leaf_ports: 4, trunk_latency: 1 us". `size` 0 takes that of the keys.
network::TopologyParameters topology_example(const network::Topology& topology, const std::string& keys,
                                             std::uint32_t size,
                                             network::MemberKind members = network::MemberKind::kDevice);

// The links of a route within an instance, in the order of travel.
std::vector<std::uint32_t> route(const network::Topology& topology, const network::TopologyParameters& p,
                                 std::uint32_t from, std::uint32_t to);

}  // namespace orrery
