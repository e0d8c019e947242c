// SPDX-License-Identifier: MIT
#include "network/config/cluster.h"

#include <algorithm>
#include <span>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/config/price.h"
#include "core/config/quantity_text.h"
#include "network/fabric/caps.h"
#include "network/fabric/cluster.h"
#include "network/fabric/compose.h"
#include "network/fabric/link_type.h"
#include "network/fabric/measures.h"
#include "network/fabric/summary.h"
#include "network/fabric/topology_config.h"

namespace orrery::network {
namespace {

using FabricSpec = std::variant<std::vector<DimensionSpec>, ClusterSpec>;

// `nodes` of the experiment: it wins over the cluster's own.
struct NodeCount {
  std::uint32_t count = 1;
  Location where;
};

std::string too_many_devices(std::string_view what) {
  return fmt::format("{} make more than {} devices, the most a fabric may have", what, kMostDevices);
}

std::string too_many_links(std::uint64_t links) {
  return fmt::format("the fabric would have {} links; at most {} are possible", links, kMostLinks);
}

std::string fewer_links(const Routing& routing) {
  return routing.enumerates() ? "fewer up-links; or `network.routing: spray`, for which they are one trunk"
                              : "make the fabric smaller";
}

DimensionSpec read_dimension(Section& section, std::size_t index, const DeviceLinks& links, const Routing& routing) {
  const auto read_size = [&] {
    return WholeNumber("size", "number of members along the dimension; not needed where keys of the topology give it",
                       {1, kMostDevices})
        .required(section);
  };
  DimensionSpec spec;
  const bool given = section.has("size");
  std::int64_t size = given ? read_size() : 0;
  TopologyChoice choice =
      read_topology(section, topology_names(), {MemberKind::kDevice, section.sound() ? narrow(size) : 0},
                    "topology that joins the members of the dimension");
  const bool sound_so_far = section.sound();
  section.when(!given && sound_so_far, [&] { size = choice.own.size != 0 ? choice.own.size : read_size(); });
  const std::string problem = sound_so_far ? size_problem(choice, static_cast<std::uint64_t>(size)) : std::string();
  if (!problem.empty()) section.error("size", problem);
  spec.topology = choice.topology;
  spec.own = std::move(choice.own);
  spec.size = narrow(std::clamp<std::int64_t>(size, 1, spec.topology->most));
  if (!writes_out_links(*spec.topology)) {
    const LinkRate rate = read_fabric_rate(
        section, "bandwidth of one directed link (switch: of one port, per direction)", links, spec.topology->switched);
    spec.bandwidth = rate.nominal;
    spec.efficiency = rate.efficiency;
    section.needs("latency", spec.latency, "latency between neighbours, from end to end");
  }
  spec.key = fmt::format("cluster.dims[{}].bandwidth", index);
  spec.name = read_name(section, fmt::format("dim{}", index), "name of the dimension and of its links in results",
                        "dim0, dim1, ...");
  if (!section.sound()) return spec;
  const std::string derived = bandwidth_problem(*spec.topology, parameters_of(spec, routing));
  if (!derived.empty()) section.error("topology", derived);
  return spec;
}

// The limits that no single dimension breaks.
void check_dimensions(Section& cluster, std::span<const DimensionSpec> dimensions, const Routing& routing) {
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
  const std::uint64_t links = link_count(dimensions, routing);
  if (links > kMostLinks) cluster.error("dims", too_many_links(links), fewer_links(routing));
}

// `nics` of all nodes; 0: not known. `rails` as Members::rails.
ScaleOutSpec read_scale_out(Section& section, std::uint32_t nics, std::uint32_t rails) {
  TopologyChoice choice = read_topology(section, switched_topology_names(), {MemberKind::kNic, nics, rails},
                                        "topology that joins the NICs");
  ScaleOutSpec spec;
  spec.topology = choice.topology;
  spec.own = std::move(choice.own);
  if (!writes_out_links(*spec.topology))
    section.needs("latency", spec.latency, "latency from NIC to NIC through one switch, without software");
  section.section(
      "network",
      "network that the NICs speak; without it, the kind is unknown and messages get the whole bandwidth of the NICs. "
      "Example: `network: infiniband`",
      [&](Section& network) { spec.network = read_network(network); }, "networks");
  section.takes("in_network_reduction", spec.in_network_reduction, "whether the switches reduce messages (SHARP)");
  section.note("source", "sources of the figures, for people");
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
  if (cluster.nodes > 1) {
    const ScaleOutSpec& scale_out = *cluster.scale_out;
    const std::string problem =
        size_problem({scale_out.topology, scale_out.own}, std::uint64_t{cluster.nodes} * nic_trunks(node));
    if (!problem.empty()) return diagnostics.error(nodes_at, fmt::format("{} nodes: {}", cluster.nodes, problem));
  }
  if (link_count(cluster) > kMostLinks)
    return diagnostics.error(nodes_at, too_many_links(link_count(cluster)), fewer_links(cluster.routing));
  if (cluster.nodes == 1) return;
  const std::string problem = bandwidth_problem(*cluster.scale_out->topology, scale_out_parameters(cluster));
  if (!problem.empty()) section.error("scale_out", problem);
}

// The nodes of a cluster of several types. The keys of a node are documented where a cluster has one type.
std::vector<NodeGroup> read_groups(Section& section, const ClusterReaders& readers, bool is_there) {
  const std::size_t errors = section.errors();
  std::vector<NodeGroup> groups;
  section.list(
      "nodes",
      "types of nodes of a cluster that mixes them, in place of `node`: each with its number; devices are numbered "
      "in this order. Example: `[{node: dgx-a100, count: 4}, {node: dgx-h100, count: 4}]`",
      [&](Section& group) {
        NodeGroup& read = groups.emplace_back();
        group.required_section(
            "node", "a node type, as `cluster.node`",
            [&](Section& node) {
              if (is_there) read.node = read_node(node, readers);
            },
            "nodes");
        group.needs("count", read.count, {1, kMostDevices}, "number of nodes of the type");
        if (!section.sound(errors)) return;
        const std::string problem = mixing_problem(groups.front().node, read.node);
        if (is_there && groups.size() > 1 && !problem.empty())
          section.context().diagnostics().error(
              group.where_key("node"), fmt::format("nodes of this type do not go with those of the first: {}", problem),
              "nodes of one cluster have as many devices and NICs, joined alike; their figures may differ");
      });
  return groups;
}

// Reads `nodes` as a list, into the cluster. `is_there`: it is one, and not only documented.
void read_mixed_nodes(Section& section, const std::optional<NodeCount>& nodes, const ClusterReaders& readers,
                      bool is_there, ClusterSpec& cluster) {
  const std::size_t errors = section.errors();
  if (is_there) section.know("node");
  cluster.groups = read_groups(section, readers, is_there);
  if (!is_there || !section.sound(errors)) return;
  if (section.has("node"))
    section.error("node", "'node' and a list of 'nodes' exclude each other",
                  "list the types in `nodes`, or write one `node`");
  if (cluster.groups.empty()) return section.error("nodes", "'nodes' is empty", "nodes: [{node: dgx-a100, count: 4}]");
  if (nodes)
    section.context().diagnostics().error(nodes->where, "'nodes' has no meaning for a cluster that lists its nodes",
                                          "change their `count`");
  std::uint64_t count = 0;
  for (const NodeGroup& group : cluster.groups) count += group.count;
  cluster.node = cluster.groups.front().node;
  cluster.nodes = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, kMostDevices + std::uint64_t{1}));
  if (cluster.groups.size() == 1) cluster.groups.clear();
}

