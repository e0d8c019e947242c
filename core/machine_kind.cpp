// SPDX-License-Identifier: MIT
#include "core/machine_kind.h"

#include <algorithm>
#include <array>

namespace orrery {
namespace {

constexpr std::array<std::string_view, 10> kArchitectures = {"other", "pascal", "volta",     "turing", "ampere",
                                                             "ada",   "hopper", "blackwell", "cdna2",  "cdna3"};
constexpr std::array<std::string_view, 5> kNodeLinks = {"other", "nvlink", "xgmi", "pcie", "host"};
constexpr std::array<std::string_view, 9> kNetworks = {"other", "infiniband", "roce",      "efa-v1",  "efa-v2",
                                                       "tcpx",  "slingshot",  "omni-path", "ethernet"};

}  // namespace

std::string_view name_of(Architecture architecture) { return kArchitectures[static_cast<std::size_t>(architecture)]; }
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

std::vector<std::string> architecture_names() { return {kArchitectures.begin(), kArchitectures.end()}; }
std::vector<std::string> node_link_names() { return {kNodeLinks.begin(), kNodeLinks.end()}; }
std::vector<std::string> network_kind_names() { return {kNetworks.begin(), kNetworks.end()}; }

}  // namespace orrery
