// SPDX-License-Identifier: MIT
// Fabrics that cannot be built: each mistake is named where it stands.
#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "tests/network/config/read_cluster_text.h"

using namespace orrery;

TEST_CASE("fabrics that cannot be built are refused where the mistake stands") {
  const auto node = [](const std::string& links, const std::string& more = "") {
    return "cluster: {node: {device: {name: x}, devices: 2" + more + ", links: [" + links + "]}}\n";
  };
  const std::string fine = "{from: gpu0, to: gpu1, bandwidth: 1 GB/s, latency: 0 ns}";
  const std::string nics = ", nics: {count: 1, bandwidth: 1 GB/s}";
  const auto dims = [](const std::string& keys) {
    return "cluster: {device: {name: x}, dims: [{bandwidth: 1 GB/s, latency: 0 ns, " + keys + "}]}\n";
  };
  REQUIRE(read_cluster_text(node(fine)).errors == "");
  const std::pair<std::string, std::string> cases[] = {
      {node(""), "'cluster.node.links' is empty"},
      {node("{from: gpu0, to: hub, bandwidth: 1 GB/s, latency: 0 ns}"), "'hub' leads nowhere"},
      {node("{from: gpu0, to: hub, bandwidth: 1 GB/s, latency: 0 ns}, {from: gpu1, to: hubb, bandwidth: 1 GB/s, "
            "latency: 0 ns}"),
       "did you mean 'hubb'?"},
      {node("{from: gpu0, to: gpu1, directed: true, bandwidth: 1 GB/s, latency: 0 ns}"),
       "no way leads from gpu1 to gpu0\n  hint: links with `directed: true` lead the other way only"},
      {node(fine + ", {from: nic0, to: plx9, bandwidth: 1 GB/s, latency: 0 ns}", nics), "'plx9' leads nowhere"},
      {node(fine, nics), "no way leads from gpu0 to nic0\n  hint: no link names nic0; join it to a switch"},
      {node(fine + ", {from: nic0, to: plx0, bandwidth: 1 GB/s, latency: 0 ns}, {from: plx0, to: plx1, bandwidth: 1 "
                   "GB/s, latency: 0 ns}, {from: plx0, to: plx2, bandwidth: 1 GB/s, latency: 0 ns}, {from: plx1, to: "
                   "plx2, bandwidth: 1 GB/s, latency: 0 ns}",
            nics),
       "no way leads from gpu0 to nic0\n  hint: nothing joins the parts that they are in"},
      {node(fine + ", {from: nic1, to: gpu0, bandwidth: 1 GB/s, latency: 0 ns}", nics),
       "there is no 'nic1'\n  hint: the only one is nic0"},
      {node(fine + ", {from: gpu2, to: gpu0, bandwidth: 1 GB/s, latency: 0 ns}"),
       "there is no 'gpu2'\n  hint: valid devices are gpu0 to gpu1"},
      // A NIC passes nothing on.
      {node("{from: gpu0, to: nic0, bandwidth: 1 GB/s, latency: 0 ns}, {from: gpu1, to: nic0, bandwidth: 1 GB/s, "
            "latency: 0 ns}",
            nics),
       "no way leads from gpu0 to gpu1\n  hint: NICs pass nothing on"},
      {node("{from: gpu0, to: gpu0, bandwidth: 1 GB/s, latency: 0 ns}"), "a link from gpu0 to itself"},
      {node(fine + ", " + fine), "a second link from gpu0 to gpu1\n  hint: parallel links are one with `count`"},
      {node("{from: gpu0, to: gpu1, bandwidth: 0 GB/s, latency: 0 ns}"), "bandwidth"},
      {node("{from: gpu0, to: gpu1, bandwidth: -1 GB/s, latency: 0 ns}"), "bandwidth"},
      {node("{from: gpu0, to: gpu1, bandwidth: 9000000000 GB/s, latency: 0 ns, count: 2}"),
       "make more than can be counted"},
      {node("{from: gpu0, to: \"a b\", bandwidth: 1 GB/s, latency: 0 ns}"), "invalid name 'a b'"},
      {node("{from: gpu0, to: gpu1, bandwidth: 1 GB/s, latency: 0 ns, class: nic}"), "names the links that leave"},
      {node(fine, ", fabric: {topology: switch, bandwidth: 1 GB/s, latency: 0 ns}"),
       "'links' and 'fabric' exclude each other"},
      {node(fine + ", {from: nic0, to: gpu0, bandwidth: 1 GB/s, latency: 0 ns}",
            ", nics: {count: 1, bandwidth: 1 GB/s, of: [0]}"),
       "1 entries for 2 devices"},
      {node(fine + ", {from: nic0, to: gpu0, bandwidth: 1 GB/s, latency: 0 ns}",
            ", nics: {count: 1, bandwidth: 1 GB/s, of: [0, 1]}"),
       "unknown NIC '1'; valid NICs are 0 to 0"},
      {"cluster: {node: {device: {name: x}, devices: 1025, links: [" + fine + "]}}\n", "at most 1024 can be joined"},
      {dims("topology: fat-tree, size: 8, leaf_ports: 4, trunk_latency: 0 ns, oversubscription: 0.5"),
       "oversubscription: 0.5 is out of range; expected 1 to 1000"},
      {dims("topology: fat-tree, size: 8, leaf_ports: 4, trunk_latency: 0 ns, oversubscription: 1001"),
       "oversubscription: 1001 is out of range; expected 1 to 1000"},
      {dims("topology: fat-tree, size: 8, leaf_ports: 0, trunk_latency: 0 ns"), "0 is out of range"},
      {dims("topology: fat-tree, size: 8, trunk_latency: 0 ns"), "'cluster.dims[].leaf_ports' is missing"},
      {dims("topology: rail-optimised, size: 9, rails: 2, leaf_ports: 4, trunk_latency: 0 ns"),
       "9 members do not divide into nodes of 2 rails"},
      {dims("topology: torus, sizes: [4, 0]"), "invalid number of members '0'"},
      {dims("topology: torus, sizes: [4, x]"), "invalid number of members 'x'"},
      {dims("topology: torus, sizes: [2, 2, 2, 2, 2, 2, 2]"), "7 axes; 1 to 6 are possible"},
      {dims("topology: torus, sizes: [65536, 65536]"), "the axes make more than 16777216 members"},
      {dims("topology: torus, size: 4"), "'cluster.dims[].sizes' is missing"},
      {dims("topology: torus, sizes: [], size: 4"), "0 axes; 1 to 6 are possible"},
      {dims("topology: torus, sizes: [4, 4], size: 8"), "8 members, but the torus is written for 16"},
      {dims("topology: ring, size: 4, sizes: [4]"), "unknown key 'sizes'"},
      {dims("topology: fat-tre, size: 4"), "unknown value 'fat-tre'\n  hint: did you mean 'fat-tree'?"},
      {dims("topology: edge-list, links: [{from: a, to: b, bandwidth: 1 GB/s, latency: 0 ns}]"),
       "no link names a member; they are called gpu0, gpu1, ..."},
      {dims("topology: dragonfly, size: 4, router_ports: 2, group_routers: 0, local_bandwidth: 1 GB/s, "
            "global_bandwidth: 1 GB/s, local_latency: 0 ns, global_latency: 0 ns"),
       "0 is out of range"},
  };
  for (const auto& [text, expected] : cases) {
    INFO(text);
    const ReadCluster result = read_cluster_text(text);
    CHECK_FALSE(result.fabric.has_value());
    INFO(result.errors);
    CHECK(result.errors.find(expected) != std::string::npos);
    CHECK(result.errors.starts_with("x.yaml:"));
  }
}

TEST_CASE("a switch may have any name of letters, digits, '-' and '_'") {
  const auto errors = [](const std::string& name) {
    const std::string link = ", to: \"" + name + "\", bandwidth: 1 GB/s, latency: 0 ns}";
    return read_cluster_text("cluster: {node: {device: {name: x}, devices: 2, links: [{from: gpu0" + link +
                             ", {from: gpu1" + link + "]}}\n")
        .errors;
  };
  for (const char* name : {"A", "Z", "a", "z", "0", "9", "-", "_", "Leaf-0_b"}) CHECK(errors(name) == "");
  for (const char* name : {"@", "[", "`", "{", "/", ":"}) {
    INFO(name);
    CHECK(errors(name).find(std::string("invalid name '") + name + "'") != std::string::npos);
  }
}
