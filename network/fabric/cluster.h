// SPDX-License-Identifier: MIT
// Real clusters: nodes with a fabric inside, NICs, and a scale-out fabric between them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/machine_kind.h"
#include "network/fabric/fabric.h"
#include "network/fabric/link_type.h"
#include "network/fabric/topology.h"

namespace orrery::network {

struct NodeFabricSpec {
  const Topology* topology = topology_named("switch");
  Bandwidth bandwidth{1};  // of a device per direction (switch), or of a directed link between two devices
  Duration latency{};      // from device to device
  std::string name;        // of its link classes: "nvlink"
  TopologyOwn own{};       // as the topology's reader left it; its graph may have the node's NICs
  Efficiency efficiency = kFullEfficiency;
  std::string key{};  // of the configuration that sets the bandwidth; may be empty
};

struct NicSpec {
  std::uint32_t count = 1;  // per node; a multiple of the devices if there are more
  Bandwidth bandwidth{1};   // of one NIC, per direction
  // Host link (PCIe) between a device and its NICs, per direction; used if the NICs are not in the node's graph.
  Bandwidth host_bandwidth{1};
  Duration host_latency{};
  // Then: whether a NIC reads and writes the memory of its devices. Otherwise all it moves goes through the host's
  // memory, up and down a link of its own, as wide as a device's.
  bool gpu_direct = true;
  // NIC that each device uses; given if the NICs are in the node's graph.
  std::vector<std::uint32_t> of{};
  std::optional<Efficiency> efficiency{};  // of the NICs and of the fabric that joins them; nothing: the network's
  Efficiency host_efficiency = kFullEfficiency;
  std::string key{};       // of the configuration that sets `bandwidth`; may be empty
  std::string host_key{};  // likewise of `host_bandwidth`
};

struct NodeSpec {
  std::uint32_t devices = 1;
  NodeFabricSpec fabric;
  std::optional<NicSpec> nics;
  NodeLinkKind interconnect = NodeLinkKind::kOther;
  bool multicast = false;  // of its NVLink switches
};

struct ScaleOutSpec {
  const Topology* topology = topology_named("switch");  // a switched one; its bandwidth is that of the NICs
  Duration latency{};                                   // from NIC to NIC
  TopologyOwn own{};                                    // as the topology's reader left it
  NetworkSpec network{};
  bool in_network_reduction = false;
};

// True if the NICs are vertices of the node's graph rather than reached over host links.
inline bool nics_inside(const NodeSpec& node) { return node.fabric.own.graph.spec().nics > 0; }

// True if the data that NICs move are copied through the host's memory.
inline bool stages_in_host(const NodeSpec& node) { return node.nics && !node.nics->gpu_direct; }

// NICs that the scale-out fabric joins, per node: those that are one device's own are one trunk. The node has `nics`.
std::uint32_t nic_trunks(const NodeSpec& node);

// Nodes of one type, side by side.
struct NodeGroup {
  NodeSpec node;
  std::uint32_t count = 1;
};

struct ClusterSpec {
  NodeSpec node;  // of several types: the first
  std::uint32_t nodes = 1;
  std::vector<NodeGroup> groups{};  // of several types: all of them, `nodes` in all; of one: none
  std::optional<ScaleOutSpec> scale_out;
  Routing routing{};  // between the NICs; inside a node, NVLink and PCIe stripe every message over all parallel links
};

// Problem that keeps nodes of two types out of one cluster, or "": they have to be joined alike and may differ in the
// figures of their links only.
std::string mixing_problem(const NodeSpec& node, const NodeSpec& other);

// Parameters of the scale-out fabric, which the cluster must have.
TopologyParameters scale_out_parameters(const ClusterSpec& cluster);

// Number of links that build_cluster() would make.
std::uint64_t link_count(const ClusterSpec& cluster);

// Logical dimensions: the devices of a node, then (with more than one) the nodes. Device d of a node uses NIC
// d * nics / devices, or all of the nics / devices NICs that are its own, as one trunk; or, with the NICs in the graph,
// NIC of[d]. More than one node needs `nics` and `scale_out`; counts must be within the limits of kMostDevices and
// kMostLinks (read_cluster checks all this). Of several types, each link has the figures of the node that it is at;
// those between switches suit the NICs of the fastest.
Fabric build_cluster(const ClusterSpec& cluster);

}  // namespace orrery::network