ClusterSpec read_nodes(Section& section, const std::optional<NodeCount>& nodes, const ClusterReaders& readers,
                       const Routing& routing) {
  const std::size_t errors = section.errors();
  ClusterSpec cluster;
  cluster.routing = routing;
  const ConfigValue* listed = section.value("nodes");
  const bool is_mixed = listed != nullptr && listed->kind == ConfigValue::Kind::kList;
  section.when(!is_mixed, [&] {
    section.required_section(
        "node", "the node type of the cluster. Example: `node: dgx-a100`",
        [&](Section& node) { cluster.node = read_node(node, readers); }, "nodes");
    if (nodes && !section.has("nodes"))
      section.know("nodes");  // no default beside the experiment's number
    else
      section.takes("nodes", cluster.nodes, {1, kMostDevices},
                    "number of nodes; `nodes` of the experiment wins over it");
    if (nodes) cluster.nodes = nodes->count;
    if (nodes) section.overruled("nodes", "nodes", nodes->where);
  });
  section.when(is_mixed, [&] { read_mixed_nodes(section, nodes, readers, is_mixed, cluster); });
  const std::uint64_t nics =
      section.sound(errors) && cluster.node.nics ? std::uint64_t{cluster.nodes} * nic_trunks(cluster.node) : 0;
  const bool may_relay = nics > 0 && carries_relays(cluster.node.interconnect);
  section.section("scale_out", "fabric that joins the NICs of the nodes; required with more than one node",
                  [&](Section& scale_out) {
                    cluster.scale_out =
                        read_scale_out(scale_out, nics <= kMostDevices ? static_cast<std::uint32_t>(nics) : 0,
                                       may_relay ? nic_trunks(cluster.node) : 1);
                  });
  if (section.sound(errors)) check_cluster(section, cluster, nodes ? nodes->where : section.where("nodes"));
  if (cluster.scale_out && cluster.node.nics && cluster.node.nics->efficiency)
    section.overruled("scale_out.network.efficiency", section.path() + ".node.nics.efficiency",
                      section.where_below("node.nics.efficiency"));
  if (cluster.nodes == 1)
    for (const char* key : {"node.nics", "scale_out.topology", "scale_out.latency", "scale_out.network.efficiency",
                            "scale_out.network.stack"})
      section.idle(key, "the cluster has one node, which nothing leaves", "give it more: nodes=2");
  return cluster;
}

