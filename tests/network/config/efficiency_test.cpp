// SPDX-License-Identifier: MIT
// The share of a link's nominal bandwidth that messages get: read wherever a bandwidth is, applied by the fabric.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "network/fabric/summary.h"
#include "tests/network/config/read_cluster_text.h"
#include "tests/network/fabric_ways.h"

using namespace orrery;
using namespace orrery::network;

namespace {

struct Rate {
  Bandwidth nominal;
  Efficiency efficiency;
  Bandwidth rate;

  bool operator==(const Rate&) const = default;
};

// By link class; every link of a class must be the same.
std::map<std::string, Rate> rates(const Fabric& fabric) {
  std::map<std::string, Rate> rates;
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i) {
    const Link& link = fabric.link(LinkId(i));
    const Rate rate{link.nominal, link.efficiency, link.bandwidth};
    const auto [known, fresh] = rates.emplace(fabric.link_classes()[link.link_class], rate);
    CHECK(known->second == rate);
  }
  return rates;
}

std::string dims(const std::string& list) { return "cluster: {device: {name: x}, dims: [" + list + "]}\n"; }

constexpr Efficiency percent(std::int64_t hundredths) { return Efficiency(hundredths * 100); }

}  // namespace

TEST_CASE("a rate is rounded down to bytes per second, and never to nothing") {
  CHECK(Bandwidth(300'000'000'000) * percent(80'00) == Bandwidth(240'000'000'000));
  CHECK(Bandwidth(7) * percent(50'00) == Bandwidth(3));
  CHECK(Bandwidth(1) * percent(50'00) == Bandwidth(1));
  CHECK(Bandwidth::max() * kFullEfficiency == Bandwidth::max());
  // 63 GB/s at 76.19 %: exact in integers, where doubles would have to round.
  CHECK(Bandwidth(63'000'000'000) * percent(76'19) == Bandwidth(47'999'700'000));
}

TEST_CASE("dimensions have an efficiency each") {
  const Fabric fabric =
      fabric_of(dims("{topology: switch, size: 4, bandwidth: 300 GB/s, efficiency: 80 %, latency: 700 ns},"
                     "{topology: ring, size: 3, bandwidth: 25 GB/s, latency: 2 us}"));
  const auto of = rates(fabric);
  CHECK(of.at("dim0.up") == Rate{gb(300), percent(80'00), gb(240)});
  CHECK(of.at("dim0.down") == of.at("dim0.up"));
  CHECK(of.at("dim1.up") == Rate{gb(25), kFullEfficiency, gb(25)});
}

TEST_CASE("trunks between switches have the efficiency of their fabric, whatever the routing") {
  const std::string text = dims(
      "{topology: fat-tree, size: 8, leaf_ports: 4, bandwidth: 10 GB/s, efficiency: 90 %, latency: 1 us,"
      " trunk_latency: 1 us}");
  for (const RoutingKind kind : {RoutingKind::kSpray, RoutingKind::kDeterministic})
    for (const auto& [name, rate] : rates(fabric_of(text, {kind}))) {
      CAPTURE(name);
      CHECK(rate.efficiency == percent(90'00));
      CHECK(rate.rate == rate.nominal * percent(90'00));
    }
}

TEST_CASE("the fabric of a node, its host links and its NICs have an efficiency each") {
  const Fabric fabric = fabric_of(
      "cluster:\n"
      "  node:\n"
      "    device: {name: x}\n"
      "    devices: 2\n"
      "    fabric: {name: nvlink, topology: switch, bandwidth: 200 GB/s, efficiency: 82.4 %, latency: 1 us}\n"
      "    nics: {count: 4, bandwidth: 10 GB/s, efficiency: 96.86 %, host_bandwidth: 31.5 GB/s,"
      " host_efficiency: 76.19 %, host_latency: 1 us}\n"
      "  scale_out: {topology: switch, latency: 1 us}\n"
      "nodes: 2\n");
  const auto of = rates(fabric);
  CHECK(of.at("nvlink.up") == Rate{gb(200), percent(82'40), Bandwidth(164'800'000'000)});
  CHECK(of.at("pcie.up") == Rate{Bandwidth(31'500'000'000), percent(76'19), Bandwidth(23'999'850'000)});
  CHECK(of.at("pcie.down") == of.at("pcie.up"));
  // Two NICs a device, as one trunk.
  CHECK(of.at("nic.down") == Rate{gb(20), percent(96'86), Bandwidth(19'372'000'000)});
}

TEST_CASE("a link that is written out has its own, and routes go by what messages get") {
  // 0 to 1 over a (30 GB/s at half) or over b (20 GB/s): as far, and b is wider.
  const std::string links =
      "links: [{from: gpu0, to: a, bandwidth: 30 GB/s, efficiency: 50 %, latency: 1 us},"
      " {from: a, to: gpu1, bandwidth: 30 GB/s, latency: 1 us},"
      " {from: gpu0, to: b, bandwidth: 10 GB/s, count: 2, latency: 1 us},"
      " {from: b, to: gpu1, bandwidth: 20 GB/s, latency: 1 us}]";
  for (const std::string& text : {"cluster: {node: {device: {name: x}, devices: 2, " + links + "}}\n",
                                  dims("{topology: edge-list, " + links + "}")}) {
    const Fabric fabric = fabric_of(text);
    CHECK(way(fabric, 0, 1).narrowest == gb(20));
    const std::string dot = dot_text(fabric, "x");
    CHECK(dot.find("30 GB/s x 50 %") != std::string::npos);
    CHECK(dot.find("30 GB/s\\n") != std::string::npos);
  }
}

TEST_CASE("links that a topology matrix implies have an efficiency by kind, the host bridge that of PCIe") {
  const std::filesystem::path matrix = std::filesystem::path(ORRERY_BINARY_DIR) / "efficiency_matrix.txt";
  std::ofstream(matrix) << "\tGPU0\tGPU1\tGPU2\n"
                           "GPU0\t X \tNV4\tSYS\n"
                           "GPU1\tNV4\t X \tSYS\n"
                           "GPU2\tSYS\tSYS\t X \n";
  const std::string start = "cluster: {node: {device: {name: x}, devices: 3, topology_matrix: " + matrix.string() +
                            ", capacities: {pcie: 31.5 GB/s, nvlink_efficiency: 80 %, pcie_efficiency: 76.19 %";
  const Fabric fabric = fabric_of(start + "}}}\n");
  CHECK(way(fabric, 0, 1).narrowest == gb(80));  // 4 * 25 GB/s * 80 %
  CHECK(way(fabric, 0, 2).narrowest == gb(10));  // between sockets: 100 %
  CHECK(way(fabric_of(start + ", sockets: 40 GB/s}}}\n"), 0, 2).narrowest == Bandwidth(23'999'850'000));
  CHECK(way(fabric_of(start + ", sockets_efficiency: 50 %}}}\n"), 0, 2).narrowest == gb(5));
}

TEST_CASE("kinds of links that differ in efficiency only are shown apart") {
  const Fabric fabric = fabric_of(
      dims("{topology: edge-list, links: [{from: gpu0, to: gpu1, bandwidth: 8 GB/s, efficiency: 50 %, latency: 1 us},"
           " {from: gpu1, to: gpu2, bandwidth: 8 GB/s, latency: 1 us}]}"));
  const FabricSummary summary = summarise(fabric);
  REQUIRE(summary.links.size() == 2);
  CHECK(summary.links[0].link.nominal == summary.links[1].link.nominal);
  CHECK(summary.links[0].link.bandwidth == gb(4));
  CHECK(summary.links[1].link.bandwidth == gb(8));
}

TEST_CASE("an efficiency is more than nothing, at most all, and has its unit") {
  for (const char* text :
       {"0 %", "120 %", "100.0001 %", "0.8", "1", "-5 %", "80 GB/s", "most", "0.00000001 %", "nan %"}) {
    CAPTURE(text);
    const std::string errors =
        read_cluster_text(
            dims(std::string("{topology: ring, size: 4, bandwidth: 25 GB/s, efficiency: ") + text + ", latency: 2 us}"))
            .errors;
    CHECK(errors.find("cluster.dims[].efficiency") != std::string::npos);
  }
}
