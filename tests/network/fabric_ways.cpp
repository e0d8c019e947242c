// SPDX-License-Identifier: MIT
#include "tests/network/fabric_ways.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "tests/network/config/read_cluster_text.h"

namespace orrery {

Way way(const network::Fabric& fabric, std::uint32_t from, std::uint32_t to) {
  std::vector<LinkId> links;
  fabric.route(DeviceId(from), DeviceId(to), links);
  Way way;
  network::VertexId at{from};
  for (const LinkId id : links) {
    REQUIRE(fabric.ends(id).from == at);
    at = fabric.ends(id).to;
    way.through += fabric.vertex_name(at) + " ";
    way.narrowest = std::min(way.narrowest, fabric.link(id).bandwidth);
    way.latency += fabric.link(id).latency;
  }
  REQUIRE(at == network::VertexId(to));
  way.hops = links.size();
  return way;
}

network::Fabric fabric_of(const std::string& text, const network::Routing& routing) {
  ReadCluster read = read_cluster_text(text, {}, routing);
  INFO(text);
  REQUIRE(read.errors == "");
  return std::move(*read.fabric);
}

}  // namespace orrery
