// SPDX-License-Identifier: MIT
// Flattened butterfly (Kim, Dally, Abts: "Flattened butterfly: a cost-efficient topology for high-radix networks", ISCA
// 2007): members on routers, the routers in a grid of which every line is fully connected. Messages go axis by axis,
// the first first, in one hop along each.
#include <array>

#include <fmt/format.h>

#include "core/config/config.h"
#include "network/fabric/link_type.h"
#include "network/fabric/topology.h"
#include "network/fabric/topology_config.h"
#include "network/topologies/member_link.h"

namespace orrery::network {
namespace {

constexpr std::array<std::string_view, 3> kClasses = {"up", "down", "line"};

// The routers' links: each router's stand together, those along the first axis first, itself left out of each line.
struct Routers {
  explicit Routers(const TopologyParameters& p) : ports(p.own.groups.router_ports), sizes(p.own.sizes) {
    for (const std::uint32_t size : sizes) {
      count *= size;
      peers += size - 1;
    }
  }

  std::uint32_t ports;
  const std::vector<std::uint32_t>& sizes;
  std::uint32_t count = 1;
  std::uint32_t peers = 0;  // of a router, on all its lines
};

std::uint32_t switches(const TopologyParameters& p) { return Routers(p).count; }

std::uint64_t links(const TopologyParameters& p) {
  const Routers routers(p);
  return 2 * std::uint64_t{p.size} + std::uint64_t{routers.count} * routers.peers;
}

TopologyLink link(const TopologyParameters& p, std::uint32_t link) {
  const Routers routers(p);
  if (link < 2 * p.size) return member_link(p, link, routers.ports);
  const std::uint32_t router = (link - 2 * p.size) / routers.peers;
  std::uint32_t peer = (link - 2 * p.size) % routers.peers, stride = 1;
  std::size_t axis = 0;
  for (; peer >= routers.sizes[axis] - 1; ++axis) {
    peer -= routers.sizes[axis] - 1;
    stride *= routers.sizes[axis];
  }
  const std::uint32_t here = router / stride % routers.sizes[axis];
  const std::uint32_t there = peer < here ? peer : peer + 1;
  return {p.size + router, p.size + router - here * stride + there * stride, 2, p.own.groups.local_bandwidth,
          p.own.tree.trunk_latency};
}

void route(const TopologyParameters& p, std::uint32_t from, std::uint32_t to, RouteBuilder& route) {
  const Routers routers(p);
  std::uint32_t router = from / routers.ports, stride = 1, first = 0;
  const std::uint32_t last = to / routers.ports;
  route.cross(from);
  for (const std::uint32_t size : routers.sizes) {
    const std::uint32_t here = router / stride % size, there = last / stride % size;
    if (here != there) {
      route.cross(2 * p.size + router * routers.peers + first + (there < here ? there : there - 1));
      router = router - here * stride + there * stride;
    }
    first += size - 1;
    stride *= size;
  }
  route.cross(p.size + to);
}

std::string switch_name(const TopologyParameters& p, std::uint32_t index) {
  std::string name = "router";
  for (const std::uint32_t size : p.own.sizes) {
    name += fmt::format("{}{}", name == "router" ? "" : "-", index % size);
    index /= size;
  }
  return name;
}

}  // namespace

extern constinit const TopologyShape kFlattenedButterflyShape{kClasses, switches, links, link, route, switch_name};

void read_flattened_butterfly(Section& section, const Members&, TopologyOwn& own) {
  own.groups.router_ports = read_router_ports(section);
  read_sizes(section, own);
  own.groups.local_bandwidth = read_link_bandwidth(
      section, "router_bandwidth", "flattened-butterfly: bandwidth between two routers of a line, per direction");
  section.needs("trunk_latency", own.tree.trunk_latency, kTrunkLatencyMeaning);
  if (own.size > kMostDevices / own.groups.router_ports)
    section.error("sizes", fmt::format("the routers have more than {} members", kMostDevices));
  own.size = own.size > kMostDevices / own.groups.router_ports ? 0 : own.size * own.groups.router_ports;
}

}  // namespace orrery::network
