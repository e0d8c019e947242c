// SPDX-License-Identifier: MIT
#include "network/config/cluster.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "network/config/matrix.h"
#include "network/fabric/link_type.h"
#include "network/fabric/topology_config.h"
#include "network/topologies/graph_config.h"

namespace orrery::network {
namespace {

constexpr std::int64_t kMostNics = 4096;  // of a node

NodeFabricSpec read_node_fabric(Section& section, std::uint32_t devices, const DeviceLinks& links) {
  NodeFabricSpec spec;
  TopologyChoice choice = read_topology(section, topology_names(), {MemberKind::kDevice, devices},
                                        "topology that joins the devices of the node");
  const std::string problem = section.sound() ? size_problem(choice, devices) : std::string();
  if (!problem.empty()) section.error("topology", problem);
  spec.topology = choice.topology;
  spec.own = std::move(choice.own);
  if (!writes_out_links(*spec.topology)) {
    const LinkRate rate =
        read_fabric_rate(section,
                         "switch: bandwidth of a device, per direction; other topologies: bandwidth of one directed "
                         "link between two devices",
                         links, spec.topology->switched);
    spec.bandwidth = rate.nominal;
    spec.efficiency = rate.efficiency;
    section.needs("latency", spec.latency, "latency from device to device, without software");
  }
  spec.key = section.path() + ".bandwidth";
  spec.name = read_name(section, "fabric", "name of the fabric's links in results");
  if (is_outside(spec.name)) section.error("name", fmt::format("'{}' names the links that leave the node", spec.name));
  section.note("source", "sources of the figures, for people");
  if (!section.sound()) return spec;
  const std::string derived = bandwidth_problem(*spec.topology, {devices, spec.bandwidth, spec.latency, spec.own});
  if (!derived.empty()) section.error("topology", derived);
  return spec;
}

void read_nic_count(Section& section, NicSpec& spec) {
  section.needs("count", spec.count, {1, kMostNics}, "number of NICs in a node");
  spec.bandwidth = read_link_bandwidth(section, "bandwidth", "bandwidth of one NIC, per direction");
  spec.key = section.path() + ".bandwidth";
  section.takes("efficiency", spec.efficiency,
                "share of a NIC's bandwidth that messages get, on every link of `scale_out`; without it, `efficiency` "
                "of `scale_out.network` holds");
  section.note("source", "sources of the figures, for people");
}

void read_host_links(Section& section, std::uint32_t devices, NicSpec& spec) {
  const LinkRate host =
      read_link_rate(section, "with `fabric`: bandwidth between a device and its NICs (PCIe), per direction",
                     "share of `host_bandwidth` that messages get", {"host_bandwidth", "host_efficiency", "host_link"});
  spec.host_bandwidth = host.nominal;
  spec.host_key = section.path() + ".host_bandwidth";
  spec.host_efficiency = host.efficiency;
  section.needs("host_latency", spec.host_latency,
                "with `fabric`: latency between a device and its NICs, without software");
  section.accepts(
      "gpu_direct", spec.gpu_direct,
      "with `fabric`: whether NICs reach the memory of devices (GPUDirect RDMA), as by default; otherwise what a NIC "
      "moves is "
      "copied through the host's memory, over links of its own as wide as `host_bandwidth` (`host-memory`)");
  if (spec.count <= devices) return;
  const std::uint32_t share = spec.count / devices;
  if (spec.count % devices != 0)
    section.error("count", fmt::format("{} NICs do not divide among {} devices", spec.count, devices),
                  fmt::format("{} or {} would", share * devices, (share + 1) * devices));
  if (spec.bandwidth > Bandwidth(Bandwidth::max().count() / share))
    section.error("bandwidth",
                  fmt::format("{} NICs of {} make more than can be counted", share, to_text(spec.bandwidth)));
  if (!spec.gpu_direct && spec.host_bandwidth > Bandwidth(Bandwidth::max().count() / share))
    section.error("host_bandwidth", fmt::format("{} links of {} to the host's memory make more than can be counted",
                                                share, to_text(spec.host_bandwidth)));
}

void read_nics_of(Section& section, std::uint32_t devices, NicSpec& spec) {
  const std::vector<std::string> numbers =
      section.words("of",
                    "without `fabric`: number of the NIC that each device uses; without it, each device uses the "
                    "nearest NIC with the lowest number. Example: `[0, 0, 1, 1]`");
  if (numbers.empty()) return;
  if (numbers.size() != devices) section.error("of", fmt::format("{} entries for {} devices", numbers.size(), devices));
  for (const std::string& text : numbers) {
    std::uint32_t nic = 0;
    const char* end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, nic);
    if (code != std::errc{} || stop != end || nic >= spec.count)
      return section.error("of",
                           fmt::format("unknown NIC '{}'; valid NICs are 0 to {}", printable(text, 40), spec.count - 1),
                           text.starts_with("nic") ? "write the number alone: 0 for nic0"
                                                   : "`nics.count` says how many NICs there are; without 'of' each "
                                                     "device uses the nearest");
    spec.of.push_back(nic);
  }
}

// The NIC nearest to each device in hops, the lowest of those.
std::vector<std::uint32_t> nearest_nics(const RoutedGraph& graph) {
  const GraphSpec& spec = graph.spec();
  std::vector<std::uint32_t> nearest(spec.devices, 0);
  for (std::uint32_t device = 0; device < spec.devices; ++device)
    for (std::uint32_t nic = 1; nic < spec.nics; ++nic)
      if (graph.hops(device, spec.devices + nic) < graph.hops(device, spec.devices + nearest[device]))
        nearest[device] = nic;
  return nearest;
}

void use_graph(Section& section, NodeSpec& node, RoutedGraph graph) {
  node.fabric.topology = topology_named("edge-list");
  node.fabric.own.graph = std::move(graph);
  if (!node.nics) return;
  std::vector<std::uint32_t>& of = node.nics->of;
  if (of.empty()) of = nearest_nics(node.fabric.own.graph);
  std::string idle;
  for (std::uint32_t nic = 0; nic < node.nics->count; ++nic)
    if (std::ranges::find(of, nic) == of.end()) idle += fmt::format(" nic{}", nic);
  if (!idle.empty())
    section.warning("nics", fmt::format("no device uses{}", idle), "say with `nics.of` which NIC each device uses");
}

void read_written_out(Section& section, const DeviceLinks& links, NodeSpec& node, std::size_t errors) {
  const GraphMembers members{node.devices, node.nics ? node.nics->count : 0};
  RoutedGraph graph;
  section.when(section.has("links"), [&] { graph = read_graph(section, members); });
  section.when(!section.has("links"), [&] { graph = read_matrix(section, members, links); });
  if (section.sound(errors)) use_graph(section, node, std::move(graph));
}

// Hint on how to change links that are written in this way.
std::string change_of_links(const Section& section, std::string_view way) {
  if (way == "topology_matrix") return fmt::format("; {}.capacities changes its links", section.path());
  if (way != "links") return {};
  std::vector<std::string> classes;
  for (const ConfigValue& link : section.value("links")->items)
    if (const ConfigEntry* name = link.find("class");
        name != nullptr && std::ranges::find(classes, name->value.scalar) == classes.end())
      classes.push_back(name->value.scalar);
  if (classes.empty()) return {};
  return fmt::format("; {}.classes.{}.bandwidth changes all links of a class: {}", section.path(),
                     printable(classes.front()), printable(fmt::format("{}", fmt::join(classes, ", "))));
}

// True if `links` or `topology_matrix` is given in place of `fabric`.
bool is_written_out(Section& section) {
  constexpr std::array<const char*, 3> kWays = {"links", "topology_matrix", "fabric"};
  const auto first = std::ranges::find_if(kWays, [&](const char* key) { return section.has(key); });
  if (first == kWays.end()) return false;
  for (auto other = first + 1; other != kWays.end(); ++other) {
    if (!section.has(*other)) continue;
    section.note(*other, "");
    section.error(*other, fmt::format("'{}' and '{}' exclude each other", *first, *other),
                  fmt::format("a node has one way to say what joins its devices{}", change_of_links(section, *first)));
  }
  return first != kWays.end() - 1;
}

// The links of the device that the node's own keys stand for: of `fabric`, of a matrix, or written out.
void overrule_device_links(Section& section, bool written_out) {
  const auto overrule = [&](std::string_view key, std::string_view by) {
    section.overruled(key, fmt::format("{}.{}", section.path(), by), section.where_below(by));
  };
  const bool is_matrix = section.has("topology_matrix");
  if (written_out && !is_matrix) {
    for (const char* key : {"device.nvlink", "device.nvlink_count", "device.pcie"}) overrule(key, "links");
    return;
  }
  if (is_matrix) {
    for (const std::string_view link : {"nvlink", "pcie"})
      for (const auto& [figure, ending] : {std::pair("bandwidth", ""), std::pair("efficiency", "_efficiency")})
        if (const std::string by = fmt::format("capacities.{}{}", link, ending); section.given(by))
          overrule(fmt::format("device.{}.{}", link, figure), by);
    section.idle("device.nvlink_count", "the matrix says how many NVLinks there are", {}, IdleWarning::kOwnFile);
    return;
  }
  if (section.given("fabric.bandwidth"))
    for (const char* key : {"device.nvlink", "device.nvlink_count"}) overrule(key, "fabric.bandwidth");
  for (const char* by : {"nics.host_bandwidth", "nics.host_link"})
    if (section.given(by)) return overrule("device.pcie", by);
  section.idle("device.pcie", "nodes with a `topology_matrix` only have it", {}, IdleWarning::kOwnFile);
}

// Infers the interconnect from a topology matrix: NVLink where most devices reach one another over it, an NVSwitch
// where each has as many links to every other and more than go to peers. NVSwitch 3, of Hopper, and later ones do
// multicast.
void infer_interconnect(NodeSpec& node, Architecture architecture) {
  const RoutedGraph& graph = node.fabric.own.graph;
  const GraphSpec& spec = graph.spec();
  const auto is_nvlink = [&](std::uint32_t link) { return spec.link_classes[spec.links[link].link_class] == "nvlink"; };
  std::uint64_t pairs = 0, over_nvlink = 0, switched = 0;
  for (std::uint32_t from = 0; from < spec.devices; ++from)
    for (std::uint32_t to = 0; to < spec.devices; ++to) {
      if (from == to) continue;
      bool all = true, passes_switch = false;
      graph.route(from, to, [&](std::uint32_t link) {
        all = all && is_nvlink(link);
        passes_switch = passes_switch || spec.links[link].to >= spec.members();
      });
      ++pairs;
      if (all) ++over_nvlink;
      if (all && passes_switch) ++switched;
    }
  if (2 * over_nvlink > pairs) node.interconnect = NodeLinkKind::kNvlink;
  node.multicast = is_from_hopper_on(architecture) && pairs > 0 && switched == pairs;
}

// The facts about the node that communication libraries decide by.
void read_interconnect(Section& section, NodeSpec& node) {
  section.takes("interconnect", node.interconnect, node_link_names(),
                "link by which most devices of the node reach one another, which NCCL's choices depend on; pcie: peer "
                "to peer, host: by copies through the host's memory, ethernet: scale-up Ethernet (SUE, ESUN)",
                "by `topology_matrix`: nvlink where most are joined by it; else other");
  node.multicast = node.multicast && node.interconnect == NodeLinkKind::kNvlink;
  section.takes("multicast", node.multicast,
                "whether the NVLink switches of the node copy and reduce messages (NVLS, from NVSwitch 3 on)",
                "by `topology_matrix`: true where an NVSwitch joins all, from hopper on; else false");
  if (!node.multicast) return;
  if (node.interconnect != NodeLinkKind::kNvlink)
    section.error(
        "multicast",
        fmt::format("'multicast' is of NVLink switches, but 'interconnect' is {}", name_of(node.interconnect)),
        "write 'interconnect: nvlink', or leave 'multicast' out");
  else if (section.has("fabric") && !node.fabric.topology->switched)
    section.error("multicast",
                  fmt::format("'multicast' is of NVLink switches, but the fabric is a {}", node.fabric.topology->name),
                  "leave it out");
}

}  // namespace

