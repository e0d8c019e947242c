// SPDX-License-Identifier: MIT
// Kinds of links and of networks: a link is as fast however a machine is described, and software of the host costs what
// its network says.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/machine_kind.h"
#include "network/fabric/link_type.h"
#include "tests/network/config/read_cluster_text.h"
#include "tests/network/fabric_ways.h"

using namespace orrery;
using namespace orrery::network;

namespace {

const ConfigFiles kShipped(std::filesystem::path(ORRERY_SOURCE_DIR) / "configs");

// Two nodes of two GPUs, a NIC of 100 Gb/s for each.
std::string two_nodes(const std::string& scale_out, const std::string& nics = "") {
  return "cluster: {node: {device: {name: x}, devices: 2,"
         " fabric: {topology: switch, bandwidth: 300 GB/s, latency: 700 ns},"
         " nics: {count: 2, bandwidth: 100 Gb/s, host_link: pcie-4, host_latency: 500 ns" +
         nics + "}}, scale_out: {topology: switch, latency: 1 us" + scale_out + "}}\nnodes: 2\n";
}

std::vector<std::string> classes(const Fabric& fabric, std::uint32_t from, std::uint32_t to) {
  std::vector<LinkId> route;
  fabric.route(DeviceId(from), DeviceId(to), route);
  std::vector<std::string> names;
  for (const LinkId link : route) names.push_back(fabric.link_classes()[fabric.link(link).link_class]);
  return names;
}

NetworkSpec shipped_network(const std::string& name) {
  Diagnostics diagnostics;
  ConfigValue root = kShipped.load(kShipped.shipped() / "networks" / (name + ".yaml"), {}, diagnostics);
  ConfigContext context(kShipped, diagnostics);
  NetworkSpec network;
  read_config(root, context, [&](Section& section) { network = read_network(section); });
  CHECK(diagnostics.problems().empty());
  return network;
}

}  // namespace

TEST_CASE("a link gives messages the same share of its bandwidth however the node is described") {
  // 12 NVLinks of 25 GB/s, of which messages get 80 %.
  const std::filesystem::path matrix = std::filesystem::path(ORRERY_BINARY_DIR) / "link_kinds_matrix.txt";
  std::ofstream(matrix) << "\tGPU0\tGPU1\nGPU0\t X \tNV12\nGPU1\tNV12\t X \n";
  const std::string two = "cluster: {node: {device: {name: x, nvlink: nvlink-3, pcie: pcie-4}, devices: 2, ";
  for (const std::string& text : {
           two + "fabric: {topology: switch, link: nvlink-3, bandwidth: 300 GB/s, latency: 700 ns}}}\n",
           two + "links: [{from: gpu0, to: gpu1, link: nvlink-3, count: 12, latency: 700 ns}]}}\n",
           two + "topology_matrix: " + matrix.string() + "}}\n",
           two + "topology_matrix: " + matrix.string() + ", capacities: {nvlink: 25 GB/s, pcie: 31.5 GB/s}}}\n",
           std::string("cluster: {device: {name: x}, dims: [{topology: switch, size: 2, link: nvlink-3,"
                       " bandwidth: 300 GB/s, latency: 700 ns}]}\n"),
       }) {
    INFO(text);
    CHECK(way(fabric_of(text), 0, 1).narrowest == gb(240));
  }
}

