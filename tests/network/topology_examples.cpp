// SPDX-License-Identifier: MIT
#include "tests/network/topology_examples.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>

#include "core/config/config.h"

namespace orrery {
namespace {

const std::map<std::string, std::vector<std::string>>& keys_by_topology() {
  static const std::map<std::string, std::vector<std::string>> keys = {
      {"butterfly",
       {"ports: 2, stages: 1, trunk_latency: 100 ns", "ports: 2, stages: 4, trunk_latency: 100 ns",
        "ports: 3, stages: 3, trunk_latency: 0 ns", "ports: 5, stages: 2, trunk_latency: 7 ns"}},
      {"dragonfly",
       {"router_ports: 2, group_routers: 3, local_bandwidth: 3 GB/s, global_bandwidth: 5 GB/s, local_latency: 11 ns, "
        "global_latency: 101 ns",
        "router_ports: 1, group_routers: 1, local_bandwidth: 3 GB/s, global_bandwidth: 5 GB/s, local_latency: 11 ns, "
        "global_latency: 101 ns",
        "router_ports: 2, group_routers: 2, local_bandwidth: 3 GB/s, global_bandwidth: 5 GB/s, local_latency: 11 ns, "
        "global_latency: 101 ns, global_links: 3",
        "router_ports: 4, group_routers: 2, local_bandwidth: 3 GB/s, global_bandwidth: 5 GB/s, local_latency: 0 ns, "
        "global_latency: 0 ns"}},
      {"edge-list",
       {"links: [{from: gpu0, to: gpu1, bandwidth: 25 GB/s, latency: 1 ns}]",
        "links: [{from: gpu0, to: hub, bandwidth: 1 GB/s, latency: 1 ns}, {from: gpu1, to: hub, bandwidth: 2 GB/s, "
        "latency: 1 ns}, {from: gpu2, to: hub, bandwidth: 2 GB/s, latency: 1 ns}]",
        "links: [{from: gpu0, to: a, bandwidth: 5 GB/s, latency: 1 ns}, {from: gpu1, to: b, bandwidth: 5 GB/s, "
        "latency: 1 ns}, {from: a, to: s0, bandwidth: 1 GB/s, latency: 1 ns, count: 3}, {from: a, to: s1, bandwidth: 3 "
        "GB/s, latency: 1 ns}, {from: a, to: s2, bandwidth: 2 GB/s, latency: 1 ns}, {from: b, to: s0, bandwidth: 3 "
        "GB/s, latency: 1 ns}, {from: b, to: s1, bandwidth: 1 GB/s, latency: 1 ns, count: 3}, {from: b, to: s2, "
        "bandwidth: 3 GB/s, latency: 1 ns}]"}},
      {"fat-tree",
       {"leaf_ports: 4, trunk_latency: 300 ns", "leaf_ports: 1, trunk_latency: 0 ns",
        "leaf_ports: 3, oversubscription: 2, trunk_latency: 300 ns",
        "leaf_ports: 2, pod_leaves: 2, core_oversubscription: 1.5, trunk_latency: 300 ns",
        "leaf_ports: 3, uplinks: 5, pod_leaves: 2, core_uplinks: 3, trunk_latency: 300 ns"}},
      {"flattened-butterfly",
       {"router_ports: 2, sizes: [4], router_bandwidth: 3 GB/s, trunk_latency: 50 ns",
        "router_ports: 1, sizes: [3, 4], router_bandwidth: 3 GB/s, trunk_latency: 50 ns",
        "router_ports: 3, sizes: [1], router_bandwidth: 3 GB/s, trunk_latency: 50 ns",
        "router_ports: 2, sizes: [2, 1, 3, 2], router_bandwidth: 3 GB/s, trunk_latency: 0 ns"}},
      {"hypercube", {"axes: 0", "axes: 1", "axes: 3", "axes: 6"}},
      {"mesh", {"sizes: [1]", "sizes: [2]", "sizes: [5]", "sizes: [3, 4]", "sizes: [2, 3, 4]", "sizes: [1, 4, 1, 2]"}},
      {"rail-optimised",
       {"leaf_ports: 4, trunk_latency: 300 ns, rails: 1",
        "leaf_ports: 2, oversubscription: 2, trunk_latency: 300 ns, rails: 4",
        "leaf_ports: 2, pod_leaves: 4, trunk_latency: 300 ns, rails: 3"}},
      {"torus",
       {"sizes: [1]", "sizes: [2]", "sizes: [3]", "sizes: [6]", "sizes: [4, 4]", "sizes: [2, 5]", "sizes: [3, 4, 5]",
        "sizes: [4, 1, 2, 3]"}},
  };
  return keys;
}

}  // namespace

network::TopologyParameters topology_example(const network::Topology& topology, const std::string& keys,
                                             std::uint32_t size, network::MemberKind members) {
  REQUIRE(topology.read != nullptr);
  Diagnostics diagnostics;
  const ConfigFiles files(std::filesystem::path(ORRERY_SOURCE_DIR) / "configs");
  ConfigContext context(files, diagnostics);
  ConfigValue root = parse_config("{" + keys + "}", "x.yaml", diagnostics);
  network::TopologyParameters parameters;
  read_config(root, context, [&](Section& section) { topology.read(section, {members}, parameters.own); });
  for (const Problem& problem : diagnostics.problems()) FAIL(to_string(problem));
  parameters.size = size == 0 ? parameters.own.size : size;
  return parameters;
}

std::vector<network::TopologyParameters> topology_examples(const network::Topology& topology, Bandwidth bandwidth,
                                                           Duration latency) {
  std::vector<network::TopologyParameters> examples;
  const auto add_sizes = [&](network::TopologyParameters parameters) {
    for (std::uint32_t nodes = 1; nodes <= 17; ++nodes) {
      parameters.size = nodes * parameters.own.rails;
      examples.push_back(parameters);
    }
  };
  if (topology.read == nullptr) {
    add_sizes({});
  } else {
    INFO(topology.name);
    REQUIRE(keys_by_topology().contains(std::string(topology.name)));
    for (const std::string& keys : keys_by_topology().at(std::string(topology.name))) {
      const network::TopologyParameters example = topology_example(topology, keys, 0);
      if (example.own.size == 0)
        add_sizes(example);
      else
        examples.push_back(example);
    }
  }
  for (network::TopologyParameters& example : examples) {
    example.bandwidth = bandwidth;
    example.latency = latency;
  }
  return examples;
}

std::vector<std::uint32_t> route(const network::Topology& topology, const network::TopologyParameters& p,
                                 std::uint32_t from, std::uint32_t to) {
  std::vector<LinkId> links;
  network::RouteBuilder builder{1000, links, {from, to}};  // links of the instance count from 1000
  topology.shape->route(p, from, to, builder);
  std::vector<std::uint32_t> local;
  for (const LinkId link : links) local.push_back(index_of(link) - 1000);
  return local;
}

}  // namespace orrery
