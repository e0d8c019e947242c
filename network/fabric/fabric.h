// SPDX-License-Identifier: MIT
// The fabric: devices, switches and NICs joined by directed links, the logical dimensions that collectives run along,
// and the route between any two devices. Routes are computed from the layout, never searched; memory is 4 bytes a link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/ids.h"
#include "core/machine_kind.h"
#include "core/units.h"
#include "network/fabric/detours.h"
#include "network/fabric/link_course.h"
#include "network/fabric/topology.h"

namespace orrery::network {

// Numbering of links and vertices by their places: the arithmetic behind Fabric::route and Fabric::ends.
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
  // Name, within its instance, of a switch of the tier: "leaf3".
  std::string switch_name(VertexId vertex) const;
  std::uint32_t instance_of(VertexId vertex) const { return (index_of(vertex) - first_switch) / switches; }
  // Appends the route of a message between two members of an instance.
  void route(std::uint32_t instance, std::uint32_t from, std::uint32_t to, const Endpoints& ends,
             std::vector<LinkId>& out) const;
  // True if the topology says that the same switches are above all of these members.
  bool share_switches(std::span<const std::uint32_t> members) const;
};

// Every slice of the devices along a dimension is an instance of that dimension's tier. A route goes dimension by
// dimension, the first first, through the devices in between.
struct ComposedLayout {
  std::vector<Tier> tiers;
  std::vector<std::uint32_t> strides;  // distance in device numbers between neighbours along each dimension

  void route(DeviceId from, DeviceId to, std::vector<LinkId>& out) const;
  bool share_switches(std::span<const DeviceId> devices) const;
  LinkEnds ends(LinkId link) const;
  std::string vertex_name(VertexId vertex) const;
  // True if a message may pass from one link to another at the vertex between them.
  bool passes(LinkId, LinkId) const { return true; }
  // The devices by whose links a way between two devices leads out of their nodes.
  Endpoints outer_ends(const Endpoints& ends) const { return ends; }
  // Puts into a way between the outer ends of two devices the links before and behind them, and those from a vertex to
  // itself.
  void pass_hosts(const Endpoints&, std::vector<LinkId>&) const {}
  const Routing& routing() const { return tiers.front().parameters.routing; }
};

// Nodes joined alike: a fabric inside each, and, between nodes, device -> NIC -> scale-out fabric -> NIC -> device.
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
  // Links of NICs that cannot reach device memory: one per NIC up to the host's memory, then one per NIC down from it;
  // all data of the NIC cross both.
  std::optional<std::uint32_t> first_staging_link{};
  // Links of a software stack that moves the data on the host: one out of each device, then one into each; both are at
  // the device.
  std::optional<std::uint32_t> first_stack_link{};
  std::uint32_t first_nic = 0;  // vertex
  // Owners, by device, of the way to a NIC by which it sends to other nodes, and of that by which it receives, where
  // NICs are dead; a way is called after its NIC where NICs are inside, else after the device with the host link. An
  // empty list means each by its own.
  std::vector<std::uint32_t> ways_out{};
  std::vector<std::uint32_t> ways_in{};
  // Slots of the devices that relay messages to other rails, by slot of the sender and slot of the receiver: the relay
  // gets a message over the node's fabric and hands it to the NIC of the receiver's number. The sender's own slot where
  // it is as near to that NIC; kNoRelay where it sends by its own NIC. Empty: every device sends by its own NIC.
  std::vector<std::uint32_t> relays{};
  static constexpr std::uint32_t kNoRelay = UINT32_MAX;

  std::uint32_t nic_of(std::uint32_t device) const;
  std::uint32_t own_way(std::uint32_t device) const { return nics_inside ? nic_of(device) : device; }
  std::uint32_t way_out(std::uint32_t device) const { return ways_out.empty() ? own_way(device) : ways_out[device]; }
  std::uint32_t way_in(std::uint32_t device) const { return ways_in.empty() ? own_way(device) : ways_in[device]; }
  std::uint32_t nic_of_way(std::uint32_t way) const { return nics_inside ? way : nic_of(way); }
  // The number of the NIC in its node.
  std::uint32_t rail_of(std::uint32_t device) const { return nic_of(device) % nics_per_node; }
  // The device of the sender's node that hands a message to a NIC, and its way there; the receiver is in another node.
  struct Exit {
    std::uint32_t device = 0;
    std::uint32_t way = 0;
  };
  Exit exit_of(std::uint32_t from, std::uint32_t to) const;
  // True for devices of two nodes whose NICs are of rails that nothing joins, because the relay's NIC is dead.
  bool is_apart(std::uint32_t from, std::uint32_t to) const;
  // Fills `relays` (relays.cpp).
  void find_relays();
  // Gives devices whose NICs are dead, or cannot be reached, others of their nodes (spare_nics.cpp).
  void take_spare_nics(const std::function<bool(LinkId)>& is_dead);
  void stage(std::uint32_t nic, std::vector<LinkId>& out) const;
  // Appends the way between two devices of a node, if they are two.
  void pass_node(std::uint32_t from, std::uint32_t to, const Endpoints& ends, std::vector<LinkId>& out) const;
  void route(DeviceId from, DeviceId to, std::vector<LinkId>& out) const;
  bool share_switches(std::span<const DeviceId> group) const;
  LinkEnds ends(LinkId link) const;
  std::string vertex_name(VertexId vertex) const;
  // Passing rule, as in ComposedLayout: NICs pass traffic of other nodes, devices pass traffic between devices.
  bool passes(LinkId in, LinkId out) const;
  Endpoints outer_ends(const Endpoints& ends) const;
  void pass_hosts(const Endpoints& ends, std::vector<LinkId>& way) const;
  const Routing& routing() const { return scale_out.parameters.routing; }
  // The node that a link is in, or that one of its ends is at; nothing of a link between switches.
  std::optional<std::uint32_t> node_of(LinkId link) const;
  bool is_nic(VertexId vertex) const {
    return index_of(vertex) >= first_nic && index_of(vertex) - first_nic < devices / devices_per_node * nics_per_node;
  }
};

