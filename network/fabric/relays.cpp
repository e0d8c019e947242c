// SPDX-License-Identifier: MIT
// NCCL's PXN: the devices that relay messages to other rails, by the rule of NCCL's search for paths (NVIDIA/nccl,
// src/graph/paths.cc, ncclTopoComputePaths). The relay is joined to the sender by NVLink, a link of their own or a
// switch of devices alone, and the sender's own way to the NIC is longer than the relay's. The receiver uses its own
// NIC. NCCL relays through GPUs of the communicator only; here any device of the node may relay.
#include <algorithm>

#include "network/fabric/fabric.h"

namespace orrery::network {
namespace {

// True if the way between two devices of a node is one link, or two over a switch that joins nothing but devices.
bool is_among_devices(const RoutedGraph& graph, std::uint32_t from, std::uint32_t to) {
  const GraphSpec& spec = graph.spec();
  std::uint32_t links = 0;
  bool is_among = true;
  graph.route(from, to, [&](std::uint32_t link) {
    ++links;
    const std::uint32_t at = spec.links[link].to;
    if (at == to) return;
    is_among = is_among && at >= spec.members() && std::ranges::all_of(spec.links, [&](const GraphLink& other) {
                 return (other.from != at || other.to < spec.devices) && (other.to != at || other.from < spec.devices);
               });
  });
  return is_among && links <= 2;
}

bool is_joined(const ClusterLayout& layout, std::uint32_t from, std::uint32_t to) {
  if (layout.nics_inside) return is_among_devices(layout.node.parameters.own.graph, from, to);
  if (layout.node.topology->switched) return true;
  std::vector<LinkId> route;
  layout.node.route(0, from, to, {from, to}, route);
  return route.size() == 1;
}

// True if `device` is as near to the NIC of `other` as `other` itself.
bool is_as_near(const ClusterLayout& layout, std::uint32_t device, std::uint32_t other) {
  if (!layout.nics_inside) return false;
  const RoutedGraph& graph = layout.node.parameters.own.graph;
  const std::uint32_t nic = layout.devices_per_node + layout.rail_of(other);
  return graph.hops(device, nic) <= graph.hops(other, nic);
}

}  // namespace

void ClusterLayout::find_relays() {
  if (scale_out.topology == nullptr || nics_per_node < 2) return;
  std::vector<std::uint32_t> found(std::size_t{devices_per_node} * devices_per_node);
  for (std::uint32_t from = 0; from < devices_per_node; ++from)
    for (std::uint32_t to = 0; to < devices_per_node; ++to) {
      std::uint32_t& relay = found[std::size_t{from} * devices_per_node + to];
      relay = kNoRelay;
      if (rail_of(from) == rail_of(to)) continue;
      if (is_as_near(*this, from, to))
        relay = from;
      else if (is_joined(*this, from, to))
        relay = to;
    }
  if (std::ranges::any_of(found, [](std::uint32_t relay) { return relay != kNoRelay; })) relays = std::move(found);
}

ClusterLayout::Exit ClusterLayout::exit_of(std::uint32_t from, std::uint32_t to) const {
  const std::uint32_t own = way_out(from);
  const Exit by_own{nics_inside ? from : own, own};
  if (relays.empty()) return by_own;
  // The receiver's NIC, or that which takes the place of a dead one.
  const std::uint32_t rail = nic_of_way(way_in(to)) % nics_per_node;
  if (nic_of_way(own) % nics_per_node == rail) return by_own;
  std::uint32_t receiver = to % devices_per_node;
  if (rail_of(receiver) != rail) {
    receiver = 0;
    while (receiver < devices_per_node && rail_of(receiver) != rail) ++receiver;
    if (receiver == devices_per_node) return by_own;
  }
  const std::uint32_t slot = from % devices_per_node;
  const std::uint32_t first = from - slot;
  const std::uint32_t relay = relays[slot * devices_per_node + receiver];
  const bool is_dead = !ways_out.empty() && ways_out[first + receiver] != own_way(first + receiver);
  if (relay == kNoRelay || is_dead) return by_own;
  return {first + relay, own_way(first + receiver)};
}

bool ClusterLayout::is_apart(std::uint32_t from, std::uint32_t to) const {
  return !relays.empty() && !ways_out.empty() && from / devices_per_node != to / devices_per_node &&
         nic_of_way(exit_of(from, to).way) % nics_per_node != nic_of_way(way_in(to)) % nics_per_node &&
         !joins_rails(*scale_out.topology, scale_out.parameters);
}

void Fabric::relay_between_rails() {
  if (auto* layout = std::get_if<ClusterLayout>(&parts_.layout)) layout->find_relays();
}

bool Fabric::relays_between_rails() const {
  const auto* layout = std::get_if<ClusterLayout>(&parts_.layout);
  return layout != nullptr && !layout->relays.empty();
}

std::optional<Endpoints> Fabric::apart() const {
  const auto* layout = std::get_if<ClusterLayout>(&parts_.layout);
  if (layout == nullptr || layout->scale_out.topology == nullptr) return std::nullopt;
  if (joins_rails(*layout->scale_out.topology, layout->scale_out.parameters)) return std::nullopt;
  const std::uint32_t size = layout->devices_per_node;
  for (std::uint32_t from = 0; from < size; ++from)
    for (std::uint32_t to = size; to < 2 * size; ++to)
      if (layout->nic_of_way(layout->exit_of(from, to).way) % layout->nics_per_node != layout->rail_of(to))
        return Endpoints{from, to};
  return std::nullopt;
}

}  // namespace orrery::network
