// SPDX-License-Identifier: MIT
// What kind of machine a cluster is: the facts that communication libraries decide by.
#include <catch2/catch.hpp>
#include <string>

#include <fmt/format.h>

#include "experiment/experiment.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::experiment;

namespace {

MachineKind kind_of(const std::string& text) {
  Diagnostics diagnostics;
  ConfigValue root = parse_config(text, "x.yaml", diagnostics);
  return read_machine("x.yaml", std::move(root), kFiles, diagnostics).machine_kind();
}

MachineKind shipped(const std::string& cluster) { return kind_of(fmt::format("cluster: {}\nnodes: 2\n", cluster)); }

std::string errors_of(const std::string& text) {
  try {
    kind_of(text);
    return {};
  } catch (const InputError& error) {
    return error.what();
  }
}

// A node of two A100 with these further keys.
std::string node(const std::string& keys, const char* topology = "switch") {
  return fmt::format(
      "cluster:\n  node:\n    device: a100-sxm-80gb\n    devices: 2\n"
      "    fabric: {{topology: {}, bandwidth: 300 GB/s, latency: 700 ns}}\n{}",
      topology, keys);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr auto kNvlink = NodeLinkKind::kNvlink;

}  // namespace

TEST_CASE("shipped clusters say what they are") {
  const auto machine = [](NodeLinkKind within, bool multicast, NetworkKind network, Architecture architecture) {
    return MachineKind{{within, multicast, network, false}, architecture};
  };
  CHECK(shipped("dgx-a100") == machine(kNvlink, false, NetworkKind::kInfiniband, Architecture::kAmpere));
  CHECK(shipped("dgx-h100") == machine(kNvlink, true, NetworkKind::kInfiniband, Architecture::kHopper));
  CHECK(shipped("gb200-nvl72") == machine(kNvlink, true, NetworkKind::kInfiniband, Architecture::kBlackwell));
  CHECK(shipped("aws-p4d") == machine(kNvlink, false, NetworkKind::kEfaV1, Architecture::kAmpere));
  CHECK(shipped("aws-p5en") == machine(kNvlink, true, NetworkKind::kEfaV2, Architecture::kHopper));
  CHECK(shipped("gcp-a3-mega") == machine(kNvlink, true, NetworkKind::kTcpx, Architecture::kHopper));
  CHECK(shipped("jeanzay-a100") == machine(kNvlink, false, NetworkKind::kOmniPath, Architecture::kAmpere));
  CHECK(shipped("dgx-1v") == machine(kNvlink, false, NetworkKind::kInfiniband, Architecture::kVolta));
  CHECK(shipped("l40s-pcie") == machine(NodeLinkKind::kPcie, false, NetworkKind::kRoce, Architecture::kAda));
  CHECK(shipped("rtx4090-pcie") == machine(NodeLinkKind::kHost, false, NetworkKind::kRoce, Architecture::kAda));
  CHECK(shipped("mi300x-8") == machine(NodeLinkKind::kXgmi, false, NetworkKind::kRoce, Architecture::kCdna3));
  CHECK(shipped("alps-gh200") == machine(kNvlink, false, NetworkKind::kSlingshot, Architecture::kHopper));
  CHECK(shipped("tpu-v4-pod") == MachineKind{});
  CHECK(shipped("rubin-nvl144") == machine(kNvlink, true, NetworkKind::kInfiniband, Architecture::kRubin));
  CHECK(shipped("helios-72") == machine(NodeLinkKind::kUalink, false, NetworkKind::kRoce, Architecture::kCdna5));
  CHECK(shipped("gaudi3-8") == machine(NodeLinkKind::kEthernet, false, NetworkKind::kRoce, Architecture::kGaudi3));
  CHECK(shipped("trn2-48xlarge").architecture == Architecture::kTrainium2);
}

TEST_CASE("what was not measured is stood in for by the maker's last generation that was") {
  for (std::size_t i = 0; i < architecture_names().size(); ++i) {
    const auto architecture = static_cast<Architecture>(i);
    const Architecture measured = measured_as(architecture);
    INFO(name_of(architecture));
    CHECK(maker_of(measured) == maker_of(architecture));
    CHECK(measured <= architecture);
    CHECK(measured_as(measured) == measured);
  }
  CHECK(measured_as(Architecture::kRubin) == Architecture::kBlackwell);
  CHECK(measured_as(Architecture::kCdna4) == Architecture::kCdna3);
  CHECK(measured_as(Architecture::kHopper) == Architecture::kHopper);
  CHECK(name_of(maker_of(Architecture::kIronwood)) == "Google");
  CHECK(is_gpu(Architecture::kCdna5));
  CHECK_FALSE(is_gpu(Architecture::kGaudi3));
  CHECK_FALSE(is_from_hopper_on(Architecture::kCdna5));
  CHECK(is_from_hopper_on(Architecture::kRubin));
}

TEST_CASE("every shipped cluster of GPUs names its network and how its GPUs reach one another") {
  std::size_t gpus = 0;
  for (const std::string& cluster : kFiles.names("clusters")) {
    INFO(cluster);
    const MachineKind kind = shipped(cluster);
    if (!is_gpu(kind.architecture)) continue;
    ++gpus;
    CHECK(kind.within != NodeLinkKind::kOther);
    CHECK(kind.network != NetworkKind::kOther);
    // NVSwitch 3 came with Hopper; GH200 nodes and bridged cards have no switch.
    const bool is_bridged = cluster == "h100-pcie-pair" || cluster == "h200-nvl" || cluster == "h200-nvl-pair";
    CHECK(kind.multicast ==
          (is_from_hopper_on(kind.architecture) && kind.within == kNvlink && cluster != "alps-gh200" && !is_bridged));
    CHECK_FALSE(kind.in_network_reduction);  // no source says so
  }
  CHECK(gpus > 30);
}

TEST_CASE("every generation, link and network has a name of its own, which is read as that") {
  const std::vector<std::string> architectures = architecture_names();
  for (std::size_t i = 0; i < architectures.size(); ++i) {
    CHECK(name_of(static_cast<Architecture>(i)) == architectures[i]);
    Diagnostics diagnostics;
    ConfigValue root = parse_config("cluster: dgx-a100\n", "x.yaml", diagnostics);
    apply_setting(root, "cluster.node.device.architecture=" + architectures[i], kFiles, diagnostics);
    CHECK(read_machine("x", root, kFiles, diagnostics).machine_kind().architecture == static_cast<Architecture>(i));
  }
  const std::vector<std::string> links = node_link_names();
  for (std::size_t i = 0; i < links.size(); ++i)
    CHECK(kind_of(node("    interconnect: " + links[i] + "\n")).within == static_cast<NodeLinkKind>(i));
  const std::vector<std::string> networks = network_kind_names();
  for (std::size_t i = 0; i < networks.size(); ++i) {
    const MachineKind kind = kind_of(node(
        "  scale_out: {topology: switch, latency: 1 us, in_network_reduction: true, network: " + networks[i] + "}\n"));
    CHECK(kind.network == static_cast<NetworkKind>(i));
    CHECK(kind.in_network_reduction);
  }
}

TEST_CASE("of dimensions only the device is known") {
  const MachineKind kind = kind_of(
      "cluster:\n  device: h100-sxm\n  dims: [{topology: switch, size: 8, bandwidth: 1 GB/s, latency: 1 us}]\n");
  CHECK(kind == MachineKind{{}, Architecture::kHopper});
}

TEST_CASE("only NVLink switches multicast") {
  CHECK(kind_of(node("    interconnect: nvlink\n    multicast: true\n")).multicast);
  CHECK(has(errors_of(node("    interconnect: pcie\n    multicast: true\n")),
            "'multicast' is of NVLink switches, but 'interconnect' is pcie\n  hint: write 'interconnect: nvlink'"));
  CHECK(has(errors_of(node("    multicast: true\n")), "but 'interconnect' is other"));
  CHECK(has(errors_of(node("    interconnect: nvlink\n    multicast: true\n", "ring")), "but the fabric is a ring"));
  CHECK(errors_of(node("    interconnect: pcie\n    multicast: false\n")).empty());
  CHECK(has(errors_of(node("    interconnect: nvlnk\n")), "did you mean 'nvlink'?"));
}

TEST_CASE("a host launches kernels in no time up to a hundred times that of an H100 node's") {
  const auto errors = [](const char* launch) { return errors_of(node(fmt::format("    host_launch: {}\n", launch))); };
  for (const char* launch : {"0", "1.4", "100"}) CHECK(errors(launch) == "");
  CHECK(has(errors("-0.1"), "'-0.1' is negative"));
  CHECK(has(errors("100.1"), "invalid factor 100.1"));
}