using FabricLayout = std::variant<ComposedLayout, ClusterLayout>;

struct Link {
  Bandwidth bandwidth{1};  // what messages get: the nominal one times the efficiency
  Duration latency{};
  std::uint16_t link_class = 0;  // into Fabric::link_classes()
  Bandwidth nominal{1};
  Efficiency efficiency = kFullEfficiency;
  std::uint32_t course = kSteady;  // into Fabric's courses: how `bandwidth` changes over time

  static constexpr std::uint32_t kSteady = UINT32_MAX;
  bool is_steady() const { return course == kSteady; }

  bool operator==(const Link&) const = default;
};

// A dimension of the device numbering. Device d has coordinate d / (product of the sizes before) % size.
struct LogicalDimension {
  std::string name;
  std::string topology;  // a name of topologies()
  std::uint32_t size = 1;
  std::vector<GridAxis> axes{};  // of a ring, a torus or a mesh, whose sizes multiply to `size`; of others none
};

// Parts that make up a fabric. Built by compose() and build_cluster().
struct FabricParts {
  std::uint32_t devices = 0;
  std::uint32_t vertices = 0;  // devices first
  std::vector<LogicalDimension> dimensions;
  std::vector<std::string> link_classes;
  std::vector<std::string> link_keys;       // by class: the key of the configuration that sets the bandwidth, or ""
  std::vector<Link> link_kinds;             // distinct links
  std::vector<std::uint32_t> kind_of_link;  // by LinkId
  FabricLayout layout;
  InterconnectKind interconnect{};
  std::vector<std::uint32_t> first_devices{};     // of each type of nodes; empty: there is one
  std::vector<InterconnectKind> interconnects{};  // likewise
};

// Price of each vertex or link of a kind, in any currency.
struct KindPrice {
  std::string kind;  // as FabricSummary has it, or a class of links
  double each = 0;
};

class Fabric {
 public:
  explicit Fabric(FabricParts parts);

  std::uint32_t device_count() const { return parts_.devices; }
  std::uint32_t vertex_count() const { return parts_.vertices; }
  std::uint32_t link_count() const { return static_cast<std::uint32_t>(parts_.kind_of_link.size()); }

  const Link& link(LinkId link) const { return parts_.link_kinds[parts_.kind_of_link[index_of(link)]]; }
  // The distinct links.
  std::span<const Link> link_kinds() const { return parts_.link_kinds; }
  // Links of one kind are equal as Link.
  std::uint32_t kind_of(LinkId link) const { return parts_.kind_of_link[index_of(link)]; }
  // Gives one link another bandwidth than its like have: a flaky cable, a throttled NIC.
  void set_bandwidth(LinkId link, Bandwidth bandwidth);
  void set_latency(LinkId link, Duration latency);
  // Lets the bandwidth of a link change over time, also otherwise than by the courses that were added before.
  void add_course(LinkId link, const LinkCourse& course);
  // True if no link's bandwidth changes over time.
  bool is_steady() const { return courses_.empty(); }
  // Bandwidth of a link at a time, and the next time at which it may change; Time::max(): never.
  Bandwidth bandwidth_at(LinkId link, Time time) const;
  Time next_change(LinkId link, Time time) const;
  LinkEnds ends(LinkId link) const;
  // True if neither end of the link is a device or a NIC.
  bool joins_switches(LinkId link) const;
  // "node3.gpu0", "node3.nic1", "leaf2".
  std::string vertex_name(VertexId vertex) const;
  // Names by Link::link_class: "nvlink.up", "nic.down", "dim0.up".
  std::span<const std::string> link_classes() const { return parts_.link_classes; }
  // Keys by Link::link_class: the key of the configuration that sets the bandwidth of the links, "" where none is
  // known.
  std::span<const std::string> link_keys() const { return parts_.link_keys; }

