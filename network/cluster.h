// Real clusters: nodes with a fabric inside, NICs, and a scale-out fabric between them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "network/fabric.h"
#include "network/topology.h"

namespace orrery {

struct NodeFabricSpec {
  const Topology* topology = &topologies().front();
  Bandwidth bandwidth{1};  // of a device per direction (switch), or of a directed link between two devices
  Duration latency{};      // from device to device
  std::string name;        // of its link classes: "nvlink"
};

struct NicSpec {
  std::uint32_t count = 1;      // per node; a multiple of the devices if there are more
  Bandwidth bandwidth{1};       // of one NIC, per direction
  Bandwidth host_bandwidth{1};  // between a device and its NICs (PCIe), per direction
  Duration host_latency{};
};

struct NodeSpec {
  std::uint32_t devices = 1;
  NodeFabricSpec fabric;
  std::optional<NicSpec> nics;
};

struct ScaleOutSpec {
  const Topology* topology = &topologies().front();  // a switched one; its bandwidth is that of the NICs
  Duration latency{};                                // from NIC to NIC
};

struct ClusterSpec {
  NodeSpec node;
  std::uint32_t nodes = 1;
  std::optional<ScaleOutSpec> scale_out;
};

// How many links build_cluster() would make.
std::uint64_t link_count(const ClusterSpec& cluster);

// Logical dimensions: the devices of a node, then (with more than one) the nodes. Device d of a node uses NIC
// d * nics / devices, or all of the nics / devices NICs that are its own, as one trunk. More than one node needs `nics`
// and `scale_out`; counts must be within the limits of kMostDevices and kMostLinks (read_cluster checks all this).
Fabric build_cluster(const ClusterSpec& cluster);

}  // namespace orrery
