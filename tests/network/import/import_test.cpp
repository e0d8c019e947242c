// SPDX-License-Identifier: MIT
// Files of other tools as clusters: what each becomes, and that the result is a cluster.
#include <fmt/format.h>
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "core/files/xml.h"
#include "network/fabric/summary.h"
#include "network/import/gpu_names.h"
#include "network/import/imported_node.h"
#include "network/import/nccl_graphs.h"
#include "network/import/nccl_topology.h"
#include "network/import/rocm_topology.h"
#include "network/import/simai_topology.h"
#include "tests/network/config/read_cluster_text.h"

using namespace orrery;
using namespace orrery::network;

namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::string slot(std::string_view pci_class, int bus, std::string_view inside,
                 std::string_view speed = "32.0 GT/s PCIe", int width = 16,
                 std::string_view id = "vendor=\"0x10de\" device=\"0x2330\"") {
  return fmt::format("<pci busid=\"0000:{:02x}:00.0\" class=\"{}\" {} link_speed=\"{}\" link_width=\"{}\">\n{}</pci>\n",
                     bus, pci_class, id, speed, width, inside);
}

std::string nic(int number, int megabits = 400'000, std::string_view name = "mlx5") {
  return slot("0x020700", 0x40 + number,
              fmt::format("<nic>\n<net name=\"{}_{}\" dev=\"{}\" speed=\"{}\" port=\"1\"/>\n</nic>\n", name, number,
                          number, megabits));
}

// Two sockets of two GPUs, each with a NIC behind a PCIe switch; `joined`: elements of <gpu>.
std::string dump(const std::function<std::string(int)>& joined, int sm = 90,
                 std::string_view speed = "32.0 GT/s PCIe") {
  std::string text = "<system version=\"1\">\n";
  for (int cpu = 0; cpu < 2; ++cpu) {
    text += fmt::format("<cpu numaid=\"{}\" arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"143\" modelid=\"49\">\n",
                        cpu);
    for (int i = 2 * cpu; i < 2 * cpu + 2; ++i)
      text +=
          slot("0x060400", 0x10 + i,
               slot("0x030200", 0x20 + i,
                    fmt::format("<gpu dev=\"{}\" sm=\"{}\" rank=\"{}\" gdr=\"1\">\n{}</gpu>\n", i, sm, i, joined(i)),
                    speed, 16, sm == 90 ? "vendor=\"0x10de\" device=\"0x2330\"" : "") +
                   nic(i));
    text += "</cpu>\n";
  }
  return text + "</system>\n";
}

std::string on_switches(int) {
  return "<nvlink target=\"0000:03:00.0\" count=\"8\" tclass=\"0x068000\"/>\n"
         "<nvlink target=\"0000:04:00.0\" count=\"10\" tclass=\"0x068000\"/>\n";
}

// Bridged in pairs: 0 and 1, 2 and 3.
std::string in_pairs(int gpu) {
  return fmt::format("<nvlink target=\"0000:{:02X}:00.0\" count=\"4\" tclass=\"0x030200\"/>\n", 0x20 + (gpu ^ 1));
}

ImportedNode node_of(const std::string& text, const std::string& device = "") {
  return read_nccl_topology(XmlDocument("system.xml", text, ""), device);
}