  // Types of nodes are numbered in the order of their devices.
  std::uint32_t type_count() const;
  std::uint32_t type_of(DeviceId device) const;
  std::vector<std::uint32_t> devices_of_types() const;  // how many, by type

  // The first varies fastest; the product of the sizes is device_count().
  std::span<const LogicalDimension> dimensions() const { return parts_.dimensions; }

  // True for a fabric of nodes, several of which the last dimension joins; false for one given as `dims`.
  bool is_of_nodes() const { return std::holds_alternative<ClusterLayout>(parts_.layout); }

  // For people: no time depends on them.
  void set_prices(std::vector<KindPrice> prices) { prices_ = std::move(prices); }
  std::span<const KindPrice> prices() const { return prices_; }

  // Interconnects of a real cluster, from its configuration; unknown for a fabric of `dims`.
  const InterconnectKind& interconnect() const { return parts_.interconnect; }
  // Interconnects of one type of nodes; those of the cluster are what all types have in common.
  const InterconnectKind& interconnect(std::uint32_t type) const {
    return parts_.interconnects.empty() ? parts_.interconnect : parts_.interconnects[type];
  }

  // Takes links away: what crossed them goes the fewest other links that are left; what crossed a NIC that is dead, by
  // another NIC of the node.
  void remove_links(std::span<const LinkId> links);

  // NICs of its node by which a device sends to and receives from other nodes; `own`: as when nothing is dead.
  struct NicUse {
    std::uint32_t out = 0;
    std::uint32_t in = 0;
    bool own = true;
  };
  // True if some device uses a NIC other than its own, or reaches its own over another device.
  bool uses_spare_nics() const;
  // True if the processors of the hosts move what goes between nodes, for each device by threads of its own (TCP).
  bool has_stack() const;
  // NICs of one device; only for a fabric of several nodes.
  NicUse nics_of(DeviceId device) const;

  // Replaces `out` by the links from one device to another, in the order of travel; none if they are the same.
  // Throws InputError where no way is left between two.
  void route(DeviceId from, DeviceId to, std::vector<LinkId>& out) const;

  // Lets devices hand what goes to another rail to a device of their node that is on the receiver's, where a link or
  // a switch of devices alone joins the two and their own way to its NIC is longer (NCCL's PXN). Nothing to do where
  // they do so already, since no other way leads from rail to rail.
  void relay_between_rails();
  // True if some device relays messages to another rail.
  bool relays_between_rails() const;
  // Two devices of different rails that no way joins in a network without one between rails; nothing: there are none.
  std::optional<Endpoints> apart() const;

  // Position of a group's devices up to the numbers of nodes and switches: groups of equal congruence have the same
  // routes, link for link, each device for its counterpart. Nothing where that cannot be said in short.
  std::optional<std::vector<std::uint32_t>> congruence(std::span<const DeviceId> devices) const;

  // True if one switch joins the nodes, every link is at one node, and swapping two nodes with all their links leaves
  // every route as it is.
  bool has_nodes_alike() const;
  struct AtNode {
    std::uint32_t node = 0;
    std::uint32_t stride = 0;  // the same link of the next node is so much further
  };
  // Node and place of a link; only for a fabric that has_nodes_alike().
  AtNode at_node(LinkId link) const;

  // True if the same switches join all of these devices, so that a route between two of them is a way out that depends
  // on the first and a way in that depends on the second alone. True only where that is known without looking at all
  // routes.
  bool share_switches(std::span<const DeviceId> devices) const;

  // Memory held per link and vertex: it grows with link_count() only.
  std::size_t memory_bytes() const;

 private:
  void set(LinkId link, const Link& kind);
  void go_round(DeviceId from, DeviceId to, std::vector<LinkId>& out) const;

  FabricParts parts_;
  std::vector<LinkCourse> courses_;  // distinct ones
  std::vector<KindPrice> prices_;
  std::vector<LinkId> dead_;
  std::shared_ptr<const Detours> detours_;  // null: no link is dead
  bool has_odd_links_ = false;              // links that are not as their like
};

// The sum over the links of the route, at most Duration::max().
Duration route_latency(const Fabric& fabric, DeviceId from, DeviceId to);

// "nvlink" of "nvlink.up": traffic goes both ways alike in most collectives, so which of the two is named means
// nothing.
std::string without_direction(std::string_view link_class);

// Devices of one node differ in the fabric's first dimension only.
inline std::uint32_t node_of(const Fabric& fabric, DeviceId device) {
  return index_of(device) / fabric.dimensions().front().size;
}

}  // namespace orrery::network