// The links of the device, which `dims` gives figures of its own unless a dimension names their kind.
void overrule_links_of_device(Section& section) {
  const ConfigValue* dims = section.value("dims");
  if (dims == nullptr) return;
  const auto has_kind = [](const ConfigValue& dimension) { return dimension.find("link") != nullptr; };
  if (std::ranges::none_of(dims->items, has_kind))
    for (const char* key : {"device.nvlink", "device.nvlink_count"})
      section.overruled(key, section.path() + ".dims[].bandwidth", dims->where);
  section.idle("device.pcie", "nodes with a `topology_matrix` only have it", {}, IdleWarning::kOwnFile);
}

std::vector<DimensionSpec> read_dimensions(Section& section, const std::optional<NodeCount>& nodes,
                                           const ClusterReaders& readers, const Routing& routing) {
  const std::size_t errors = section.errors();
  DeviceLinks links;
  section.required_section(
      "device", "the device of a cluster of `dims`. Example: `device: a100-sxm-80gb`",
      [&](Section& device) {
        readers.device(device);
        if (device.sound()) links = read_device_links(device);
      },
      "devices");
  std::vector<DimensionSpec> dimensions;
  section.list(
      "dims", "dimensions of an abstract fabric, in place of `node`; the first dimension varies fastest with the rank",
      [&](Section& dimension) { dimensions.push_back(read_dimension(dimension, dimensions.size(), links, routing)); });
  if (nodes)
    section.context().diagnostics().error(nodes->where, "'nodes' has no meaning for a cluster of 'dims'",
                                          "change the size of a dimension");
  overrule_links_of_device(section);
  if (section.sound(errors)) check_dimensions(section, dimensions, routing);
  return dimensions;
}

struct Prices {
  std::vector<KindPrice> of_kind;
  std::vector<Location> where;
};

