// SPDX-License-Identifier: MIT
#include "network/import/imported_node.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/config/quantity_text.h"

namespace orrery::network {
namespace {

std::string rate_text(const std::string& kind, const std::optional<double>& gigabytes) {
  std::string text = kind.empty() ? "" : fmt::format(", link: {}", kind);
  if (gigabytes) text += fmt::format(", bandwidth: {:.9g} GB/s", *gigabytes);
  return text;
}

std::string link_text(const ImportedLink& link) {
  return fmt::format("{{from: {}, to: {}{}, latency: {}, class: {}{}}}", link.from, link.to,
                     rate_text(link.kind, link.gigabytes), to_text(link.latency), link.link_class,
                     link.count > 1 ? fmt::format(", count: {}", link.count) : "");
}

std::string fabric_text(const ImportedFabric& fabric) {
  return fmt::format("fabric: {{name: {}, topology: {}{}, latency: {}}}", fabric.name, fabric.topology,
                     rate_text(fabric.kind, fabric.gigabytes), to_text(fabric.latency));
}

std::string nics_text(const ImportedNode& node, bool has_links) {
  return fmt::format("nics: {{count: {}, bandwidth: {:.9g} Gb/s, {}}}", node.nics, node.nic_gigabits,
                     has_links ? fmt::format("of: [{}]", fmt::join(node.nic_of, ", "))
                               : fmt::format("host_link: {}, host_latency: 500 ns", node.host_link));
}

// Lines of a node, each indented by `indent`. `is_mixed`: with its fabric in place of its links.
std::string node_text(const ImportedNode& node, const std::string& indent, bool is_mixed) {
  std::string text;
  const bool has_links = !node.links.empty() && !is_mixed;
  const auto line = [&](const std::string& what) { text += indent + what + "\n"; };
  line(fmt::format("device: {}", node.device));
  line(fmt::format("devices: {}", node.devices));
  line(fmt::format("interconnect: {}", name_of(node.interconnect)));
  if (node.multicast) line("multicast: true  # NVLS: NVSwitches from NVSwitch 3 on");
  if (node.nics > 0) line(nics_text(node, has_links));
  if (!has_links) line(fabric_text(*node.fabric));
  if (has_links) line("links:");
  for (const ImportedLink& link : node.links)
    if (has_links) line("  - " + link_text(link));
  if (is_mixed) line(fmt::format("assumed: [fabric.latency{}]", node.nics > 0 ? ", nics.host_latency" : ""));
  if (!is_mixed && !node.assumed.empty()) line(fmt::format("assumed: [{}]", fmt::join(node.assumed, ", ")));
  return text;
}

using Distances = std::map<std::string, std::uint32_t>;

// Links from `start` to every vertex; GPUs and NICs pass nothing on.
Distances distances_from(const std::string& start, const std::map<std::string, std::set<std::string>>& neighbours) {
  Distances distances{{start, 0}};
  std::deque<std::string> next{start};
  while (!next.empty()) {
    const std::string at = std::move(next.front());
    next.pop_front();
    if (at != start && (at.starts_with("gpu") || at.starts_with("nic"))) continue;
    for (const std::string& other : neighbours.at(at))
      if (distances.try_emplace(other, distances[at] + 1).second) next.push_back(other);
  }
  return distances;
}

// Devices by the NICs that are nearest to them.
using Nearest = std::map<std::vector<std::uint32_t>, std::vector<std::uint32_t>>;

Nearest nearest_of(const ImportedNode& node) {
  std::map<std::string, std::set<std::string>> neighbours;
  for (const ImportedLink& link : node.links) {
    neighbours[link.from].insert(link.to);
    neighbours[link.to].insert(link.from);
  }
  Nearest nearest;
  for (std::uint32_t device = 0; device < node.devices; ++device) {
    const Distances distances = distances_from(fmt::format("gpu{}", device), neighbours);
    const auto distance_of = [&](std::uint32_t nic) {
      const auto found = distances.find(fmt::format("nic{}", nic));
      return found == distances.end() ? UINT32_MAX : found->second;
    };
    std::vector<std::uint32_t> nics;
    for (std::uint32_t nic = 0; nic < node.nics; ++nic) {
      if (!nics.empty() && distance_of(nic) < distance_of(nics.front())) nics.clear();
      if (nics.empty() || distance_of(nic) == distance_of(nics.front())) nics.push_back(nic);
    }
    nearest[nics].push_back(device);
  }
  return nearest;
}

// NICs of each device, where all have as many of their own; else 1.
std::uint32_t nics_of_each(const ImportedNode& node, const Nearest& nearest) {
  const std::uint32_t each = node.nics / node.devices;
  if (each < 2 || node.nics % node.devices != 0) return 1;
  const bool divides = std::ranges::all_of(
      nearest, [&](const auto& group) { return group.first.size() == std::size_t{each} * group.second.size(); });
  return divides ? each : 1;
}

// Makes the NICs of each device one. `nic_of` names the first of each.
void bundle_nics(ImportedNode& node, std::uint32_t each) {
  std::map<std::string, std::string> fresh;  // names of those that stay
  for (std::uint32_t device = 0; device < node.devices; ++device)
    fresh[fmt::format("nic{}", node.nic_of[device])] = fmt::format("nic{}", device);
  std::erase_if(node.links,
                [&](const ImportedLink& link) { return link.from.starts_with("nic") && !fresh.contains(link.from); });
  for (ImportedLink& link : node.links)
    if (link.from.starts_with("nic")) {
      link.from = fresh[link.from];
      link.count *= each;
    }
  for (std::uint32_t device = 0; device < node.devices; ++device) node.nic_of[device] = device;
  node.notes.push_back(fmt::format("{} NICs of {:.9g} Gb/s for each GPU, as one of {:.9g} Gb/s", each,
                                   node.nic_gigabits, each * node.nic_gigabits));
  node.nics = node.devices;
  node.nic_gigabits *= each;
}

}  // namespace

void assign_nics(ImportedNode& node) {
  if (node.nics == 0) return;
  const Nearest nearest = nearest_of(node);
  const std::uint32_t each = nics_of_each(node, nearest);
  node.nic_of.assign(node.devices, 0);
  for (const auto& [nics, devices] : nearest)
    for (std::size_t i = 0; i < devices.size(); ++i) node.nic_of[devices[i]] = nics[i * each % nics.size()];
  if (each > 1) bundle_nics(node, each);
}

bool is_alike(const ImportedNode& a, const ImportedNode& b) {
  return node_text(a, "", false) == node_text(b, "", false);
}

std::string cluster_text(std::span<const ImportedNode> nodes, std::span<const std::string> nccl) {
  std::vector<std::pair<const ImportedNode*, std::uint32_t>> kinds;  // the first of each, number
  std::string text;
  for (const ImportedNode& node : nodes) {
    for (const std::string& note : node.notes) text += "# " + note + "\n";
    const auto known = std::ranges::find_if(kinds, [&](const auto& kind) { return is_alike(*kind.first, node); });
    if (known == kinds.end())
      kinds.emplace_back(&node, 1);
    else
      ++known->second;
  }
  if (kinds.size() == 1 && nodes.size() > 1) text += fmt::format("nodes: {}\n", nodes.size());
  if (kinds.size() == 1) text += "node:\n" + node_text(nodes.front(), "  ", false);
  if (kinds.size() > 1)
    text += "# Nodes of several kinds: NVLinks as the device has them, and each NIC beside its GPU\nnodes:\n";
  for (const auto& [node, count] : kinds)
    if (kinds.size() > 1) text += fmt::format("  - count: {}\n    node:\n{}", count, node_text(*node, "      ", true));
  if (nodes.front().nics > 0)
    text += fmt::format("scale_out: {{topology: switch, network: {}, latency: {}}}  # assumed: one ideal switch\n",
                        nodes.front().network, nodes.front().network == "infiniband" ? "600 ns" : "1 us");
  if (!nccl.empty()) text += "nccl:\n";
  for (const std::string& line : nccl) text += "  " + line + "\n";
  if (nodes.front().nics > 0) text += "assumed: [scale_out.latency]\n";
  return text;
}

}  // namespace orrery::network