NodeSpec read_node(Section& section, const ClusterReaders& readers) {
  NodeSpec node;
  DeviceLinks links;
  section.required_section(
      "device", "the device of the node. Example: `device: h100-sxm`",
      [&](Section& device) {
        readers.device(device);
        if (device.sound()) links = read_device_links(device);
      },
      "devices");
  section.needs("devices", node.devices, {1, kMostDevices}, "number of devices in a node");
  const std::size_t errors = section.errors();
  const bool written_out = is_written_out(section);
  section.when(!written_out, [&] {
    section.required_section(
        "fabric", "fabric that joins the devices of the node; `links` or `topology_matrix` may take its place",
        [&](Section& fabric) { node.fabric = read_node_fabric(fabric, node.devices, links); });
  });
  section.section("nics", "NICs of the node; required with more than one node", [&](Section& nics) {
    read_nic_count(nics, node.nics.emplace());
    nics.when(!written_out, [&] { read_host_links(nics, node.devices, *node.nics); });
    nics.when(written_out, [&] { read_nics_of(nics, node.devices, *node.nics); });
  });
  section.when(written_out, [&] { read_written_out(section, links, node, errors); });
  if (section.sound()) overrule_device_links(section, written_out);
  const bool has_matrix = section.has("topology_matrix") && !node.fabric.own.graph.empty();
  if (has_matrix) infer_interconnect(node, links.architecture);
  read_interconnect(section, node);
  if (readers.node) readers.node(section);
  section.sources();
  return node;
}

}  // namespace orrery::network
