// The fabric: devices, switches and NICs joined by directed links, the logical dimensions that collectives run along,
// and the route between any two devices. Routes are computed from the layout, never searched; memory is 4 bytes a link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/machine_kind.h"
#include "core/units.h"
#include "network/fabric/layout.h"

namespace orrery {

struct Link {
  Bandwidth bandwidth{1};  // what messages get: the nominal one times the efficiency
  Duration latency{};
  std::uint16_t link_class = 0;  // into Fabric::link_classes()
  Bandwidth nominal{1};
  Efficiency efficiency = kFullEfficiency;

  bool operator==(const Link&) const = default;
};

// A dimension of the device numbering. Device d has coordinate d / (product of the sizes before) % size.
struct LogicalDimension {
  std::string name;
  std::string topology;  // a name of topologies()
  std::uint32_t size = 1;
  std::vector<GridAxis> axes{};  // of a ring, a torus or a mesh, whose sizes multiply to `size`; of others none
};

// What a fabric is made of. Built by compose() and build_cluster().
struct FabricParts {
  std::uint32_t devices = 0;
  std::uint32_t vertices = 0;  // devices first
  std::vector<LogicalDimension> dimensions;
  std::vector<std::string> link_classes;
  std::vector<Link> link_kinds;             // distinct links
  std::vector<std::uint32_t> kind_of_link;  // by LinkId
  FabricLayout layout;
  InterconnectKind interconnect{};
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
  LinkEnds ends(LinkId link) const;
  // "node3.gpu0", "node3.nic1", "leaf2".
  std::string vertex_name(VertexId vertex) const;
  // Names by Link::link_class: "nvlink.up", "nic.down", "dim0.up".
  std::span<const std::string> link_classes() const { return parts_.link_classes; }

  // The first varies fastest; the product of the sizes is device_count().
  std::span<const LogicalDimension> dimensions() const { return parts_.dimensions; }

  // What the configuration says of a real cluster; nothing is known of dimensions.
  const InterconnectKind& interconnect() const { return parts_.interconnect; }

  // Replaces `out` by the links from one device to another, in the order of travel; none if they are the same.
  void route(DeviceId from, DeviceId to, std::vector<LinkId>& out) const;

  // Memory held per link and vertex: it grows with link_count() only.
  std::size_t memory_bytes() const;

 private:
  void set(LinkId link, const Link& kind);

  FabricParts parts_;
};

}  // namespace orrery
