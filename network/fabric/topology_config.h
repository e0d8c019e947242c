// SPDX-License-Identifier: MIT
// Topologies in configurations: the choice, and the keys that each has of its own.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/config/config.h"
#include "network/fabric/topology.h"

namespace orrery::network {

struct TopologyChoice {
  const Topology* topology = topology_named("switch");
  TopologyOwn own{};
};

// Reads `topology`, one of `names`, and the keys of the topology chosen.
TopologyChoice read_topology(Section& section, std::span<const std::string> names, const Members& members,
                             std::string_view meaning);

// Problem with this number of members for a topology, or "".
std::string size_problem(const TopologyChoice& choice, std::uint64_t size);

// Problem with the link bandwidths that follow from the parameters, or "".
std::string bandwidth_problem(const Topology& topology, const TopologyParameters& parameters);

// Reads `efficiency` (or another key): the share of the nominal `bandwidth` beside it that messages get. The fabric
// applies it.
Efficiency read_efficiency(Section& section, std::string_view key = "efficiency",
                           std::string_view meaning = "share of the nominal bandwidth that messages get, on every link",
                           Efficiency fallback = kFullEfficiency, std::string_view documented = {});

// Names go into results and are keys there: letters, digits, hyphens and underscores.
std::string read_name(Section& section, std::string fallback, std::string_view meaning,
                      std::string_view documented = {});

// Keys that several topologies have: the number of members on a router, and the sizes of a grid (own.sizes) with what
// they multiply to (own.size).
inline constexpr std::size_t kMostAxes = 6;
std::uint32_t read_router_ports(Section& section);
void read_sizes(Section& section, TopologyOwn& own);
inline constexpr std::string_view kTrunkLatencyMeaning =
    "fat-tree, rail-optimised, butterfly, flattened-butterfly: latency of a link between two switches, including the "
    "switch that it leads to";

// True if a class of links of this name leads out of the node: "nic-pcie", "nic", "host-memory", "stack", or the former
// "host".
bool is_outside(std::string_view name);

// Problem with a name that results reserve for something else, or "".
std::string reserved_name_problem(std::string_view name);

// An integer that was read within a range of 32 bits.
inline std::uint32_t narrow(std::int64_t value) { return static_cast<std::uint32_t>(value); }

}  // namespace orrery::network
