// SPDX-License-Identifier: MIT
// Fabrics composed of dimensions, each of one topology: the abstract clusters of studies.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "network/fabric/fabric.h"
#include "network/fabric/topology.h"

namespace orrery::network {

struct DimensionSpec {
  const Topology* topology = topology_named("switch");
  std::uint32_t size = 1;
  Bandwidth bandwidth{1};  // nominal, per directed link (switch: per port and direction)
  Duration latency{};      // from end to end between neighbours
  std::string name;        // of the dimension and its link classes; "dim<k>" if empty
  TopologyOwn own{};       // as the topology's reader left it
  Efficiency efficiency = kFullEfficiency;
  std::string key{};  // of the configuration that sets the bandwidth; may be empty
};

inline constexpr std::uint64_t kMostLinks = 256U << 20;  // of a fabric: 1 GiB of memory
inline constexpr std::size_t kMostDimensions = 32;

TopologyParameters parameters_of(const DimensionSpec& dimension, const Routing& routing);

// Number of links that compose() would make. The sizes are within what their topologies and kMostDevices allow.
std::uint64_t link_count(std::span<const DimensionSpec> dimensions, const Routing& routing = {});

// The first dimension varies fastest. Sizes and counts must be within the limits above (read_cluster checks them).
Fabric compose(std::span<const DimensionSpec> dimensions, const Routing& routing = {});

// Adding tiers and links to a fabric under construction.
// Adds `instances` instances of a topology, with their links and switches. Link classes are named "<name>.<class>", or
// "<class>" if there is no name. `key`: of the configuration that sets their bandwidth, where the topology does not
// write out its links.
Tier add_tier(FabricParts& parts, const Topology& topology, const TopologyParameters& parameters,
              std::uint32_t instances, std::string_view name, const std::string& key = {});

// Adds `count` equal links of a class of their own, whose bandwidth `key` sets. Returns the first.
std::uint32_t add_links(FabricParts& parts, std::uint32_t count, Bandwidth nominal, Efficiency efficiency,
                        Duration latency, std::string link_class, const std::string& key = {});

}  // namespace orrery::network
