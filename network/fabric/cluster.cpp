// SPDX-License-Identifier: MIT
#include "network/fabric/cluster.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "core/assert.h"
#include "network/fabric/compose.h"

namespace orrery::network {
namespace {

TopologyParameters node_parameters(const NodeSpec& node) {
  return {node.devices + node.fabric.own.graph.spec().nics,
          node.fabric.bandwidth,
          node.fabric.latency,
          node.fabric.own,
          {},
          node.fabric.efficiency};
}

// The links of the node are there, the NICs are if they are in its graph.
ClusterLayout lay_out_nodes(const ClusterSpec& cluster, FabricParts& parts) {
  const NodeSpec& node = cluster.node;
  ClusterLayout layout;
  layout.devices = parts.devices;
  layout.devices_per_node = node.devices;
  layout.node =
      add_tier(parts, *node.fabric.topology, node_parameters(node), cluster.nodes, node.fabric.name, node.fabric.key);
  layout.nics_inside = nics_inside(node);
  if (layout.nics_inside || cluster.nodes > 1) {
    layout.first_nic = parts.vertices;
    layout.nics_per_node = nic_trunks(node);
    layout.nic_of_slot = node.nics->of;
    parts.vertices += cluster.nodes * layout.nics_per_node;
  }
  return layout;
}

// Between each NIC's end of PCIe and the host's memory. What crosses it is once more on PCIe, for half of that time up
// and for the other half down.
std::uint32_t add_staging(FabricParts& parts, const NicSpec& nics, std::uint32_t nics_per_node, std::uint32_t nodes) {
  const std::uint32_t count = nodes * nics_per_node;
  const std::uint64_t slots = nics.count / nics_per_node;
  const Bandwidth bandwidth = nics.host_bandwidth * static_cast<std::int64_t>(slots);
  const Duration up = nics.host_latency / 2;
  const std::uint32_t first =
      add_links(parts, count, bandwidth, nics.host_efficiency, up, "host-memory.up", nics.host_key);
  add_links(parts, count, bandwidth, nics.host_efficiency, nics.host_latency - up, "host-memory.down", nics.host_key);
  return first;
}

InterconnectKind interconnect_of(const ClusterSpec& cluster) {
  InterconnectKind kind;
  kind.within = cluster.node.interconnect;
  kind.multicast = cluster.node.multicast;
  if (!cluster.scale_out) return kind;
  kind.network = cluster.scale_out->network.kind;
  kind.in_network_reduction = cluster.scale_out->in_network_reduction;
  return kind;
}

}  // namespace

std::uint32_t nic_trunks(const NodeSpec& node) {
  return nics_inside(node) ? node.nics->count : std::min(node.nics->count, node.devices);
}

TopologyParameters scale_out_parameters(const ClusterSpec& cluster) {
  const NicSpec& nics = *cluster.node.nics;
  const std::uint32_t trunks = nic_trunks(cluster.node);
  TopologyOwn own = cluster.scale_out->own;
  own.rails = trunks;
  return {cluster.nodes * trunks,
          nics.bandwidth * (nics.count / trunks),
          cluster.scale_out->latency,
          std::move(own),
          cluster.routing,
          nics.efficiency.value_or(cluster.scale_out->network.efficiency)};
}

std::uint64_t link_count(const ClusterSpec& cluster) {
  const std::uint64_t inside =
      cluster.nodes * cluster.node.fabric.topology->shape->links(node_parameters(cluster.node));
  if (cluster.nodes == 1) return inside;
  const std::uint64_t pairs = (nics_inside(cluster.node) ? 0U : 1U) + (cluster.scale_out->network.stack ? 1U : 0U);
  const std::uint64_t of_devices = 2 * pairs * cluster.nodes * cluster.node.devices;
  const std::uint64_t of_nics = stages_in_host(cluster.node) ? 2 * cluster.nodes * nic_trunks(cluster.node) : 0;
  return inside + of_devices + of_nics + cluster.scale_out->topology->shape->links(scale_out_parameters(cluster));
}

namespace {

// Parts of a cluster all of whose nodes are like the first.
FabricParts parts_of(const ClusterSpec& cluster) {
  const NodeSpec& node = cluster.node;
  const std::uint64_t devices = std::uint64_t{cluster.nodes} * node.devices;
  ORRERY_ASSERT(devices >= 1 && devices <= kMostDevices);
  const std::uint64_t links = link_count(cluster);
  ORRERY_ASSERT(links <= kMostLinks);

  FabricParts parts;
  parts.devices = parts.vertices = static_cast<std::uint32_t>(devices);
  parts.kind_of_link.reserve(links);
  // 1. Inside the nodes.
  ClusterLayout layout = lay_out_nodes(cluster, parts);
  parts.dimensions.push_back({"node", std::string(node.fabric.topology->name), node.devices,
                              axes_of(*node.fabric.topology, node_parameters(node))});
  if (cluster.nodes > 1) {
    // 2. From the devices to their NICs.
    const NicSpec& nics = *node.nics;
    if (!layout.nics_inside) {
      // PCIe, which the node's own fabric may be called after, too.
      const bool is_taken = std::ranges::find(parts.link_classes, "pcie.up") != parts.link_classes.end();
      const std::string pcie = is_taken ? "nic-pcie" : "pcie";
      const auto add = [&](const std::string& name) {
        return add_links(parts, parts.devices, nics.host_bandwidth, nics.host_efficiency, nics.host_latency, name,
                         nics.host_key);
      };
      layout.first_host_link = add(pcie + ".up");
      add(pcie + ".down");
    }
    if (stages_in_host(node)) layout.first_staging_link = add_staging(parts, nics, layout.nics_per_node, cluster.nodes);
    if (const std::optional<HostStack>& stack = cluster.scale_out->network.stack) {
      layout.first_stack_link =
          add_links(parts, parts.devices, stack->bandwidth, kFullEfficiency, stack->latency, "stack.up", stack->key);
      add_links(parts, parts.devices, stack->bandwidth, kFullEfficiency, stack->latency, "stack.down", stack->key);
    }
    // 3. Between the NICs.
    const Topology& scale_out = *cluster.scale_out->topology;
    ORRERY_ASSERT(scale_out.switched);
    layout.scale_out = add_tier(parts, scale_out, scale_out_parameters(cluster), 1, "nic", nics.key);
    parts.dimensions.push_back({"nodes", std::string(scale_out.name), cluster.nodes});
  }
  parts.layout = std::move(layout);
  parts.interconnect = interconnect_of(cluster);
  return parts;
}

std::uint32_t kind_number(FabricParts& parts, const Link& link) {
  const auto known = std::ranges::find(parts.link_kinds, link);
  const auto number = static_cast<std::uint32_t>(known - parts.link_kinds.begin());
  if (known == parts.link_kinds.end()) parts.link_kinds.push_back(link);
  return number;
}

// A cluster of each type alone has the same links in the same places; each is taken from that of its node's type.
FabricParts mixed_parts(const ClusterSpec& cluster) {
  std::vector<FabricParts> pure;
  std::vector<std::uint32_t> type_of_node;
  std::vector<std::uint32_t> first_devices;
  std::size_t fastest = 0;
  const auto width = [](const NodeSpec& node) {
    return node.nics ? double(node.nics->bandwidth.count()) * (node.nics->count / nic_trunks(node)) : 0;
  };
  for (std::size_t type = 0; type < cluster.groups.size(); ++type) {
    ClusterSpec alone = cluster;
    alone.node = cluster.groups[type].node;
    pure.push_back(parts_of(alone));
    ORRERY_ASSERT(pure.back().kind_of_link.size() == pure.front().kind_of_link.size());
    if (width(alone.node) > width(cluster.groups[fastest].node)) fastest = type;
    first_devices.push_back(static_cast<std::uint32_t>(type_of_node.size()) * alone.node.devices);
    type_of_node.insert(type_of_node.end(), cluster.groups[type].count, static_cast<std::uint32_t>(type));
  }
  FabricParts parts = pure.front();
  parts.first_devices = std::move(first_devices);
  parts.link_kinds.clear();
  std::vector<std::vector<std::uint32_t>> kinds;  // by type, by kind there
  for (const FabricParts& of_type : pure) {
    kinds.emplace_back();
    for (const Link& link : of_type.link_kinds) kinds.back().push_back(kind_number(parts, link));
    parts.interconnects.push_back(of_type.interconnect);
    parts.interconnect.multicast = parts.interconnect.multicast && of_type.interconnect.multicast;
  }
  const ClusterLayout& layout = std::get<ClusterLayout>(parts.layout);
  for (std::uint32_t link = 0; link < parts.kind_of_link.size(); ++link) {
    const std::optional<std::uint32_t> node = layout.node_of(LinkId(link));
    const std::size_t type = node ? type_of_node[*node] : fastest;
    parts.kind_of_link[link] = kinds[type][pure[type].kind_of_link[link]];
  }
  return parts;
}

}  // namespace

std::string mixing_problem(const NodeSpec& node, const NodeSpec& other) {
  const auto differ = [](std::string_view what, const auto& one, const auto& two) {
    return fmt::format("{}: {} and {}", what, one, two);
  };
  if (node.devices != other.devices) return differ("devices", node.devices, other.devices);
  if (writes_out_links(*node.fabric.topology) || writes_out_links(*other.fabric.topology))
    return "the links of one are written out";
  if (node.fabric.topology != other.fabric.topology)
    return differ("topology", node.fabric.topology->name, other.fabric.topology->name);
  if (node.fabric.topology->read != nullptr)
    return fmt::format("the devices of a node are joined by a {}, which has keys of its own",
                       node.fabric.topology->name);
  if (node.fabric.name != other.fabric.name) return differ("fabric.name", node.fabric.name, other.fabric.name);
  if (node.interconnect != other.interconnect)
    return differ("interconnect", name_of(node.interconnect), name_of(other.interconnect));
  if (!node.nics || !other.nics) return "one has no NICs";
  if (nic_trunks(node) != nic_trunks(other)) return differ("NICs", nic_trunks(node), nic_trunks(other));
  if (node.nics->gpu_direct != other.nics->gpu_direct)
    return differ("nics.gpu_direct", node.nics->gpu_direct, other.nics->gpu_direct);
  return {};
}

Fabric build_cluster(const ClusterSpec& cluster) {
  return Fabric(cluster.groups.empty() ? parts_of(cluster) : mixed_parts(cluster));
}

}  // namespace orrery::network