std::string error_of(const std::function<void()>& read) {
  try {
    read();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// Links of a class from one kind of vertex to another: "2 x 50 GB/s".
std::string links_of(const Fabric& fabric, std::string_view link_class, std::string_view from, std::string_view to) {
  for (const LinkKind& kind : summarise(fabric).links)
    if (fabric.link_classes()[kind.link.link_class] == link_class && kind.from == from && kind.to == to)
      return fmt::format("{} x {:.6g} GB/s", kind.count, static_cast<double>(kind.link.nominal.count()) / 1e9);
  return "none";
}

Fabric fabric_of(const std::string& cluster) {
  std::string text = "cluster:\n";
  for (std::size_t at = 0; at < cluster.size();) {
    const std::size_t end = cluster.find('\n', at);
    text += "  " + cluster.substr(at, end - at) + "\n";
    at = end + 1;
  }
  const ReadCluster read = read_cluster_text(text);
  INFO(text << read.errors);
  REQUIRE(read.errors == "");
  return *read.fabric;
}

}  // namespace

TEST_CASE("NCCL's topology of GPUs on NVSwitches is a node with one switch and multicast") {
  const ImportedNode node = node_of(dump(on_switches));
  CHECK(node.device == "h100-sxm");
  CHECK(node.devices == 4);
  CHECK(node.multicast);
  CHECK(node.interconnect == NodeLinkKind::kNvlink);
  CHECK(node.nics == 4);
  CHECK(node.nic_gigabits == 400);
  CHECK(node.network == "infiniband");
  CHECK(node.nic_of == std::vector<std::uint32_t>{0, 1, 2, 3});
  const Fabric fabric = fabric_of(cluster_text(std::vector{node}, {}));
  CHECK(fabric.interconnect().multicast);
  // 8 + 10 links of NVLink 4 of 25 GB/s; between two EPYCs NCCL reckons with 16 GB/s.
  CHECK(links_of(fabric, "nvlink", "gpu", "nvswitch") == "4 x 450 GB/s");
  CHECK(links_of(fabric, "pcie", "gpu", "plx") == "4 x 63 GB/s");
  CHECK(links_of(fabric, "sockets", "cpu", "cpu") == "2 x 16 GB/s");
  CHECK_FALSE(node_of(dump(on_switches, 80)).multicast);
  CHECK(node_of(dump(on_switches, 80)).device == "a100-sxm-80gb");
  CHECK(node_of(dump(on_switches), "h200-sxm").device == "h200-sxm");
}

TEST_CASE("NCCL's topology of bridged pairs is a node of PCIe with links of the pairs") {
  const ImportedNode node = node_of(dump(in_pairs, 86, "16.0 GT/s PCIe"));
  CHECK(node.device == "a40");
  CHECK(node.interconnect == NodeLinkKind::kPcie);
  CHECK_FALSE(node.multicast);
  const Fabric fabric = fabric_of(cluster_text(std::vector{node}, {}));
  CHECK(links_of(fabric, "nvlink", "gpu", "gpu") == "4 x 56.25 GB/s");  // 4 x 14.0625
  CHECK(links_of(fabric, "pcie", "gpu", "plx") == "4 x 31.5 GB/s");
}

// Both GPUs below one bridge, which has nothing else; the NIC is in a slot of the host.
TEST_CASE("a bridge with GPUs alone is a bridge") {
  std::string gpus;
  for (int i = 0; i < 2; ++i)
    gpus += slot("0x030200", 0x20 + i, fmt::format("<gpu dev=\"{}\" sm=\"90\" rank=\"{}\" gdr=\"1\">\n</gpu>\n", i, i));
  const ImportedNode node = node_of(
      "<system version=\"1\">\n<cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"143\" "
      "modelid=\"49\">\n" +
      slot("0x060400", 0x10, gpus) + nic(0) + "</cpu>\n</system>\n");
  CHECK(node.devices == 2);
  CHECK(node.nics == 1);
  CHECK(links_of(fabric_of(cluster_text(std::vector{node}, {})), "pcie", "gpu", "plx") == "2 x 63 GB/s");
}

TEST_CASE("slots of fewer lanes are narrower, and those of a virtual machine as the GPU's own") {
  std::string text = dump(on_switches);
  text.replace(text.find("link_width=\"16\">\n<gpu"), 15, "link_width=\"8\"");
  const auto width_of = [](const ImportedNode& node) {
    const auto link = std::ranges::find_if(
        node.links, [](const ImportedLink& l) { return l.from == "gpu0" && l.link_class == "pcie"; });
    return link->gigabytes;
  };
  CHECK(width_of(node_of(text)) == 31.5);  // half of 63
  CHECK_FALSE(width_of(node_of(dump(on_switches))).has_value());
  const ImportedNode hidden = node_of(dump(on_switches, 90, ""));
  CHECK_FALSE(width_of(hidden).has_value());
  CHECK(std::ranges::any_of(hidden.notes, [](const std::string& note) { return has(note, "taken as pcie-5"); }));
}

TEST_CASE("GPUs spread over NICs that are as near, several NICs of each become one, slower ones are left out") {
  const auto with_nics = [](const std::vector<int>& megabits) {
    std::string nics, gpus;
    for (std::size_t i = 0; i < megabits.size(); ++i) nics += nic(static_cast<int>(i), megabits[i]);
    for (int i = 0; i < 2; ++i)
      gpus += slot("0x030200", 0x20 + i,
                   fmt::format("<gpu dev=\"{}\" sm=\"90\" rank=\"{}\">\n{}</gpu>\n", i, i, on_switches(i)));
    return node_of("<system version=\"1\">\n<cpu numaid=\"0\">\n" + gpus + nics + "</cpu>\n</system>\n");
  };
  const ImportedNode two = with_nics({400'000, 400'000});
  CHECK(two.nic_of == std::vector<std::uint32_t>{0, 1});
  const ImportedNode shared = with_nics({200'000});
  CHECK(shared.nic_of == std::vector<std::uint32_t>{0, 0});
  const ImportedNode four = with_nics({100'000, 100'000, 100'000, 100'000});
  CHECK(four.nics == 2);
  CHECK(four.nic_gigabits == 200);
  CHECK(links_of(fabric_of(cluster_text(std::vector{four}, {})), "pcie", "nic", "cpu") == "2 x 126 GB/s");
  const ImportedNode mixed = with_nics({25'000, 400'000, 400'000});
  CHECK(mixed.nics == 2);
  CHECK(mixed.notes.back() == "Left out: slower NICs mlx5_0");
}

TEST_CASE("dumps of nodes that are alike become one kind of node, and others a list") {
  const ImportedNode first = node_of(dump(on_switches));
  const ImportedNode other = node_of(dump(on_switches), "h200-sxm");
  CHECK(has(cluster_text(std::vector{first, first, first}, {}), "nodes: 3\nnode:\n"));
  const std::string mixed = cluster_text(std::vector{first, other, first}, {});
  CHECK(has(mixed, "- count: 2\n    node:\n      device: h100-sxm\n"));
  CHECK(has(mixed, "- count: 1\n    node:\n      device: h200-sxm\n"));
  CHECK(fabric_of(mixed).device_count() == 12);
}

TEST_CASE("a topology that NCCL does not write is refused at its line") {
  const auto error = [](const std::string& text) { return error_of([&] { node_of(text); }); };
  const auto with = [](std::string_view old, std::string_view fresh) {
    std::string text = dump(in_pairs);
    return text.replace(text.find(old), old.size(), fresh);
  };
  CHECK(error(dump(in_pairs)) == "");
  CHECK(has(error(dump(in_pairs).substr(0, 900)), "invalid XML"));
  for (const std::string version : {"0", "3", "7"})
    CHECK(has(error(with("version=\"1\"", "version=\"" + version + "\"")),
              "system.xml:1: error: version " + version + " of a topology"));
  CHECK(error(with("version=\"1\"", "version=\"2\"")) == "");  // RCCL's
  CHECK(has(error("<system version=\"1\">\n<cpu/>\n</system>\n"), "no <gpu> in the file"));
  CHECK(has(error(dump(in_pairs, 77)), "system.xml:5: error: unknown GPU, PCI 0000:0000, sm 77"));
  CHECK(has(error(with("sm=\"90\"", "sm=\"80\"")), "GPUs of two kinds in one node"));
  CHECK(has(error(with("sm=\"90\"", "sm=\"x\"")), "sm=\"x\" of <gpu>: expected a whole number"));
  CHECK(has(error(with("count=\"4\"", "count=\"3\"")), "GPU 0 has 3 links to GPU 1, which has 4 back"));
  CHECK(has(error(with("<pci busid=\"0000:21:00.0\"", "<pci busid=\"0000:20:00.0\"")), "a second GPU at 0000:20:00.0"));
  std::string far = dump(in_pairs);
  for (const std::string_view bus : {"0000:20:00.0", "0000:21:00.0"})
    far.replace(far.find(fmt::format("<pci busid=\"{}\"", bus)) + 12, bus.size(), std::string(50, '7'));
  CHECK(has(error(far), "a second GPU at " + std::string(40, '7') + "..."));
}

TEST_CASE("NCCL's graphs give the numbers of channels: twice those of a ring, as many as of NVLS") {
  const auto graph = [](int id, int channels, std::string_view type, const std::string& inside) {
    std::string text = fmt::format(
        "<graph id=\"{}\" pattern=\"4\" nchannels=\"{}\" speedintra=\"30\" speedinter=\"25\" typeintra=\"{}\" "
        "typeinter=\"PIX\">\n",
        id, channels, type);
    for (int i = 0; i < channels; ++i) text += "<channel>\n" + inside + "<gpu dev=\"0\"/>\n</channel>\n";
    return text + "</graph>\n";
  };
  const auto read = [](const std::string& graphs) {
    return read_nccl_graphs(XmlDocument("graphs.xml", "<graphs version=\"1\">\n" + graphs + "</graphs>\n", ""));
  };
  const auto within = read(graph(0, 12, "NVL", "") + graph(3, 16, "NVL", ""));
  CHECK(text_of(within[0]) == "ring: 12 channels of 30 GB/s, 360 GB/s (NVL)");
  CHECK(nccl_lines(within) == std::vector<std::string>{"channels: {nvlink: 24, nvls: 16}"});
  CHECK(nccl_lines(read(graph(0, 2, "PHB", ""))) == std::vector<std::string>{"channels: {pcie: 4}"});
  // At most 32 channels, here over one NIC.
  CHECK(nccl_lines(read(graph(0, 20, "NVL", "<net dev=\"0\"/>\n"))) == std::vector<std::string>{"channels: {nic: 32}"});
  CHECK(has(error_of([&] { read(""); }), "no <graph> in the file"));
  CHECK(has(error_of([&] { read(graph(9, 1, "NVL", "")); }), "id=\"9\" of <graph>"));
  CHECK(has(error_of([&] { read(graph(0, 1, "NVL", "") + graph(0, 1, "NVL", "")); }), "a second graph of ring"));
  std::string cut = graph(0, 2, "NVL", "");
  cut.replace(cut.find("nchannels=\"2\""), 13, "nchannels=\"3\"");
  CHECK(has(error_of([&] { read(cut); }), "nchannels=\"3\" and 2 <channel>"));
}

namespace {

// An output of rocm-smi: types and weights by pair.
std::string rocm_text(int gpus, const std::function<std::string(int, int)>& type,
                      const std::function<int(int, int)>& weight) {
  std::string text = "======== ROCm System Management Interface ========\n";
  const auto table = [&](std::string_view title, const auto& cell) {
    text += fmt::format("======== {} ========\n", title);
    for (int i = 0; i < gpus; ++i) text += fmt::format("  GPU{}", i);
    for (int a = 0; a < gpus; ++a) {
      text += fmt::format("\nGPU{}", a);
      for (int b = 0; b < gpus; ++b) text += a == b ? std::string("  0") : fmt::format("  {}", cell(a, b));
    }
    text += "\n\n";
  };
  table("Weight between two GPUs", weight);
  table("Link Type between two GPUs", type);
  text += "======== Numa Nodes ========\n";
  for (int i = 0; i < gpus; ++i) text += fmt::format("GPU[{}]\t\t: (Topology) Numa Node: {}\n", i, 2 * i / gpus);
  return text;
}

std::string all_xgmi(int, int) { return "XGMI"; }

}  // namespace

TEST_CASE("rocm-smi's topology of a full mesh is one, of quads links and PCIe, of dies the modules") {
  const auto weight = [](int, int) { return 15; };
  const std::string mesh = rocm_text(8, all_xgmi, weight);
  CHECK(is_rocm_topology(mesh));
  const ImportedNode full = read_rocm_topology(mesh, "r.txt", "mi300x");
  REQUIRE(full.fabric);
  CHECK(full.fabric->kind == "xgmi-3");
  CHECK(fabric_of(cluster_text(std::vector{full}, {})).device_count() == 8);
  const ImportedNode modules = read_rocm_topology(mesh, "r.txt", "mi250x");
  CHECK(modules.devices == 4);
  const auto quads = [](int a, int b) { return a / 4 == b / 4 ? "XGMI" : "PCIE"; };
  const ImportedNode apart = read_rocm_topology(rocm_text(8, quads, weight), "r.txt", "mi300x");
  CHECK(apart.interconnect == NodeLinkKind::kPcie);
  const Fabric fabric = fabric_of(cluster_text(std::vector{apart}, {}));
  CHECK(links_of(fabric, "xgmi", "gpu", "gpu") == "24 x 64 GB/s");  // twice 6 pairs of a quad, both ways
  CHECK(links_of(fabric, "pcie", "gpu", "cpu") == "8 x 63 GB/s");
  // Messages to a GPU two links away pass the one between.
  const auto chain = [](int a, int b) { return 15 * std::abs(a - b); };
  CHECK(read_rocm_topology(rocm_text(3, all_xgmi, chain), "r.txt", "mi300x").interconnect == NodeLinkKind::kXgmi);
  const auto error = [](const std::string& text, const std::string& device) {
    return error_of([&] { read_rocm_topology(text, "r.txt", device); });
  };
  CHECK(has(error(mesh, ""), "does not say what the GPUs are"));
  CHECK(has(error(mesh, "h100-sxm"), "no links of xGMI are known of 'h100-sxm'"));
  CHECK(has(error(rocm_text(3, all_xgmi, weight), "mi250x"), "3 GPUs, which are the dies of mi250x, 2 of each"));
  CHECK(has(error(mesh.substr(0, mesh.rfind("\nGPU7")), "mi300x"), "error: the table ends before the row of GPU7"));
  CHECK(has(error(rocm_text(
                      2, [](int, int) { return "NVL"; }, weight),
                  "mi300x"),
            "unknown link type 'NVL'"));
}

TEST_CASE("amd-smi's tables are read as those of rocm-smi") {
  const std::string text =
      "WEIGHT TABLE:\n  0000:05:00.0 0000:26:00.0\n0000:05:00.0 0 15\n0000:26:00.0 15 0\n\n"
      "LINK TYPE TABLE:\n  0000:05:00.0 0000:26:00.0\n0000:05:00.0 SELF XGMI\n0000:26:00.0 XGMI SELF\n";
  REQUIRE(is_rocm_topology(text));
  CHECK(read_rocm_topology(text, "a.txt", "mi355x").fabric->kind == "xgmi-4");
}

namespace {

// Two servers of two GPUs, each GPU with a link to each of two switches of its rail, and these to two spines.
std::string simai_text() {
  // GPUs 0 to 3, NVSwitches 4 and 5, rail switches 6 and 7 (of GPUs 0, 2) and 8 and 9, spines 10 and 11.
  std::string links;
  int count = 0;
  const auto link = [&](int a, int b, const char* rate) {
    links += fmt::format("{} {} {} 0.0005ms 0\n", a, b, rate);
    ++count;
  };
  for (int gpu = 0; gpu < 4; ++gpu) {
    link(gpu, 4 + gpu / 2, "2880Gbps");
    for (int i = 0; i < 2; ++i) link(gpu, 6 + 2 * (gpu % 2) + i, "200Gbps");
  }
  for (int rail = 6; rail < 10; ++rail)
    for (int spine = 10; spine < 12; ++spine) link(rail, spine, "400Gbps");
  return fmt::format("12 2 2 6 {} H100\n4 5 6 7 8 9 10 11 \n{}", count, links);
}

}  // namespace

TEST_CASE("SimAI's topology is a cluster of nodes, its switches that lead to the same places are one") {
  REQUIRE(is_simai_topology(simai_text()));
  const std::string text = simai_cluster_text(simai_text(), "topo", "");
  const Fabric fabric = fabric_of(text);
  CHECK(fabric.device_count() == 4);
  CHECK(links_of(fabric, "nvlink.up", "gpu", "switch") == "4 x 360 GB/s");
  // Two links of 25 GB/s to the pair of switches of a rail; of these two times two of 50 GB/s to the spines.
  CHECK(has(text, "{from: nic0, to: switch0, bandwidth: 200 Gb/s, latency: 500 ns, class: access, count: 2}"));
  CHECK(has(text, "{from: nic3, to: switch2, bandwidth: 200 Gb/s, latency: 500 ns, class: access, count: 2}"));
  CHECK(has(text, "{from: switch2, to: switch4, bandwidth: 400 Gb/s, latency: 500 ns, class: trunk, count: 4}"));
  CHECK(has(simai_cluster_text(simai_text(), "topo", "h800-sxm"), "device: h800-sxm"));
}

TEST_CASE("a topology of SimAI that does not add up is refused at its line") {
  CHECK_FALSE(is_simai_topology("topology: [Ring]\n"));
  CHECK_FALSE(is_simai_topology("1 2 3 4 5 6\n"));
  const auto error = [](std::string_view old, std::string_view fresh) {
    std::string text = simai_text();
    text.replace(text.find(old), old.size(), fresh);
    return error_of([&] { simai_cluster_text(text, "topo", ""); });
  };
  CHECK(has(error("12 2 2", "12 3 2"), "topo:1:1: error: 12 nodes less 2 NVSwitches and 6 switches are 4 GPUs"));
  CHECK(has(error("H100", "G100"), "unknown kind of GPU 'G100'"));
  CHECK(has(error("4 5 6", "4 6 6"), "topo:2:1: error: '6' where switch 5 is expected"));
  CHECK(has(error("9 11 400Gbps 0.0005ms 0\n", ""), "19 links; the first line has 20"));
  CHECK(has(error("0 4 2880Gbps", "0 99 2880Gbps"), "topo:3:1: error: '99' is no node; nodes are 0 to 11"));
  CHECK(has(error("0 4 2880Gbps", "0 4 fast"), "invalid bandwidth 'fast'"));
  CHECK(has(error("0 4 2880Gbps", "0 1 2880Gbps"), "a link from 0 to 1"));
  CHECK(has(error("0 4 2880Gbps", "0 5 2880Gbps"), "is of two servers"));
  CHECK(has(error("0 6 200Gbps", "0 6 100Gbps"), "GPU 1 has 400 Gbps of NIC, GPU 0 300"));
}

TEST_CASE("the GPUs that other tools name are shipped devices, with the links that these have") {
  std::size_t found = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(ORRERY_SOURCE_DIR) / "configs" / "devices")) {
    const GpuName* gpu = gpu_of_device(entry.path().stem().string());
    if (gpu == nullptr) continue;
    ++found;
    CAPTURE(gpu->device);
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const bool is_nvidia = gpu->pci >> 16 == 0x10de;
    if (is_nvidia) CHECK(has(text, fmt::format("\npcie: {}\n", gpu->pcie)));
    if (is_nvidia) CHECK(has(text, gpu->link.empty() ? "\npcie:" : fmt::format("\nnvlink: {}\n", gpu->link)));
    CHECK(has(text, "\nnvlink:") == (is_nvidia && !gpu->link.empty()));
    CHECK(gpu_of_pci(gpu->pci) == gpu);
    if (gpu->capability != 0) CHECK(gpu_of_capability(gpu->capability) == gpu);
  }
  CHECK(found == 28);
}
