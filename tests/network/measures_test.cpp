// SPDX-License-Identifier: MIT
#include "network/fabric/measures.h"

#include <catch2/catch.hpp>

#include "tests/network/config/read_cluster_text.h"

using namespace orrery;
using namespace orrery::network;

namespace {

Fabric fabric_of(const std::string& dims) {
  const ReadCluster read = read_cluster_text("cluster: {device: a40, dims: [" + dims + "]}\n");
  INFO(read.errors);
  REQUIRE(read.fabric);
  return *read.fabric;
}

std::int64_t bisection(const std::string& dims) { return bisection_of(fabric_of(dims))->count() / 1'000'000'000; }

std::pair<std::size_t, std::int64_t> diameter(const std::string& dims) {
  const Diameter found = *diameter_of(fabric_of(dims));
  return {found.links, found.latency / Duration(1'000)};
}

const std::string kEach = "bandwidth: 10 GB/s, latency: 100 ns}";

}  // namespace

TEST_CASE("bisections are those of the textbook") {
  CHECK(bisection("{topology: switch, size: 8, " + kEach) == 40);
  CHECK(bisection("{topology: switch, size: 7, " + kEach) == 30);
  CHECK(bisection("{topology: ring, size: 8, " + kEach) == 20);
  CHECK(bisection("{topology: ring, size: 2, " + kEach) == 10);
  CHECK(bisection("{topology: fully-connected, size: 8, " + kEach) == 160);
  CHECK(bisection("{topology: mesh, sizes: [4, 4], " + kEach) == 40);
  CHECK(bisection("{topology: torus, sizes: [4, 4, 4], " + kEach) == 320);
  CHECK(bisection("{topology: torus, sizes: [8, 4], " + kEach) ==
        80);  // across the long axis: 4 lines, both ways round
  CHECK(bisection("{topology: hypercube, axes: 4, " + kEach) == 80);
  CHECK(bisection("{topology: butterfly, ports: 2, stages: 3, trunk_latency: 50 ns, " + kEach) == 40);
  CHECK(bisection("{topology: fat-tree, size: 16, leaf_ports: 4, oversubscription: 2, trunk_latency: 50 ns, " +
                  kEach) == 40);
  CHECK(bisection("{topology: flattened-butterfly, router_ports: 2, sizes: [4], router_bandwidth: 10 GB/s, "
                  "trunk_latency: 50 ns, " +
                  kEach) == 40);
  CHECK(bisection("{topology: flattened-butterfly, router_ports: 2, sizes: [4], router_bandwidth: 5 GB/s, "
                  "trunk_latency: 50 ns, " +
                  kEach) == 20);
  CHECK(bisection("{topology: switch, size: 8, " + kEach + ", {topology: ring, size: 4, " + kEach) == 160);
  // Four rings of 4, cut across: what the second dimension is called makes no difference.
  for (const std::string name : {"pods", "nodes"})
    CHECK(bisection("{topology: ring, size: 4, " + kEach + ", {name: " + name +
                    ", topology: fully-connected, size: 4, " + kEach) == 80);
}

TEST_CASE("diameters are those of the textbook") {
  using Pair = std::pair<std::size_t, std::int64_t>;
  CHECK(diameter("{topology: switch, size: 8, " + kEach) == Pair{2, 100});
  CHECK(diameter("{topology: ring, size: 9, " + kEach) == Pair{4, 400});
  CHECK(diameter("{topology: torus, sizes: [4, 4, 4], " + kEach) == Pair{6, 600});
  CHECK(diameter("{topology: mesh, sizes: [4, 4], " + kEach) == Pair{6, 600});
  CHECK(diameter("{topology: hypercube, axes: 5, " + kEach) == Pair{5, 500});
  CHECK(diameter("{topology: butterfly, ports: 2, stages: 3, trunk_latency: 50 ns, " + kEach) == Pair{4, 200});
  CHECK(diameter("{topology: flattened-butterfly, router_ports: 2, sizes: [4, 4], router_bandwidth: 10 GB/s, "
                 "trunk_latency: 50 ns, " +
                 kEach) == Pair{4, 200});
  CHECK(!diameter_of(fabric_of("{topology: ring, size: 9, " + kEach), 8));
}

TEST_CASE("prices are of kinds of vertices and classes of links, and of nothing else") {
  const std::string cluster =
      "cluster: {device: a40, prices: {gpu: {each: 100}, dim0.up: {each: 2.5}, switch: {each: 30, source: x}}, dims: "
      "[{topology: switch, size: 8, bandwidth: 1 GB/s, latency: 1 us}]}";
  const ReadCluster read = read_cluster_text(cluster);
  INFO(read.errors);
  REQUIRE(read.fabric);
  double sum = 0;
  for (const KindCost& cost : costs_of(*read.fabric)) sum += static_cast<double>(cost.count) * cost.each;
  CHECK(sum == 8 * 100 + 8 * 2.5 + 30);
  CHECK(
      read_cluster_text("cluster: {device: a40, prices: {leaf: {each: 1}}, dims: [{topology: ring, size: 8, bandwidth: "
                        "1 GB/s, latency: 1 us}]}")
          .errors.find("cluster.prices.leaf: the cluster has no vertices or links of this kind") != std::string::npos);
}

TEST_CASE("nodes are cut between each other, and what hosts move limits that") {
  const std::string node =
      "cluster: {node: {device: a40, devices: 4, fabric: {topology: switch, bandwidth: 1 GB/s, "
      "latency: 1 us}, nics: {count: 2, bandwidth: 5 GB/s, host_bandwidth: 4 GB/s, host_latency: "
      "1 us, gpu_direct: ";
  const auto bisection = [&](const std::string& direct, const std::string& network) {
    const ReadCluster read = read_cluster_text(
        node + direct + "}}, nodes: 4, scale_out: {topology: switch, latency: 1 us" + network + "}}\n");
    INFO(read.errors);
    REQUIRE(read.fabric);
    return bisection_of(*read.fabric)->count() / 1'000'000;
  };
  CHECK(bisection("true", "") == 20'000);  // four NICs in a half
  CHECK(bisection("false", "") == 16'000);
  CHECK(bisection("true", ", network: {kind: ethernet, stack: {thread: 2 GB/s, latency: 1 us}}") == 16'000);
}
