// SPDX-License-Identifier: MIT
#include "core/machine_kind.h"

#include <algorithm>
#include <array>

namespace orrery {
namespace {

// An architecture: its word in configurations, its maker, and the one whose measured constants it has.
struct Generation {
  std::string_view name;
  Maker maker;
  Architecture measured_as;
};

constexpr std::array kGenerations = {
    Generation{"other", Maker::kOther, Architecture::kOther},
    Generation{"pascal", Maker::kNvidia, Architecture::kPascal},
    Generation{"volta", Maker::kNvidia, Architecture::kVolta},
    Generation{"turing", Maker::kNvidia, Architecture::kTuring},
    Generation{"ampere", Maker::kNvidia, Architecture::kAmpere},
    Generation{"ada", Maker::kNvidia, Architecture::kAda},
    Generation{"hopper", Maker::kNvidia, Architecture::kHopper},
    Generation{"blackwell", Maker::kNvidia, Architecture::kBlackwell},
    Generation{"rubin", Maker::kNvidia, Architecture::kBlackwell},
    Generation{"cdna2", Maker::kAmd, Architecture::kCdna2},
    Generation{"cdna3", Maker::kAmd, Architecture::kCdna3},
    Generation{"cdna4", Maker::kAmd, Architecture::kCdna3},
    Generation{"cdna5", Maker::kAmd, Architecture::kCdna3},
    Generation{"gaudi3", Maker::kIntel, Architecture::kGaudi3},
    Generation{"trainium2", Maker::kAmazon, Architecture::kTrainium2},
    Generation{"trainium3", Maker::kAmazon, Architecture::kTrainium3},
    Generation{"ironwood", Maker::kGoogle, Architecture::kIronwood},
    Generation{"ascend910", Maker::kHuawei, Architecture::kAscend910},
};
static_assert(kGenerations.size() == static_cast<std::size_t>(Architecture::kAscend910) + 1);

constexpr std::array<std::string_view, 7> kMakers = {"other", "NVIDIA", "AMD", "Intel", "Amazon", "Google", "Huawei"};
constexpr std::array<std::string_view, 7> kNodeLinks = {"other", "nvlink", "xgmi",    "pcie",
                                                        "host",  "ualink", "ethernet"};
constexpr std::array<std::string_view, 9> kNetworks = {"other", "infiniband", "roce",      "efa-v1",  "efa-v2",
                                                       "tcpx",  "slingshot",  "omni-path", "ethernet"};

const Generation& generation(Architecture architecture) { return kGenerations[static_cast<std::size_t>(architecture)]; }

}  // namespace

std::string_view name_of(Architecture architecture) { return generation(architecture).name; }
std::string_view name_of(Maker maker) { return kMakers[static_cast<std::size_t>(maker)]; }
std::string_view name_of(NodeLinkKind kind) { return kNodeLinks[static_cast<std::size_t>(kind)]; }
std::string_view name_of(NetworkKind kind) { return kNetworks[static_cast<std::size_t>(kind)]; }

MachineKind common_machine(std::span<const MachineKind> machines) {
  MachineKind common = machines.front();
  for (const MachineKind& machine : machines) {
    common.is_uniform =
        common.is_uniform && machine.is_uniform && machine.architecture == machines.front().architecture;
    common.architecture = std::min(common.architecture, machine.architecture);
    common.multicast = common.multicast && machine.multicast;
  }
  return common;
}

Maker maker_of(Architecture architecture) { return generation(architecture).maker; }

bool is_gpu(Architecture architecture) {
  return maker_of(architecture) == Maker::kNvidia || maker_of(architecture) == Maker::kAmd;
}

Architecture measured_as(Architecture architecture) { return generation(architecture).measured_as; }

bool is_from_hopper_on(Architecture architecture) {
  return maker_of(architecture) == Maker::kNvidia && architecture >= Architecture::kHopper;
}

bool carries_relays(NodeLinkKind kind) {
  return kind == NodeLinkKind::kNvlink || kind == NodeLinkKind::kUalink || kind == NodeLinkKind::kEthernet;
}

std::vector<std::string> architecture_names() {
  std::vector<std::string> names;
  for (const Generation& generation : kGenerations) names.emplace_back(generation.name);
  return names;
}
std::vector<std::string> node_link_names() { return {kNodeLinks.begin(), kNodeLinks.end()}; }
std::vector<std::string> network_kind_names() { return {kNetworks.begin(), kNetworks.end()}; }

}  // namespace orrery
