#include "network/cluster.h"

#include <algorithm>

#include "core/assert.h"
#include "network/compose.h"
#include "network/parts.h"

namespace orrery {
namespace {

// NICs as the fabric has them: the NICs that are one device's own are one trunk.
std::uint32_t trunks_per_node(const NodeSpec& node) { return std::min(node.nics->count, node.devices); }

TopologyParameters node_parameters(const NodeSpec& node) {
  return {node.devices, node.fabric.bandwidth, node.fabric.latency};
}

TopologyParameters scale_out_parameters(const ClusterSpec& cluster) {
  const NicSpec& nics = *cluster.node.nics;
  const std::uint32_t trunks = trunks_per_node(cluster.node);
  return {cluster.nodes * trunks, nics.bandwidth * (nics.count / trunks), cluster.scale_out->latency};
}

}  // namespace

std::uint64_t link_count(const ClusterSpec& cluster) {
  const std::uint64_t inside =
      cluster.nodes * cluster.node.fabric.topology->shape->links(node_parameters(cluster.node));
  if (cluster.nodes == 1) return inside;
  const std::uint64_t host = 2 * std::uint64_t{cluster.nodes} * cluster.node.devices;
  return inside + host + cluster.scale_out->topology->shape->links(scale_out_parameters(cluster));
}

Fabric build_cluster(const ClusterSpec& cluster) {
  const NodeSpec& node = cluster.node;
  const std::uint64_t devices = std::uint64_t{cluster.nodes} * node.devices;
  ORRERY_ASSERT(devices >= 1 && devices <= kMostDevices);
  const std::uint64_t links = link_count(cluster);
  ORRERY_ASSERT(links <= kMostLinks);

  FabricParts parts;
  parts.devices = parts.vertices = static_cast<std::uint32_t>(devices);
  parts.kind_of_link.reserve(links);
  ClusterLayout layout;
  layout.devices = parts.devices;
  layout.devices_per_node = node.devices;
  // 1. Inside the nodes.
  layout.node = add_tier(parts, *node.fabric.topology, node_parameters(node), cluster.nodes, node.fabric.name);
  parts.dimensions.push_back({"node", std::string(node.fabric.topology->name), node.devices});
  if (cluster.nodes > 1) {
    // 2. From the devices to their NICs.
    layout.nics_per_node = trunks_per_node(node);
    layout.first_nic = parts.vertices;
    parts.vertices += cluster.nodes * layout.nics_per_node;
    const NicSpec& nics = *node.nics;
    layout.first_host_link = add_links(parts, parts.devices, nics.host_bandwidth, nics.host_latency, "host.up");
    add_links(parts, parts.devices, nics.host_bandwidth, nics.host_latency, "host.down");
    // 3. Between the NICs.
    const Topology& scale_out = *cluster.scale_out->topology;
    ORRERY_ASSERT(scale_out.switched);
    layout.scale_out = add_tier(parts, scale_out, scale_out_parameters(cluster), 1, "nic");
    parts.dimensions.push_back({"nodes", std::string(scale_out.name), cluster.nodes});
  }
  parts.layout = std::move(layout);
  return Fabric(std::move(parts));
}

}  // namespace orrery