void read_prices(Section& cluster, Prices& prices) {
  cluster.map("prices", "KIND",
              "prices of a kind of vertices (`gpu`, `nic`, `switch`, `leaf`) or a class of links (`nic.up`: with its "
              "transceivers), as `cluster show` names them, which adds them up. Example: `prices: {nic: {each: 1500}}`",
              [&](const ConfigEntry& entry, Section& section) {
                KindPrice price{entry.key, 0};
                std::string each;
                section.needs("each", each, "price of each of the kind, in any currency. Example: `$1500`");
                if (!each.empty()) price.each = price_of(section, "each", each, PriceOf::kOnce).value_or(0);
                section.note("source", "sources of the figures, for people");
                prices.of_kind.push_back(std::move(price));
                prices.where.push_back(entry.where);
              });
}

// Sets the prices of those kinds that the fabric has.
void give_prices(Fabric& fabric, Prices prices, Diagnostics& diagnostics) {
  fabric.set_prices(std::move(prices.of_kind));
  const std::vector<KindCost> costs = costs_of(fabric);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (costs[i].count > 0) continue;
    std::vector<std::string> known(fabric.link_classes().begin(), fabric.link_classes().end());
    for (const VertexKind& kind : summarise(fabric).vertices) known.push_back(kind.name);
    diagnostics.error(
        prices.where[i],
        fmt::format("cluster.prices.{}: the cluster has no vertices or links of this kind", printable(costs[i].kind)),
        fmt::format("kinds: {}", fmt::join(known, ", ")));
  }
}

FabricSpec read_fabric(Section& cluster, Prices& prices, const std::optional<NodeCount>& nodes,
                       const ClusterReaders& readers, const Routing& routing) {
  cluster.note("name", "a label for people; Orrery does not use it");
  cluster.sources();
  cluster.section("nccl",
                  "constants of the `nccl` library that were measured on this cluster (`orrery calibrate` writes "
                  "them); they win over `collectives.constants`",
                  readers.nccl);
  read_prices(cluster, prices);
  const bool has_dimensions = cluster.has("dims");
  for (const char* key : {"node", "nodes", "scale_out"}) {
    if (!has_dimensions || !cluster.has(key)) continue;
    cluster.know(key);
    cluster.error(key, fmt::format("'{}' and 'dims' exclude each other", key),
                  "a cluster is made of nodes or of dimensions");
  }
  if (!has_dimensions) cluster.know("dims");
  FabricSpec spec;
  cluster.when(has_dimensions, [&] { spec = read_dimensions(cluster, nodes, readers, routing); });
  cluster.when(!has_dimensions, [&] { spec = read_nodes(cluster, nodes, readers, routing); });
  return spec;
}

Fabric build(const FabricSpec& spec, const Routing& routing) {
  if (const auto* dimensions = std::get_if<std::vector<DimensionSpec>>(&spec)) return compose(*dimensions, routing);
  return build_cluster(std::get<ClusterSpec>(spec));
}

// Lets messages change rails inside the nodes where nothing joins the rails between them. What is wrong, or "".
std::string join_rails(Fabric& fabric) {
  if (!fabric.apart()) return {};
  if (carries_relays(fabric.interconnect().within)) fabric.relay_between_rails();
  const std::optional<Endpoints> apart = fabric.apart();
  if (!apart) return {};
  return fmt::format("no way leads from {} to {}: nothing joins their rails, neither switches nor NVLink in a node",
                     fabric.vertex_name(VertexId(apart->from)), fabric.vertex_name(VertexId(apart->to)));
}

// Efficiencies may leave a link with less than it can have.
std::string left_problem(const Fabric& fabric) {
  for (const Link& link : fabric.link_kinds())
    if (link.bandwidth < kLeastBandwidth)
      return fmt::format("the links of class {} would have {}, {} of {}, less than a link can have, {}",
                         fabric.link_classes()[link.link_class], to_text(link.bandwidth), to_text(link.efficiency),
                         to_text(link.nominal), to_text(kLeastBandwidth));
  return {};
}

// Choice of what links carry, or of how many share what comes to them.
struct ChosenLinks {
  std::string key;
  Location where;
  bool is_own = false;  // by a setting or the file that was named
};

bool is_of_nics(std::string_view key) { return key.ends_with("nics.bandwidth"); }

