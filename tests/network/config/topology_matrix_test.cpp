// SPDX-License-Identifier: MIT
#include "network/config/matrix.h"

#include <fmt/format.h>
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/network/config/read_cluster_text.h"

using namespace orrery;
using namespace orrery::network;

namespace {

constexpr Bandwidth gb(std::int64_t gigabytes) { return Bandwidth(gigabytes * 1'000'000'000); }

// A different figure for each, so that a route tells which links it took.
const MatrixCapacities kCapacities{
    {gb(25), Duration(700)}, {gb(16), Duration(100)}, {gb(12), Duration(10)}, {gb(10), Duration(2)}};

// The DGX-1 V100: two quads, GPU i and i + 4 joined; four PCIe switches of two GPUs and a NIC, two on each socket.
std::string dgx1_entry(std::uint32_t a, std::uint32_t b) {
  constexpr std::uint32_t kLinks[4][4] = {{0, 1, 1, 2}, {1, 0, 2, 1}, {1, 2, 0, 2}, {2, 1, 2, 0}};
  constexpr std::uint32_t kAcross[4] = {2, 2, 1, 1};
  if (a == b) return "X";
  if (a < 8 && b < 8 && a / 4 == b / 4) return fmt::format("NV{}", kLinks[a % 4][b % 4]);
  if (a < 8 && b < 8 && a % 4 == b % 4) return fmt::format("NV{}", kAcross[a % 4]);
  const auto pcie_switch = [](std::uint32_t member) { return member < 8 ? member / 2 : member - 8; };
  if (pcie_switch(a) == pcie_switch(b)) return "PIX";
  return pcie_switch(a) / 2 == pcie_switch(b) / 2 ? "PHB" : "SYS";
}

std::string dgx1_text() {
  std::string text = "\033[4m";
  for (std::uint32_t i = 0; i < 12; ++i) text += i < 8 ? fmt::format("\tGPU{}", i) : fmt::format("\tmlx5_{}", i - 8);
  text += "\tCPU Affinity\033[0m\n";
  for (std::uint32_t a = 0; a < 12; ++a) {
    text += a < 8 ? fmt::format("GPU{}", a) : fmt::format("mlx5_{}", a - 8);
    for (std::uint32_t b = 0; b < 12; ++b) text += "\t " + dgx1_entry(a, b) + " ";
    text += a < 8 ? fmt::format("\t{}\n", a < 4 ? "0-19,40-59" : "20-39,60-79") : "\t\n";
  }
  return text + "\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe as well as the SMP interconnect\n";
}

struct Parsed {
  RoutedGraph graph;
  std::string errors;
};

Parsed graph_of_text(const std::string& text, bool with_nics = true) {
  Diagnostics diagnostics;
  Parsed parsed;
  const TopologyMatrix matrix = parse_topology_matrix(text, "m.txt", diagnostics);
  GraphSpec spec;
  if (!diagnostics.has_errors()) spec = graph_of(matrix, kCapacities, with_nics, "m.txt", diagnostics);
  if (!diagnostics.has_errors()) parsed.graph = RoutedGraph(std::move(spec));
  for (const Problem& problem : diagnostics.problems()) parsed.errors += to_string(problem) + "\n";
  return parsed;
}

struct Way {
  std::string through;
  Bandwidth narrowest = Bandwidth::max();
  Duration latency{};
};

Way way(const RoutedGraph& graph, std::uint32_t from, std::uint32_t to) {
  Way way;
  graph.route(from, to, [&](std::uint32_t i) {
    const GraphLink& link = graph.spec().links[i];
    way.through += graph.spec().vertices[link.to] + " ";
    way.narrowest = std::min(way.narrowest, link.bandwidth);
    way.latency += link.latency;
  });
  return way;
}

}  // namespace

TEST_CASE("the topology matrix of a DGX-1 becomes its cube mesh and its PCIe tree") {
  const Parsed parsed = graph_of_text(dgx1_text());
  REQUIRE(parsed.errors == "");
  const RoutedGraph& graph = parsed.graph;
  REQUIRE_FALSE(graph.unreachable().has_value());
  CHECK(graph.spec().devices == 8);
  CHECK(graph.spec().nics == 4);
  CHECK(way(graph, 0, 3).through == "gpu3 ");
  CHECK(way(graph, 0, 3).narrowest == gb(50));
  CHECK(way(graph, 0, 7).through == "gpu4 gpu7 ");
  // GPU 0 and NIC 0 are PIX, NIC 1 is PHB (its own switch, the same host bridge), NIC 2 is SYS.
  CHECK(way(graph, 0, 8).through == "switch0 nic0 ");
  CHECK(way(graph, 0, 8).latency == Duration(200));
  CHECK(way(graph, 0, 9).through == "switch0 bridge0 switch1 nic1 ");
  CHECK(way(graph, 0, 9).narrowest == gb(16));
  CHECK(way(graph, 0, 10).narrowest == gb(10));
  // 16 NVLink trunks; 12 links to the switches, 4 from there, 2 from bridge to socket, 2 between sockets.
  CHECK(graph.spec().links.size() == 2 * (16 + 12 + 4 + 2 + 2));
}

TEST_CASE("each word of the matrix is its own way through PCIe") {
  // 0 and 1 on one switch, 2 on another below the same host bridge, 3 below the same host bridge without a switch, 4 on
  // the same socket, 5 on the other.
  const std::string text =
      "      GPU0 GPU1 GPU2 GPU3 GPU4 GPU5\n"
      "GPU0   X   PIX  PXB  PHB  NODE SYS\n"
      "GPU1  PIX   X   PXB  PHB  NODE SYS\n"
      "GPU2  PXB  PXB   X   PHB  NODE SYS\n"
      "GPU3  PHB  PHB  PHB   X   NODE SYS\n"
      "GPU4  NODE NODE NODE NODE  X   SYS\n"
      "GPU5  SYS  SYS  SYS  SYS  SYS   X\n";
  const Parsed parsed = graph_of_text(text);
  REQUIRE(parsed.errors == "");
  const RoutedGraph& graph = parsed.graph;
  CHECK(way(graph, 0, 1).through == "switch0 gpu1 ");
  CHECK(way(graph, 0, 2).through == "switch0 upstream0 gpu2 ");
  CHECK(way(graph, 0, 3).through == "switch0 upstream0 bridge0 gpu3 ");
  CHECK(way(graph, 0, 3).narrowest == gb(16));
  CHECK(way(graph, 0, 4).through == "switch0 upstream0 bridge0 socket0 bridge1 gpu4 ");
  CHECK(way(graph, 0, 4).narrowest == gb(12));
  // PCIe three times up, the host bridge's link, half the way between sockets, twice; GPU 5 is alone on its socket.
  CHECK(way(graph, 0, 5).through == "switch0 upstream0 bridge0 socket0 interconnect socket1 gpu5 ");
  CHECK(way(graph, 0, 5).narrowest == gb(10));
  CHECK(way(graph, 0, 5).latency == Duration(4 * 100 + 10 + 2));
}

TEST_CASE("more NVLinks than a GPU has lead to a switch, as many as it has to the GPUs themselves") {
  const auto all = [](std::uint32_t gpus, const std::string& word) {
    std::string text;
    for (std::uint32_t i = 0; i < gpus; ++i) text += fmt::format(" GPU{}", i);
    text += " CPU Affinity\n";
    for (std::uint32_t i = 0; i < gpus; ++i) {
      text += fmt::format("GPU{}", i);
      for (std::uint32_t j = 0; j < gpus; ++j) text += " " + (i == j ? std::string("X") : word);
      text += i < gpus / 2 ? " 0-7\n" : " 8-15\n";
    }
    return text;
  };
  // NV12 to seven others would be 84 links.
  const Parsed a100 = graph_of_text(all(8, "NV12"));
  REQUIRE(a100.errors == "");
  CHECK(way(a100.graph, 1, 6).through == "nvswitch0 gpu6 ");
  CHECK(way(a100.graph, 1, 6).narrowest == gb(300));
  CHECK(way(a100.graph, 1, 6).latency == Duration(700));
  // Four GPUs with four links to each other: twelve, so direct.
  const Parsed board = graph_of_text(all(4, "NV4"));
  REQUIRE(board.errors == "");
  CHECK(way(board.graph, 0, 3).through == "gpu3 ");
  CHECK(way(board.graph, 0, 3).narrowest == gb(100));
  // What PCIe there is between them follows from the processors: two on each socket.
  CHECK(std::ranges::count(board.graph.spec().vertices, "socket1") == 1);
  CHECK(std::ranges::count(board.graph.spec().vertices, "socket2") == 0);
}

TEST_CASE("a byte order mark before a matrix is no part of it") {
  Diagnostics diagnostics;
  const TopologyMatrix matrix =
      parse_topology_matrix("\xEF\xBB\xBFGPU0\tGPU1\nGPU0\tX\tPIX\nGPU1\tPIX\tX\n", "m.txt", diagnostics);
  CHECK(!diagnostics.has_errors());
  CHECK(matrix.devices == 2);
}

TEST_CASE("malformed matrices are refused at their line") {
  const std::string good = " GPU0 GPU1\nGPU0 X PIX\nGPU1 PIX X\n";
  REQUIRE(graph_of_text(good).errors == "");
  const std::pair<std::string, std::string> cases[] = {
      {"", "m.txt:1:1: error: no heading"},
      {"hello\n", "m.txt:1:1: error: no heading"},
      {" GPU0 GPU1\n", "m.txt:1:1: error: the matrix ends before the row of GPU0"},
      {" GPU0 GPU1\nGPU0 X PIX\n", "m.txt:2:1: error: the matrix ends before the row of GPU1"},
      {" GPU0 GPU1\nGPU0 X\nGPU1 PIX X\n", "m.txt:2:1: error: 1 entries in the row of GPU0; the heading has 2"},
      {" GPU0 GPU1\nGPU0 X PIX\nGPU2 PIX X\n", "m.txt:3:1: error: a row of GPU2 where that of GPU1 is expected"},
      {" GPU0 GPU2\nGPU0 X PIX\nGPU2 PIX X\n", "m.txt:1:7: error: column 2 is GPU2"},
      {" GPU0 GPU1\nGPU0 X PIY\nGPU1 PIX X\n", "m.txt:2:8: error: unknown connection 'PIY'"},
      {" GPU0 GPU1\nGPU0 X NV0\nGPU1 NV0 X\n", "m.txt:2:8: error: NV0: 1 to 1024 NVLinks can join two GPUs"},
      {" GPU0 GPU1\nGPU0 X NV99999999999\nGPU1 NV0 X\n", "unknown connection"},
      {" GPU0 GPU1\nGPU0 X X\nGPU1 PIX X\n", "m.txt:2:8: error: X stands for the GPU or NIC itself"},
      {" GPU0 GPU1\nGPU0 X PIX\nGPU1 PHB X\n",
       "m.txt:3:6: error: GPU1 to GPU0 is another way than GPU0 to GPU1 in line 2"},
      {" GPU0 NIC0\nGPU0 X NV4\nNIC0 NV4 X\n", "m.txt:2:8: error: a NIC on NVLink"},
      // 0 and 1 share a switch, 1 and 2 do, 0 and 2 are on different sockets.
      {" GPU0 GPU1 GPU2\nGPU0 X PIX SYS\nGPU1 PIX X PIX\nGPU2 SYS PIX X\n", "m.txt:4:1: error: this row has"},
      // 19 links of GPU 0, and the others do not reach each other.
      {" GPU0 GPU1 GPU2\nGPU0 X NV12 NV7\nGPU1 NV12 X SYS\nGPU2 NV7 SYS X\n",
       "m.txt:2:1: error: GPU 0 has more than 18 NVLinks"},
  };
  for (const auto& [text, expected] : cases) {
    INFO(text);
    const Parsed parsed = graph_of_text(text);
    INFO(parsed.errors);
    CHECK(parsed.errors.find(expected) != std::string::npos);
    CHECK(parsed.errors.find("hint: ") != std::string::npos);
  }
}

TEST_CASE("a node takes its fabric from a topology matrix beside it") {
  const std::filesystem::path folder = std::filesystem::path(ORRERY_BINARY_DIR) / "topology_matrix_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "dgx1.txt") << dgx1_text();
  std::ofstream(folder / "node.yaml")
      << "device: {name: x}\ndevices: 8\ntopology_matrix: dgx1.txt\ncapacities: {pcie: 15.75 GB/s}\n"
         "nics: {count: 4, bandwidth: 100 Gb/s}\n";
  const std::string text = "nodes: 2\ncluster: {node: " + (folder / "node.yaml").string() +
                           ", scale_out: {topology: switch, latency: 500 ns}}\n";
  const ReadCluster read = read_cluster_text(text);
  REQUIRE(read.errors == "");
  std::vector<LinkId> route;
  read.fabric->route(DeviceId(5), DeviceId(8), route);
  std::string through;
  for (const LinkId link : route) through += read.fabric->vertex_name(read.fabric->ends(link).to) + " ";
  CHECK(through == "node0.switch2 node0.nic2 switch0 node1.nic0 node1.switch0 node1.gpu0 ");
  const auto with = [&](const std::string& setting) { return read_cluster_text(text, {setting}).errors; };
  CHECK(with("cluster.node.devices=7").find("the matrix has 8 GPUs, the node 7 devices") != std::string::npos);
  CHECK(with("cluster.node.nics.count=3").find("the matrix has 4 NICs, the node 3") != std::string::npos);
  CHECK(with("cluster.node.topology_matrix=nowhere.txt").find("nowhere.txt' cannot be opened") != std::string::npos);
  CHECK(with("cluster.node.topology_matrix=.").find("is a directory") != std::string::npos);
  CHECK(with("cluster.node.capacities.pcie=0 GB/s").find("pcie") != std::string::npos);
  CHECK(with("cluster.node.links=[]").find("'links' and 'topology_matrix' exclude each other") != std::string::npos);
}

// A matrix of `gpus` that all reach each other over NV`links`.
std::string clique_text(std::uint32_t gpus, std::uint32_t links) {
  std::string text;
  for (std::uint32_t i = 0; i < gpus; ++i) text += fmt::format("\tGPU{}", i);
  text += "\tCPU Affinity\n";
  for (std::uint32_t a = 0; a < gpus; ++a) {
    text += fmt::format("GPU{}", a);
    for (std::uint32_t b = 0; b < gpus; ++b) text += a == b ? "\tX" : fmt::format("\tNV{}", links);
    text += "\t0-79\n";
  }
  return text;
}

// 7 x 18 links are more than a GPU has: they lead to an NVSwitch, which does multicast from Hopper on. Four GPUs with
// six links to each of the others have no switch.
TEST_CASE("GPUs that all reach each other over an NVSwitch have NVLS from Hopper on, as the node by its name has") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "orrery-clique-matrix";
  std::filesystem::create_directories(folder);
  const auto kind = [&](const std::string& device, std::uint32_t gpus, std::uint32_t links,
                        const std::vector<std::string>& settings = {}) {
    std::ofstream(folder / "clique.txt") << clique_text(gpus, links);
    const ReadCluster read =
        read_cluster_text(fmt::format("cluster: {{node: {{device: {}, devices: {}, topology_matrix: {}}}}}\n", device,
                                      gpus, (folder / "clique.txt").string()),
                          settings);
    INFO(read.errors);
    REQUIRE(read.fabric);
    return read.fabric->interconnect();
  };
  const InterconnectKind hgx = kind("h100-sxm", 8, 18);
  CHECK(hgx.within == NodeLinkKind::kNvlink);
  CHECK(hgx.multicast);
  CHECK(kind("h100-sxm", 4, 18).multicast);
  CHECK(kind("h800-sxm", 8, 8).multicast);
  CHECK(kind("b200-sxm", 8, 18).multicast);
  CHECK(kind("gb200", 4, 18).multicast);
  CHECK_FALSE(kind("h100-sxm", 8, 18, {"cluster.node.multicast=false"}).multicast);
  CHECK_FALSE(kind("h100-sxm", 8, 18, {"cluster.node.interconnect=pcie"}).multicast);
  CHECK_FALSE(kind("a100-sxm-80gb", 8, 12).multicast);
  CHECK(kind("a100-sxm-80gb", 8, 12).within == NodeLinkKind::kNvlink);
  const InterconnectKind without_switch = kind("h100-sxm", 4, 6);
  CHECK(without_switch.within == NodeLinkKind::kNvlink);
  CHECK_FALSE(without_switch.multicast);
}

// A V100 of a DGX-2 has six NVLinks: six to each of two others are more, though fewer than the 18 of newer GPUs.
TEST_CASE("a GPU's own number of NVLinks tells a switch, where it is known") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "orrery-three-matrix";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "three.txt") << clique_text(3, 6);
  const auto has_switch = [&](const std::string& device) {
    const ReadCluster read =
        read_cluster_text(fmt::format("cluster: {{node: {{device: {}, devices: 3, topology_matrix: {}}}}}\n", device,
                                      (folder / "three.txt").string()));
    INFO(read.errors);
    REQUIRE(read.fabric);
    std::vector<LinkId> route;
    read.fabric->route(DeviceId(0), DeviceId(2), route);
    return route.size() == 2;
  };
  CHECK(has_switch("v100-sxm3-32gb"));
  CHECK_FALSE(has_switch("a100-sxm-80gb"));  // twelve, as it has
}
