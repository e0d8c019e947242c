// SPDX-License-Identifier: MIT
// Edge list: every link is written out in the configuration, and the routes are found once, when it is read.
#include "core/config/config.h"
#include "network/fabric/topology.h"
#include "network/topologies/graph_config.h"

namespace orrery::network {
namespace {

std::uint32_t switches(const TopologyParameters& p) {
  return p.own.graph.spec().vertex_count() - p.own.graph.spec().members();
}

std::uint64_t links(const TopologyParameters& p) {
  return p.routing.enumerates() ? p.own.graph.single_links() : p.own.graph.spec().links.size();
}

TopologyLink link(const TopologyParameters& p, std::uint32_t link) {
  const bool trunks = !p.routing.enumerates();
  const GraphLink& edge = p.own.graph.spec().links[trunks ? link : p.own.graph.trunk_of(link)];
  return {edge.from,    edge.to,        edge.link_class, trunks ? edge.bandwidth : part_of(edge.bandwidth, edge.count),
          edge.latency, edge.efficiency};
}

void route(const TopologyParameters& p, std::uint32_t from, std::uint32_t to, RouteBuilder& route) {
  const auto cross = [&](std::uint32_t link) { route.cross(link); };
  if (!p.routing.enumerates()) return p.own.graph.route(from, to, cross);
  p.own.graph.route(from, to, p.routing.choices(route.ends, to), cross);
}

// Members that no links join are of different rails: this was checked when the list was read.
bool joins_rails(const TopologyParameters& p) { return !p.own.graph.unreachable(); }

std::string switch_name(const TopologyParameters& p, std::uint32_t index) {
  return p.own.graph.spec().vertices[p.own.graph.spec().members() + index];
}

}  // namespace

extern constinit const TopologyShape kEdgeListShape{.switches = switches,
                                                        .links = links,
                                                        .link = link,
                                                        .route = route,
                                                        .switch_name = switch_name,
                                                        .joins_rails = joins_rails};

void read_edge_list(Section& section, const Members& members, TopologyOwn& own) {
  own.graph = read_graph(section, members);
  own.size = own.graph.spec().members();
}

}  // namespace orrery::network