TEST_CASE("figures beside a kind of link win, and a kind alone says both") {
  const auto narrowest = [](const std::string& link) {
    return way(fabric_of("cluster: {device: {name: x}, dims: [{topology: switch, size: 2, latency: 0 ns, " + link +
                         "}]}\n"),
               0, 1)
        .narrowest;
  };
  CHECK(narrowest("link: pcie-5") == Bandwidth(47'999'700'000));
  CHECK(narrowest("link: pcie-5, efficiency: 100 %") == gb(63));
  CHECK(narrowest("link: pcie-5, bandwidth: 10 GB/s") == Bandwidth(7'619'000'000));
  CHECK(narrowest("link: {bandwidth: 10 GB/s, efficiency: 50 %}") == gb(5));
  CHECK(read_cluster_text("cluster: {device: {name: x}, dims: [{topology: switch, size: 2, latency: 0 ns}]}\n")
            .errors.find("bandwidth") != std::string::npos);
  CHECK(read_cluster_text(
            "cluster: {device: {name: x}, dims: [{topology: switch, size: 2, latency: 0 ns, link: nvlink}]}\n")
            .errors.find("no 'nvlink' among the shipped links") != std::string::npos);
}

TEST_CASE("a port of a switch has all NVLinks of its device, and one alone is not taken for it") {
  const auto node = [](const std::string& device, const std::string& fabric) {
    return "cluster: {node: {device: {name: x" + device + "}, devices: 2, fabric: {" + fabric + ", latency: 1 us}}}\n";
  };
  const std::string twelve = ", nvlink: nvlink-3, nvlink_count: 12";
  const std::string port = "topology: switch, link: nvlink-3";
  const auto narrowest = [](const std::string& text) { return way(fabric_of(text), 0, 1).narrowest; };
  CHECK(narrowest(node(twelve, port)) == gb(240));                            // 80 % of 12 x 25 GB/s
  CHECK(narrowest(node(twelve, port + ", bandwidth: 200 GB/s")) == gb(160));  // of what is written
  CHECK(narrowest("cluster: {device: {name: x" + twelve + "}, dims: [{" + port + ", size: 2, latency: 1 us}]}\n") ==
        gb(240));
  CHECK(narrowest(node("", "topology: switch, link: pcie-4")) == Bandwidth(23'999'850'000));  // a device has one slot
  CHECK(read_cluster_text(node(twelve, "topology: fully-connected, link: nvlink-3"))
            .errors.find("of all links between two devices") != std::string::npos);
  // Without their number, or of another kind than the device's.
  for (const char* device : {"", ", nvlink: nvlink-3", ", nvlink: nvlink-5, nvlink_count: 18"}) {
    const std::string errors = read_cluster_text(node(device, port)).errors;
    INFO(errors);
    CHECK(errors.find("`link` is one link of 25 GB/s, and a device has several") != std::string::npos);
    CHECK(errors.find("write `bandwidth`") != std::string::npos);
    CHECK(errors.find("required") == std::string::npos);  // one mistake is one error
    CHECK(narrowest(node(device, port + ", bandwidth: 300 GB/s")) == gb(240));
  }
}

TEST_CASE("a matrix without capacities needs a device that says what its PCIe is") {
  const std::filesystem::path matrix = std::filesystem::path(ORRERY_BINARY_DIR) / "link_kinds_pcie.txt";
  std::ofstream(matrix) << "\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n";
  const auto node = [&](const std::string& device) {
    return "cluster: {node: {device: {name: x" + device + "}, devices: 2, topology_matrix: " + matrix.string() + "}}\n";
  };
  CHECK(way(fabric_of(node(", pcie: pcie-4")), 0, 1).narrowest == Bandwidth(23'999'850'000));
  CHECK(read_cluster_text(node("")).errors.find("'topology_matrix' without 'capacities'") != std::string::npos);
}

TEST_CASE("over TCP a message passes the stack of both hosts, whose threads bound it") {
  const Fabric rdma = fabric_of(two_nodes(", network: infiniband"));
  const Fabric tcp = fabric_of(two_nodes(", network: ethernet"));
  CHECK(classes(rdma, 0, 2) == std::vector<std::string>{"pcie.up", "nic.up", "nic.down", "pcie.down"});
  CHECK(classes(tcp, 0, 2) ==
        std::vector<std::string>{"stack.up", "pcie.up", "nic.up", "nic.down", "pcie.down", "stack.down"});
  CHECK(classes(tcp, 0, 1) == classes(rdma, 0, 1));
  CHECK(way(rdma, 0, 2).narrowest == Bandwidth(12'500'000'000));
  CHECK(way(tcp, 0, 2).narrowest == gb(2));  // one thread
  // 8 us at either end, whatever the links take.
  CHECK(way(tcp, 0, 2).latency - way(rdma, 0, 2).latency == Duration(16'000'000));
  const auto threads = [](int count) {
    const std::string setting = "cluster.scale_out.network.stack.threads=" + std::to_string(count);
    const ReadCluster read = read_cluster_text(two_nodes(", network: ethernet"), {setting});
    INFO(read.errors);
    REQUIRE(read.fabric.has_value());
    return way(*read.fabric, 0, 2).narrowest;
  };
  CHECK(threads(4) == gb(8));
  CHECK(threads(8) == Bandwidth(12'125'000'000));  // 97 % of the NIC
  CHECK(tcp.link_count() == rdma.link_count() + 2 * 4);
}

TEST_CASE("NICs that are in the node's graph have the same stack before them") {
  const std::string links =
      "links: [{from: gpu0, to: cpu0, link: pcie-4, latency: 250 ns}, {from: gpu1, to: cpu0, link: pcie-4, latency: "
      "250 ns},"
      " {from: nic0, to: cpu0, link: pcie-4, latency: 250 ns}]";
  const auto cluster = [&](const std::string& network) {
    return fabric_of("cluster: {node: {device: {name: x}, devices: 2, nics: {count: 1, bandwidth: 100 Gb/s}, " + links +
                     "}, scale_out: {topology: switch, latency: 1 us, network: " + network + "}}\nnodes: 2\n");
  };
  CHECK(way(cluster("ethernet"), 0, 3).narrowest == gb(2));
  CHECK(way(cluster("ethernet"), 0, 3).latency - way(cluster("roce"), 0, 3).latency == Duration(16'000'000));
  CHECK(classes(cluster("ethernet"), 1, 2).front() == "stack.up");
  CHECK(classes(cluster("ethernet"), 1, 2).back() == "stack.down");
}

TEST_CASE("a NIC has the share of its network, unless the node says another") {
  CHECK(way(fabric_of(two_nodes(", network: efa-v1")), 0, 2).narrowest == Bandwidth(10'625'000'000));  // 85 %
  CHECK(way(fabric_of(two_nodes(", network: efa-v1", ", efficiency: 50 %")), 0, 2).narrowest ==
        Bandwidth(6'250'000'000));
  CHECK(way(fabric_of(two_nodes("")), 0, 2).narrowest == Bandwidth(12'500'000'000));
  CHECK(fabric_of(two_nodes(", network: efa-v1")).interconnect().network == NetworkKind::kEfaV1);
  CHECK(fabric_of(two_nodes(", network: {kind: roce, efficiency: 90 %}")).interconnect().network == NetworkKind::kRoce);
}

TEST_CASE("every kind of network is shipped, and what costs the host says so") {
  CHECK(kShipped.names("networks").size() == network_kind_names().size());
  for (const std::string& name : network_kind_names()) {
    INFO(name);
    const NetworkSpec network = shipped_network(name);
    CHECK(name_of(network.kind) == name);
    CHECK(network.stack.has_value() == (name == "ethernet"));
  }
}

TEST_CASE("a stack that no threads move, or too many, is refused") {
  const auto errors = [](const std::string& stack) {
    return read_cluster_text(two_nodes(", network: {kind: ethernet, stack: {" + stack + "}}")).errors;
  };
  CHECK(errors("thread: 2 GB/s, latency: 8 us") == "");
  CHECK(errors("thread: 2 GB/s, threads: 0, latency: 8 us").find("threads") != std::string::npos);
  CHECK(errors("thread: 2 B/s, latency: 8 us").find("less than a link can have") != std::string::npos);
  CHECK(errors("thread: 2 GB/s").find("latency") != std::string::npos);
  CHECK(
      read_cluster_text(two_nodes(", network: token-ring")).errors.find("no 'token-ring' among the shipped networks") !=
      std::string::npos);
}
