// How link and vertex numbers follow from where a link is: the arithmetic behind Fabric::route and Fabric::ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/ids.h"
#include "network/fabric/topology.h"

namespace orrery {

enum class VertexId : std::uint32_t {};  // devices first, then switches and NICs

struct LinkEnds {
  VertexId from{};
  VertexId to{};
};

// Equal instances of one topology. Links and switches are numbered instance by instance.
struct Tier {
  const Topology* topology = nullptr;
  TopologyParameters parameters;
  std::uint32_t first_link = 0;
  std::uint32_t links = 0;  // of one instance
  std::uint32_t instances = 0;
  std::uint32_t first_switch = 0;  // vertex
  std::uint32_t switches = 0;      // of one instance
  std::string name;

  bool holds(LinkId link) const { return index_of(link) - first_link < links * instances; }
  bool holds(VertexId vertex) const { return index_of(vertex) - first_switch < switches * instances; }
  // Of a switch that the tier holds, within its instance: "leaf3".
  std::string switch_name(VertexId vertex) const;
  std::uint32_t instance_of(VertexId vertex) const { return (index_of(vertex) - first_switch) / switches; }
  // Appends the route of a message between two members of an instance.
  void route(std::uint32_t instance, std::uint32_t from, std::uint32_t to, const Endpoints& ends,
             std::vector<LinkId>& out) const;
};

// Every slice of the devices along a dimension is an instance of that dimension's tier. A route goes dimension by
// dimension, the first first, through the devices in between.
struct ComposedLayout {
  std::vector<Tier> tiers;
  std::vector<std::uint32_t> strides;  // distance in device numbers between neighbours along each dimension

  void route(DeviceId from, DeviceId to, std::vector<LinkId>& out) const;
  LinkEnds ends(LinkId link) const;
  std::string vertex_name(VertexId vertex) const;
};

// Nodes of one kind: a fabric inside each, and, between nodes, device -> NIC -> scale-out fabric -> NIC -> device.
// The way between a device and its NIC is either a link of their own, the host link, or a route inside the node, where
// the NICs are members of the node's fabric, after the devices. With host links, a NIC is a trunk: all the NICs that
// one device owns, or one NIC that several devices share.
struct ClusterLayout {
  std::uint32_t devices = 0;  // of the whole cluster
  std::uint32_t devices_per_node = 1;
  std::uint32_t nics_per_node = 0;         // 0: there are none
  bool nics_inside = false;                // members of the node's fabric
  std::vector<std::uint32_t> nic_of_slot;  // the NIC of each device of a node; empty: evenly, in order
  Tier node;
  Tier scale_out;                     // one instance, whose members are the NICs
  std::uint32_t first_host_link = 0;  // one up link per device, then one down link per device
  // Where software of the host moves the data: one link out of each device, then one into each; both are at the device.
  std::optional<std::uint32_t> first_stack_link{};
  std::uint32_t first_nic = 0;  // vertex

  std::uint32_t nic_of(std::uint32_t device) const;
  void route(DeviceId from, DeviceId to, std::vector<LinkId>& out) const;
  LinkEnds ends(LinkId link) const;
  std::string vertex_name(VertexId vertex) const;
};

using FabricLayout = std::variant<ComposedLayout, ClusterLayout>;

}  // namespace orrery
