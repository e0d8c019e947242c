// SPDX-License-Identifier: MIT
// Dragonfly: members on routers, the routers of a group fully connected, and every two groups joined by `global_links`
// parallel links between the same two routers: one trunk, or under another routing than spray links to choose from.
// Messages take the direct way: to the router of their group that has the link to the other group, across, and to the
// router of the receiver; never through a third group.
#include <array>

#include <fmt/format.h>

#include "core/config/config.h"
#include "network/fabric/link_type.h"
#include "network/fabric/topology.h"
#include "network/fabric/topology_config.h"
#include "network/topologies/member_link.h"

namespace orrery::network {
namespace {

constexpr std::array<std::string_view, 4> kClasses = {"up", "down", "local", "global"};

struct Groups {
  explicit Groups(const TopologyParameters& parameters)
      : p(parameters),
        own(p.own.groups),
        ports(own.router_ports),
        routers(own.group_routers),
        count((p.size + ports * routers - 1) / (ports * routers)),
        parallel(p.routing.enumerates() ? own.global_links : 1) {}

  // Each router's links to its routers - 1 peers stand together, itself left out; so do each group's to the others.
  static std::uint32_t skipping(std::uint32_t self, std::uint32_t other) { return other < self ? other : other - 1; }
  static std::uint32_t unskipped(std::uint32_t self, std::uint32_t peer) { return peer < self ? peer : peer + 1; }

  std::uint32_t first_local() const { return 2 * p.size; }
  std::uint32_t first_global() const { return first_local() + count * routers * (routers - 1); }
  // `from` and `to` within the group.
  std::uint32_t local(std::uint32_t group, std::uint32_t from, std::uint32_t to) const {
    return first_local() + (group * routers + from) * (routers - 1) + skipping(from, to);
  }
  std::uint32_t global(std::uint32_t from, std::uint32_t to, std::uint32_t which) const {
    return first_global() + (from * (count - 1) + skipping(from, to)) * parallel + which;
  }
  // Router of a group that has the link to the other group; the routers take turns.
  std::uint32_t gateway(std::uint32_t group, std::uint32_t other) const { return skipping(group, other) % routers; }

  const TopologyParameters& p;
  const RouterGroups& own;
  std::uint32_t ports;
  std::uint32_t routers;  // of a group
  std::uint32_t count;
  std::uint32_t parallel;  // links between two groups
};

std::uint32_t switches(const TopologyParameters& p) {
  const Groups groups(p);
  return groups.count * groups.routers;
}

std::uint64_t links(const TopologyParameters& p) {
  const Groups groups(p);
  const std::uint64_t routers = groups.routers;
  const std::uint64_t count = groups.count;
  return 2 * std::uint64_t{p.size} + count * routers * (routers - 1) + count * (count - 1) * groups.parallel;
}

TopologyLink local_link(const Groups& groups, std::uint32_t offset) {
  const std::uint32_t router = offset / (groups.routers - 1);
  const std::uint32_t first = router / groups.routers * groups.routers;
  const std::uint32_t to = first + Groups::unskipped(router - first, offset % (groups.routers - 1));
  return {groups.p.size + router, groups.p.size + to, 2, groups.own.local_bandwidth, groups.own.local_latency};
}

TopologyLink global_link(const Groups& groups, std::uint32_t offset) {
  const std::uint32_t pair = offset / groups.parallel;
  const std::uint32_t from = pair / (groups.count - 1);
  const std::uint32_t to = Groups::unskipped(from, pair % (groups.count - 1));
  return {groups.p.size + from * groups.routers + groups.gateway(from, to),
          groups.p.size + to * groups.routers + groups.gateway(to, from), 3,
          part_of(groups.own.global_bandwidth, groups.parallel), groups.own.global_latency};
}

TopologyLink link(const TopologyParameters& p, std::uint32_t link) {
  const Groups groups(p);
  if (link < 2 * p.size) return member_link(p, link, groups.ports);
  if (link < groups.first_global()) return local_link(groups, link - groups.first_local());
  return global_link(groups, link - groups.first_global());
}

void route(const TopologyParameters& p, std::uint32_t from, std::uint32_t to, RouteBuilder& route) {
  const Groups groups(p);
  std::uint32_t group = from / groups.ports / groups.routers;
  std::uint32_t router = from / groups.ports % groups.routers;
  const std::uint32_t last_group = to / groups.ports / groups.routers;
  const std::uint32_t last_router = to / groups.ports % groups.routers;
  const auto within_group = [&](std::uint32_t next) {
    if (router != next) route.cross(groups.local(group, router, next));
    router = next;
  };
  route.cross(from);
  if (group != last_group) {
    within_group(groups.gateway(group, last_group));
    const std::uint32_t which = p.routing.choices(route.ends, to).take(groups.parallel);
    route.cross(groups.global(group, last_group, which));
    router = groups.gateway(last_group, group);
    group = last_group;
  }
  within_group(last_router);
  route.cross(p.size + to);
}

std::string switch_name(const TopologyParameters& p, std::uint32_t index) {
  const Groups groups(p);
  return fmt::format("group{}.router{}", index / groups.routers, index % groups.routers);
}

std::string problem(const TopologyParameters& p) {
  const Groups groups(p);
  if (groups.count == 1) return {};
  return derived_bandwidth_problem("the links between two groups", groups.own.global_bandwidth.count(),
                                   groups.parallel);
}

}  // namespace

extern constinit const TopologyShape kDragonflyShape{kClasses, switches, links, link, route, switch_name, problem};

void read_dragonfly(Section& section, const Members&, TopologyOwn& own) {
  RouterGroups& groups = own.groups;
  groups.router_ports = read_router_ports(section);
  section.needs("group_routers", groups.group_routers, {1, 4096}, "dragonfly: number of routers in a group");
  groups.local_bandwidth = read_link_bandwidth(section, "local_bandwidth",
                                               "dragonfly: bandwidth between two routers of a group, per direction");
  groups.global_bandwidth = read_link_bandwidth(
      section, "global_bandwidth", "dragonfly: bandwidth between two groups, summed over all links, per direction");
  section.takes("global_links", groups.global_links, {1, 4096},
                "dragonfly: number of parallel links between two groups, among which `network.routing` chooses");
  section.needs("local_latency", groups.local_latency,
                "dragonfly: latency of a link between two routers of a group, including one router");
  section.needs("global_latency", groups.global_latency,
                "dragonfly: latency of a link between two groups, including one router");
}

}  // namespace orrery::network
