#include "network/cluster_config.h"

#include <algorithm>
#include <span>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/quantity_text.h"
#include "network/cluster.h"
#include "network/compose.h"

namespace orrery {
namespace {

constexpr std::int64_t kMostNics = 4096;  // of a node

using ReadDevice = std::function<void(Section&)>;
using FabricSpec = std::variant<std::vector<DimensionSpec>, ClusterSpec>;

// `nodes` of the experiment: it wins over the cluster's own.
struct NodeCount {
  std::uint32_t count = 1;
  Location where;
};

std::uint32_t narrow(std::int64_t value) { return static_cast<std::uint32_t>(value); }

void check_size(Section& section, std::string_view key, const Topology& topology, std::int64_t size) {
  if (size > topology.most)
    section.error(key, fmt::format("a {} of {} members; at most {} are possible", topology.name, size, topology.most));
}

std::string too_many_devices(std::string_view what) {
  return fmt::format("{} make more than {} devices, the most a fabric may have", what, kMostDevices);
}

std::string too_many_links(std::uint64_t links) {
  return fmt::format("the fabric would have {} links; at most {} are possible", links, kMostLinks);
}

// Names go into results and are keys there: letters, digits, hyphens and underscores.
std::string read_name(Section& section, std::string fallback, std::string_view meaning) {
  const std::string name = section.optional<std::string>("name", std::move(fallback), meaning);
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  if (name.empty() || !std::ranges::all_of(name, fits))
    section.error("name", fmt::format("'{}' is no name", printable(name)), "use letters, digits, '-' and '_'");
  return name;
}

const Topology& read_topology(Section& section) {
  return topologies()[section.required_choice("topology", topology_names(), "how the members are joined")];
}

DimensionSpec read_dimension(Section& section, std::size_t index) {
  DimensionSpec spec;
  spec.topology = &read_topology(section);
  const std::int64_t size = section.required_integer("size", {1, kMostDevices}, "members along the dimension");
  check_size(section, "size", *spec.topology, size);
  spec.size = narrow(std::min<std::int64_t>(size, spec.topology->most));
  spec.bandwidth = section.required<Bandwidth>("bandwidth", "of one directed link (switch: of a port, per direction)");
  spec.latency = section.required<Duration>("latency", "from end to end between neighbours");
  spec.name = read_name(section, fmt::format("dim{}", index), "of the dimension and its links in results");
  return spec;
}

// The limits that no single dimension breaks.
void check_dimensions(Section& cluster, std::span<const DimensionSpec> dimensions) {
  if (dimensions.empty()) return cluster.error("dims", "'dims' is empty; a fabric has at least one dimension");
  if (dimensions.size() > kMostDimensions)
    return cluster.error("dims",
                         fmt::format("{} dimensions; at most {} are possible", dimensions.size(), kMostDimensions));
  std::uint64_t devices = 1;
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    devices *= dimensions[i].size;
    if (devices > kMostDevices) return cluster.error("dims", too_many_devices("the sizes of the dimensions"));
    for (std::size_t j = 0; j < i; ++j)
      if (dimensions[i].name == dimensions[j].name)
        cluster.error("dims", fmt::format("dimensions {} and {} are both named '{}'", j, i, dimensions[i].name));
  }
  if (link_count(dimensions) > kMostLinks) cluster.error("dims", too_many_links(link_count(dimensions)));
}

NodeFabricSpec read_node_fabric(Section& section, std::uint32_t devices) {
  NodeFabricSpec spec;
  spec.topology = &read_topology(section);
  check_size(section, "topology", *spec.topology, devices);
  spec.bandwidth = section.required<Bandwidth>(
      "bandwidth", "switch: of a device, per direction; else of one directed link between two devices");
  spec.latency = section.required<Duration>("latency", "from device to device, without software");
  spec.name = read_name(section, "fabric", "of its links in results");
  if (spec.name == "host" || spec.name == "nic")
    section.error("name", fmt::format("'{}' names the links that leave the node", spec.name));
  section.note("source", "where the figures come from");
  return spec;
}

NicSpec read_nics(Section& section, std::uint32_t devices) {
  NicSpec spec;
  spec.count = narrow(section.required_integer("count", {1, kMostNics}, "NICs of a node"));
  spec.bandwidth = section.required<Bandwidth>("bandwidth", "of one NIC, per direction");
  spec.host_bandwidth =
      section.required<Bandwidth>("host_bandwidth", "between a device and its NICs (PCIe), per direction");
  spec.host_latency = section.required<Duration>("host_latency", "between a device and its NICs, without software");
  section.note("source", "where the figures come from");
  if (section.describes() || spec.count <= devices) return spec;
  const std::uint32_t share = spec.count / devices;
  if (spec.count % devices != 0)
    section.error("count", fmt::format("{} NICs do not divide among {} devices", spec.count, devices),
                  fmt::format("{} or {} would", share * devices, (share + 1) * devices));
  if (spec.bandwidth > Bandwidth(Bandwidth::max().count() / share))
    section.error("bandwidth",
                  fmt::format("{} NICs of {} make more than can be counted", share, to_text(spec.bandwidth)));
  return spec;
}

NodeSpec read_node(Section& section, const ReadDevice& read_device) {
  NodeSpec node;
  section.required_section("device", "the device of the node", read_device, "devices");
  node.devices = narrow(section.required_integer("devices", {1, kMostDevices}, "devices of a node"));
  section.required_section("fabric", "what joins the devices of a node",
                           [&](Section& fabric) { node.fabric = read_node_fabric(fabric, node.devices); });
  section.section("nics", "what joins a node to the others; needed with more than one node",
                  [&](Section& nics) { node.nics = read_nics(nics, node.devices); });
  section.note("source", "where the figures come from");
  section.note("assumed", "figures that were not read in a source");
  return node;
}

ScaleOutSpec read_scale_out(Section& section) {
  const std::vector<std::string> names = switched_topology_names();
  ScaleOutSpec spec;
  spec.topology = topology_named(names[section.required_choice("topology", names, "how the NICs are joined")]);
  spec.latency = section.required<Duration>("latency", "from NIC to NIC, without software");
  section.note("source", "where the figures come from");
  return spec;
}

// The limits of the cluster as a whole; `nodes_at` names the count.
void check_cluster(Section& section, const ClusterSpec& cluster, const Location& nodes_at) {
  Diagnostics& diagnostics = section.context().diagnostics();
  const NodeSpec& node = cluster.node;
  if (std::uint64_t{cluster.nodes} * node.devices > kMostDevices)
    return diagnostics.error(nodes_at,
                             too_many_devices(fmt::format("{} nodes of {} devices", cluster.nodes, node.devices)));
  if (cluster.nodes > 1 && !node.nics)
    return diagnostics.error(nodes_at, fmt::format("{} nodes, but the node has no 'nics'", cluster.nodes),
                             "add 'nics' to the node");
  if (cluster.nodes > 1 && !cluster.scale_out)
    return diagnostics.error(nodes_at, fmt::format("{} nodes, but nothing joins them", cluster.nodes),
                             "add 'scale_out' to the cluster");
  if (link_count(cluster) > kMostLinks) diagnostics.error(nodes_at, too_many_links(link_count(cluster)));
}

ClusterSpec read_nodes(Section& section, const std::optional<NodeCount>& nodes, const ReadDevice& read_device) {
  const std::size_t errors = section.context().diagnostics().error_count();
  ClusterSpec cluster;
  section.required_section(
      "node", "the node", [&](Section& node) { cluster.node = read_node(node, read_device); }, "nodes");
  if (nodes && !section.has("nodes"))
    section.know("nodes");  // no default beside the experiment's number
  else
    cluster.nodes = narrow(
        section.optional_integer("nodes", 1, {1, kMostDevices}, "how many nodes; `nodes` of the experiment wins"));
  section.section("scale_out", "what joins the nodes; needed with more than one",
                  [&](Section& scale_out) { cluster.scale_out = read_scale_out(scale_out); });
  if (nodes) cluster.nodes = nodes->count;
  const bool sound = !section.describes() && section.context().diagnostics().error_count() == errors;
  if (sound) check_cluster(section, cluster, nodes ? nodes->where : section.where("nodes"));
  return cluster;
}

std::vector<DimensionSpec> read_dimensions(Section& section, const std::optional<NodeCount>& nodes,
                                           const ReadDevice& read_device) {
  const std::size_t errors = section.context().diagnostics().error_count();
  section.required_section("device", "the device, with `dims`", read_device, "devices");
  std::vector<DimensionSpec> dimensions;
  section.list("dims", "an abstract fabric in place of `node`; the first dimension varies fastest",
               [&](Section& dimension) { dimensions.push_back(read_dimension(dimension, dimensions.size())); });
  if (section.describes()) return dimensions;
  if (nodes)
    section.context().diagnostics().error(nodes->where, "'nodes' has no meaning for a cluster of 'dims'",
                                          "change the size of a dimension");
  const bool sound = section.context().diagnostics().error_count() == errors;
  if (sound) check_dimensions(section, dimensions);
  return dimensions;
}

FabricSpec read_fabric(Section& cluster, const std::optional<NodeCount>& nodes, const ReadDevice& read_device) {
  cluster.note("name", "for people");
  cluster.note("source", "where the figures come from");
  cluster.note("assumed", "figures that were not read in a source");
  if (cluster.describes()) read_dimensions(cluster, nodes, read_device);
  if (!cluster.has("dims")) {
    cluster.know("dims");
    return read_nodes(cluster, nodes, read_device);
  }
  for (const char* key : {"node", "nodes", "scale_out"}) {
    if (!cluster.has(key)) continue;
    cluster.know(key);
    cluster.error(key, fmt::format("'{}' and 'dims' exclude each other", key),
                  "a cluster is made of nodes or of dimensions");
  }
  return read_dimensions(cluster, nodes, read_device);
}

Fabric build(const FabricSpec& spec) {
  if (const auto* dimensions = std::get_if<std::vector<DimensionSpec>>(&spec)) return compose(*dimensions);
  return build_cluster(std::get<ClusterSpec>(spec));
}

}  // namespace

std::optional<Fabric> read_cluster(Section& experiment, const ReadDevice& read_device) {
  const std::size_t errors = experiment.context().diagnostics().error_count();
  std::optional<NodeCount> nodes;
  if (const auto count = experiment.maybe_integer("nodes", {1, kMostDevices},
                                                  "nodes of the cluster; without it, the cluster's own number"))
    nodes = {narrow(*count), experiment.where("nodes")};
  std::optional<FabricSpec> spec;
  experiment.required_section(
      "cluster", "the machine: a name, a path or a map",
      [&](Section& cluster) { spec = read_fabric(cluster, nodes, read_device); }, "clusters");
  const bool sound = spec && !experiment.describes() && experiment.context().diagnostics().error_count() == errors;
  if (!sound) return std::nullopt;
  return build(*spec);
}

}  // namespace orrery
