// SPDX-License-Identifier: MIT
#include "network/config/cluster.h"

#include <fmt/format.h>
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>
#include <string>

#include "network/fabric/topology.h"
#include "tests/network/config/read_cluster_text.h"

using namespace orrery;
using namespace orrery::network;

namespace {

const ConfigFiles kShipped(std::filesystem::path(ORRERY_SOURCE_DIR) / "configs");

using Read = ReadCluster;

Read read(const std::string& text, const std::vector<std::string>& settings = {}) {
  return read_cluster_text(text, settings);
}

const std::string kNode =
    "{device: {name: x}, devices: 8, fabric: {topology: switch, bandwidth: 300 GB/s, latency: 700 ns},"
    " nics: {count: 8, bandwidth: 200 Gb/s, host_bandwidth: 31.5 GB/s, host_latency: 500 ns}}";
const std::string kCluster = "cluster: {node: " + kNode + ", scale_out: {topology: switch, latency: 600 ns}}\n";

std::string dims(const std::string& list) { return "cluster: {device: {name: x}, dims: [" + list + "]}\n"; }

const std::string kRing4 = "{topology: ring, size: 4, bandwidth: 25 GB/s, latency: 2 us}";

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("every shipped cluster loads, alone and with others, and talks between nodes") {
  const std::vector<std::string> names = kShipped.names("clusters");
  REQUIRE(names.size() == 75);
  for (const std::string& name : names) {
    INFO(name);
    const Read one = read("cluster: " + name + "\n");
    REQUIRE(one.errors == "");
    CHECK(one.fabric->dimensions().size() == 1);
    const Read two = read("cluster: " + name + "\nnodes: 2\n");
    REQUIRE(two.errors == "");
    REQUIRE(two.fabric->device_count() == 2 * one.fabric->device_count());
    CHECK(two.device != "");
    std::vector<LinkId> route;
    two.fabric->route(DeviceId(0), DeviceId(two.fabric->device_count() - 1), route);
    Bandwidth narrowest = Bandwidth::max();
    Duration latency{};
    for (const LinkId link : route) {
      narrowest = std::min(narrowest, two.fabric->link(link).bandwidth);
      latency += two.fabric->link(link).latency;
    }
    // From the slowest link on the way (10 GB/s between sockets, 6 of Frontera's; of Jean Zay a third of 100 Gb/s) to
    // the fastest NICs (3 x 800 Gb/s of a GPU of Helios, 2 x 800 of one of Rubin, 12 x 100 of a wafer, else a host path
    // of 63 GB/s, or ports of 75 GB/s on the chip); from NIC latency alone to messages staged in host memory on both
    // sides.
    CHECK(narrowest >= Bandwidth(name == "jeanzay-a100" || name == "frontera-rtx" ? 4'000'000'000 : 10'000'000'000));
    const std::int64_t fastest = name.starts_with("helios")  ? 300
                                 : name == "rubin-nvl144"    ? 200
                                 : name == "cerebras-swarmx" ? 150
                                                             : 100;
    CHECK(narrowest <= Bandwidth(fastest * 1'000'000'000));
    CHECK(latency >= Duration(1'000'000));
    CHECK(latency <= Duration(25'000'000));
  }
}

TEST_CASE("every shipped node and device is right, and every node is used by a cluster of its name") {
  for (const std::string& name : kShipped.names("nodes")) {
    INFO(name);
    CHECK(read(fmt::format("cluster: {{node: {}}}\n", name)).errors == "");
  }
  // dgx-superpod and dgx-h100-rail-only join DGX H100, cerebras-swarmx CS-2; all others have nodes of their own name.
  std::vector<std::string> used = kShipped.names("clusters");
  std::erase(used, "dgx-superpod");
  std::erase(used, "dgx-h100-rail-only");
  std::ranges::replace(used, std::string("cerebras-swarmx"), std::string("cerebras-cs2"));
  std::ranges::sort(used);
  CHECK(kShipped.names("nodes") == used);
  const std::vector<std::string> devices = kShipped.names("devices");
  CHECK(devices == std::vector<std::string>{"a100-pcie-80gb",
                                            "a100-sxm-40gb",
                                            "a100-sxm-80gb",
                                            "a40",
                                            "a800-pcie-80gb",
                                            "a800-sxm-80gb",
                                            "ascend-910b",
                                            "ascend-910c",
                                            "b200-sxm",
                                            "b300-sxm",
                                            "d1",
                                            "gaudi",
                                            "gaudi2",
                                            "gaudi3",
                                            "gb200",
                                            "gb300",
                                            "gh200",
                                            "h100-pcie",
                                            "h100-sxm",
                                            "h100-sxm-96gb",
                                            "h20",
                                            "h200-nvl",
                                            "h200-sxm",
                                            "h800-sxm",
                                            "l40s",
                                            "mi250x",
                                            "mi300x",
                                            "mi325x",
                                            "mi350x",
                                            "mi355x",
                                            "mi455x",
                                            "p100-sxm",
                                            "quadro-rtx-5000",
                                            "rtx-pro-6000",
                                            "rtx4090",
                                            "rtx6000d",
                                            "rubin",
                                            "tpu-v3",
                                            "tpu-v4",
                                            "tpu-v5e",
                                            "tpu-v5p",
                                            "tpu-v6e",
                                            "tpu-v7",
                                            "trainium2",
                                            "trainium3",
                                            "v100-sxm2-32gb",
                                            "v100-sxm3-32gb",
                                            "wormhole",
                                            "wse-2"});
  for (const std::string& name : devices) {
    INFO(name);
    const Read device = read(fmt::format("cluster: {{device: {}, dims: [{}]}}\n", name, kRing4));
    CHECK(device.errors == "");
    CHECK(device.device == name);
  }
}

TEST_CASE("a shipped DGX A100 has the figures of its data sheet") {
  const Read two = read("cluster: dgx-a100\nnodes: 2\n");
  REQUIRE(two.fabric);
  REQUIRE(two.device == "a100-sxm-80gb");
  std::vector<LinkId> route;
  two.fabric->route(DeviceId(0), DeviceId(7), route);
  REQUIRE(route.size() == 2);
  CHECK(two.fabric->link(route[0]).nominal == Bandwidth(300'000'000'000));
  CHECK(two.fabric->link(route[0]).bandwidth == Bandwidth(240'000'000'000));  // what NCCL counts on: 20 of 25 GB/s
  CHECK(two.fabric->link_classes()[two.fabric->link(route[0]).link_class] == "nvlink.up");
  two.fabric->route(DeviceId(0), DeviceId(8), route);
  REQUIRE(route.size() == 4);
  CHECK(two.fabric->link(route[1]).bandwidth == Bandwidth(25'000'000'000));  // 200 Gb/s
}

TEST_CASE("more NICs than devices are trunks: p5 has 4 x 100 Gb/s for a GPU") {
  const Read two = read("cluster: aws-p5\nnodes: 2\n");
  REQUIRE(two.fabric);
  std::vector<LinkId> route;
  two.fabric->route(DeviceId(0), DeviceId(8), route);
  CHECK(two.fabric->link(route[1]).nominal == Bandwidth(50'000'000'000));
  CHECK(two.fabric->link(route[1]).bandwidth == Bandwidth(48'430'000'000));  // 96.86 % of EFA
}

TEST_CASE("dims make an abstract fabric; names default to their position") {
  const Read result =
      read(dims("{topology: fully_connected, size: 3, bandwidth: 1 GB/s, latency: 1 us, name: board}, " + kRing4));
  REQUIRE(result.errors == "");
  CHECK(result.fabric->device_count() == 12);
  CHECK(result.fabric->link_classes()[0] == "board.peer");
  CHECK(result.fabric->dimensions()[1].name == "dim1");
}

TEST_CASE("nodes of the experiment win over those of the cluster") {
  CHECK(read("nodes: 4\n" + kCluster).fabric->device_count() == 32);
  CHECK(read(kCluster, {"cluster.nodes=3"}).fabric->device_count() == 24);
  CHECK(read("nodes: 4\n" + kCluster, {"cluster.nodes=3"}).fabric->device_count() == 32);
}

TEST_CASE("what cannot be built is refused where it stands, with what to do") {
  const std::string switch4 = "{topology: switch, size: 4, bandwidth: 1 GB/s, latency: 1 us}";
  const std::pair<std::string, std::string> cases[] = {
      {"cluster: dgx-a10\n",
       "x.yaml:1:10: error: no 'dgx-a10' among the shipped clusters\n  hint: did you mean 'dgx-a100'?\n"},
      {"nodes: 2\n", "'cluster' is missing"},
      {"cluster: {node: dgx-a100}\nnodes: 2\n", "x.yaml:2:8: error: 2 nodes, but nothing joins them"},
      {"cluster: dgx-a100\nnodes: 0\n", "x.yaml:2:8: error: nodes: 0 is out of range; expected 1 to 16777216"},
      {"cluster: dgx-a100\nnodes: 2097153\n",
       "x.yaml:2:8: error: 2097153 nodes of 8 devices make more than 16777216 devices"},
      {"nodes: 2\n" + dims(kRing4), "x.yaml:1:8: error: 'nodes' has no meaning for a cluster of 'dims'"},
      {dims(""), "'dims' is empty"},
      {dims("{topology: rign, size: 4, bandwidth: 1 GB/s, latency: 1 us}"),
       "unknown value 'rign'\n  hint: did you mean 'ring'?"},
      {dims("{topology: ring, size: 0, bandwidth: 1 GB/s, latency: 1 us}"), "0 is out of range"},
      {dims("{topology: ring, size: 4, bandwidth: 0 GB/s, latency: 1 us}"), "bandwidth"},
      {dims("{topology: ring, size: 4, bandwidth: 1 GB/s, latency: -1 us}"), "latency"},
      {dims("{topology: ring, size: 4, bandwidth: 1, latency: 1 us}"), "has no unit"},
      {dims("{topology: fully-connected, size: 5000, bandwidth: 1 GB/s, latency: 1 us}"), "at most 4096 are possible"},
      {dims("{topology: ring, size: 65536, bandwidth: 1 GB/s, latency: 1 us}, {topology: ring, size: 65536, bandwidth: "
            "1 GB/s, latency: 1 us}"),
       "make more than 16777216 devices"},
      {dims("{topology: fully-connected, size: 4096, bandwidth: 1 GB/s, latency: 1 us}, {topology: ring, size: 4096, "
            "bandwidth: 1 GB/s, latency: 1 us}"),
       "the fabric would have 68736253952 links"},  // 4096 * (4096 * 4095) + 2 * 2^24
      {dims("{topology: ring, size: 2, bandwidth: 1 GB/s, latency: 1 us, name: dim1}, " + kRing4),
       "dimensions 0 and 1 are both named 'dim1'"},
      {dims("{topology: ring, size: 2, bandwidth: 1 GB/s, latency: 1 us, name: \"a b\"}"), "invalid name 'a b'"},
      {"cluster: {device: {name: x}, node: dgx-a100, dims: [" + kRing4 + "]}\n",
       "'node' and 'dims' exclude each other"},
      {"cluster: {}\n", "'cluster.node' is missing"},
      {"cluster: [1]\n", "a map of keys is expected"},
      {"cluster:\n", "cluster"},
      {"7\n", "a map of keys is expected"},
  };
  for (const auto& [text, expected] : cases) {
    INFO(text);
    const Read result = read(text);
    CHECK_FALSE(result.fabric.has_value());
    INFO(result.errors);
    CHECK(contains(result.errors, expected));
  }
}

TEST_CASE("nodes that cannot be built are refused") {
  const auto with = [](const std::string& setting) { return read("nodes: 2\n" + kCluster, {setting}).errors; };
  CHECK(with("cluster.node.nics.count=8") == "");
  CHECK(contains(with("cluster.node.nics.count=12"), "12 NICs do not divide among 8 devices\n  hint: 8 or 16 would"));
  CHECK(with("cluster.node.nics.count=3") == "");  // shared
  CHECK(contains(with("cluster.node.nics.count=0"), "0 is out of range"));
  CHECK(contains(with("cluster.node.devices=0"), "0 is out of range"));
  CHECK(contains(with("cluster.node.fabric.name=nic"), "'nic' names the links that leave the node"));
  CHECK(contains(with("cluster.scale_out.topology=ring"), "unknown value 'ring'"));  // a NIC forwards nothing
  const std::string huge =
      "cluster: {node: {device: {name: x}, devices: 5000, fabric: {topology: fully-connected, bandwidth: 1 GB/s, "
      "latency: 0 ns}}}\n";
  CHECK(contains(read(huge).errors, "at most 4096 are possible"));
  const std::string wide =
      "cluster: {node: {device: {name: x}, devices: 1, fabric: {topology: switch, bandwidth: 1 GB/s, latency: 0 ns},"
      " nics: {count: 4096, bandwidth: 9000000000 GB/s, host_bandwidth: 1 GB/s, host_latency: 0 ns}}}\n";
  CHECK(contains(read(wide).errors, "make more than can be counted"));
  const std::string lonely =
      "nodes: 2\ncluster: {node: {device: {name: x}, devices: 8, fabric: {topology: switch, bandwidth: 1 GB/s, "
      "latency: 0 ns}}}\n";
  CHECK(contains(read(lonely).errors, "2 nodes, but the node has no 'nics'"));
}

TEST_CASE("too many dimensions are refused, even of one member each") {
  std::string list;
  for (int i = 0; i < 33; ++i) list += "{topology: ring, size: 1, bandwidth: 1 GB/s, latency: 1 us},";
  CHECK(contains(read(dims(list)).errors, "33 dimensions; at most 32 are possible"));
}

TEST_CASE("the list of keys names every key of both kinds of cluster") {
  std::set<std::string> paths;
  for (const KeyDescription& key : list_keys(kShipped, [](Section& section) {
         CHECK_FALSE(read_cluster(section, {[](Section&) {}, [](Section&) {}}).has_value());
       }))
    paths.insert(key.path);
  for (const char* path :
       {"nodes", "cluster", "cluster.dims[].topology", "cluster.dims[].latency", "cluster.node.fabric.bandwidth",
        "cluster.node.nics.host_bandwidth", "cluster.scale_out.latency", "cluster.device", "cluster.node.device"}) {
    INFO(path);
    CHECK(paths.contains(path));
  }
}
