// How link and vertex numbers follow from where a link is: the arithmetic behind Fabric::route and Fabric::ends.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "core/ids.h"
#include "network/topology.h"

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

  bool holds(LinkId link) const { return index_of(link) - first_link < links * instances; }
  // Appends the route between two members of an instance.
  void route(std::uint32_t instance, std::uint32_t from, std::uint32_t to, std::vector<LinkId>& out) const;
};

// Every slice of the devices along a dimension is an instance of that dimension's tier. A route goes dimension by
// dimension, the first first, through the devices in between.
struct ComposedLayout {
  std::vector<Tier> tiers;
  std::vector<std::uint32_t> strides;  // distance in device numbers between neighbours along each dimension

  void route(DeviceId from, DeviceId to, std::vector<LinkId>& out) const;
  LinkEnds ends(LinkId link) const;
};

// Nodes of one kind: a fabric inside each, and, between nodes, device -> NIC -> scale-out fabric -> NIC -> device.
// A NIC here is a trunk: all the NICs that one device owns, or one NIC that several devices share.
struct ClusterLayout {
  std::uint32_t devices = 0;  // of the whole cluster
  std::uint32_t devices_per_node = 1;
  std::uint32_t nics_per_node = 0;  // trunks; 0: no scale-out fabric
  Tier node;
  Tier scale_out;                     // one instance, whose members are the NICs
  std::uint32_t first_host_link = 0;  // one up link per device, then one down link per device
  std::uint32_t first_nic = 0;        // vertex

  std::uint32_t nic_of(std::uint32_t device) const;
  void route(DeviceId from, DeviceId to, std::vector<LinkId>& out) const;
  LinkEnds ends(LinkId link) const;
};

using FabricLayout = std::variant<ComposedLayout, ClusterLayout>;

}  // namespace orrery
