// SPDX-License-Identifier: MIT
#include "system/plans/node_ports.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace orrery::system {
namespace {

using Places = std::vector<std::uint32_t>;

Places all_places(std::size_t members) {
  Places places(members);
  std::iota(places.begin(), places.end(), 0U);
  return places;
}

// First those that have their own NIC, then those that have one for themselves. Where the threads of a host move the
// data, only the first of those that share a NIC: a ring or a tree leaves the node once by each NIC, from the nearest
// device.
Places ports_of(std::span<const std::uint32_t> members, std::span<const DeviceId> devices,
                const network::Fabric& fabric) {
  Places ports;
  std::set<std::uint32_t> taken;
  for (const bool own : {true, false})
    for (std::uint32_t place = 0; place < members.size(); ++place) {
      const network::Fabric::NicUse use = fabric.nics_of(devices[members[place]]);
      const bool shares = (!own || fabric.has_stack()) && (taken.contains(use.out) || taken.contains(use.in));
      if (use.own != own || shares) continue;
      ports.push_back(place);
      taken.insert({use.out, use.in});
    }
  if (ports.empty()) return all_places(members.size());
  std::ranges::sort(ports);
  return ports;
}

// Number of nodes that lack a port at each place.
std::vector<std::uint32_t> lost_places(const NodeMembers& nodes, std::span<const Places> ports) {
  std::vector<std::uint32_t> lost;
  for (std::size_t node = 0; node < nodes.size(); ++node)
    for (std::uint32_t place = 0; place < nodes[node].size(); ++place) {
      if (place == lost.size()) lost.push_back(0);
      if (!std::ranges::binary_search(ports[node], place)) ++lost[place];
    }
  return lost;
}

}  // namespace

std::vector<Places> ports_of_nodes(const NodeMembers& nodes, std::span<const DeviceId> devices,
                                   const network::Fabric& fabric) {
  if ((!fabric.uses_spare_nics() && !fabric.has_stack()) || nodes.size() == 1) return {};
  std::vector<Places> ports;
  std::size_t channels = SIZE_MAX;
  for (const std::vector<std::uint32_t>& node : nodes) {
    ports.push_back(ports_of(node, devices, fabric));
    if (ports.back().size() < node.size()) channels = std::min(channels, ports.back().size());
  }
  if (channels == SIZE_MAX) return {};
  const std::vector<std::uint32_t> lost = lost_places(nodes, ports);
  for (Places& of_node : ports) {
    if (of_node.size() <= channels) continue;
    std::ranges::stable_sort(of_node, {}, [&](std::uint32_t place) { return lost[place]; });
    of_node.resize(channels);
    std::ranges::sort(of_node);
  }
  return ports;
}

}  // namespace orrery::system