// Choice that a user made; nothing if nobody did.
std::optional<ChosenLinks> choice_of(Section& experiment, const std::string& key) {
  const ConfigContext& context = experiment.context();
  const std::string count = key.substr(0, std::min(key.rfind('.'), key.size())) + ".count";
  if (!experiment.given(key)) return std::nullopt;
  if (context.is_own(experiment.where_below(key))) return ChosenLinks{key, experiment.where_below(key), true};
  if (is_of_nics(key) && experiment.given(count) && is_setting(experiment.where_below(count)))
    return ChosenLinks{count, experiment.where_below(count), true};
  if (experiment.value("resolved") == nullptr && is_chosen_file(experiment.where_below(key).file, context.files()))
    return ChosenLinks{key, experiment.where_below(key)};
  return std::nullopt;
}

// True of links that nobody is sold: NICs whose slots carry less by their names. A slot that carries more than its NIC,
// and a NIC that the host's threads slow, are as usual.
bool is_odd(const CappedClass& links, const std::string& key, const std::string& by) {
  return is_of_nics(key) && by.ends_with("nics.host_bandwidth") && links.cap.is_by_name();
}

// Says so where a user gives links more than can come to them: a NIC faster than its slot, or two of them behind one.
// In a file that the named one names, of odd links alone.
void warn_of_capped_links(Section& experiment, const Fabric& fabric) {
  const auto is_chosen = [&](const std::string& key) { return choice_of(experiment, key).has_value(); };
  for (const CappedClass& links : capped_links(fabric, is_chosen)) {
    const std::optional<ChosenLinks> chosen = choice_of(experiment, fabric.link_keys()[links.link_class]);
    const std::string& by = fabric.link_keys()[links.cap.by];
    if (!chosen->is_own && !is_odd(links, chosen->key, by)) continue;
    experiment.context().diagnostics().warning(
        chosen->where, capped_text(links, fabric),
        by.empty() ? std::string() : fmt::format("'{}' sets those: change it with '{}'", by, chosen->key));
  }
}

}  // namespace

std::optional<Fabric> read_cluster(Section& experiment, const ClusterReaders& readers, const Routing& routing) {
  const std::size_t errors = experiment.errors();
  std::optional<NodeCount> nodes;
  if (const auto count =
          WholeNumber("nodes", "number of nodes; it wins over `nodes` of the cluster file. Example: `nodes: 16`",
                      {1, kMostDevices})
              .maybe(experiment))
    nodes = {narrow(*count), experiment.where("nodes")};
  std::optional<FabricSpec> spec;
  Prices prices;
  experiment.required_section(
      "cluster", "the hardware that the job runs on. Example: `cluster: dgx-a100`",
      [&](Section& cluster) { spec = read_fabric(cluster, prices, nodes, readers, routing); }, "clusters");
  if (!spec || !experiment.sound(errors)) return std::nullopt;
  Fabric fabric = build(*spec, routing);
  give_prices(fabric, std::move(prices), experiment.context().diagnostics());
  if (const std::string apart = join_rails(fabric); !apart.empty()) {
    experiment.error(
        "cluster", apart,
        "a network without a spine needs nodes with 'interconnect: nvlink' whose devices are all joined by it");
    return std::nullopt;
  }
  const std::string problem = left_problem(fabric);
  if (problem.empty()) {
    warn_of_capped_links(experiment, fabric);
    return fabric;
  }
  experiment.error("cluster", problem, "raise the efficiency or the bandwidth");
  return std::nullopt;
}

Routing read_routing(Section& network) {
  Routing routing;
  network.takes("routing", routing.kind, routing_names(),
                "how messages between nodes, or along `dims`, choose among parallel links and switches; spray: all of "
                "them at once, deterministic: destination modulo their number, ecmp: a hash of source and destination");
  network.when(routing.kind == RoutingKind::kEcmp || network.has("ecmp_seed"), [&] {
    network.takes("ecmp_seed", routing.seed, {0, INT64_MAX}, "with `routing: ecmp`: seed of the hash");
  });
  if (routing.kind != RoutingKind::kEcmp && network.has("ecmp_seed"))
    network.error("ecmp_seed", "'ecmp_seed' means nothing without 'routing: ecmp'", "leave it out");
  return routing;
}

}  // namespace orrery::network
