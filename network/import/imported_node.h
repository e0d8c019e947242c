// SPDX-License-Identifier: MIT
// Node as the file of another tool has it, before it is written as a configuration: what joins its GPUs, CPUs and NICs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine_kind.h"
#include "core/units.h"

namespace orrery::network {

struct ImportedLink {
  std::string from;
  std::string to;
  std::string link_class;
  std::string kind{};                 // of configs/links; none: `gigabytes` says all
  std::optional<double> gigabytes{};  // GB/s, in place of the kind's
  Duration latency{};
  std::uint32_t count = 1;
};

// Fabric that joins all GPUs alike: a link from each to each, or a switch.
struct ImportedFabric {
  std::string name;
  std::string topology;               // "fully-connected", "switch"
  std::string kind{};                 // of configs/links; none: `gigabytes` says all
  std::optional<double> gigabytes{};  // GB/s; none: by the kind, of a switch times the device's number of links
  Duration latency{};
};

struct ImportedNode {
  std::vector<std::string> notes{};  // lines above it, for people
  std::string device;                // of configs/devices
  std::uint32_t devices = 0;
  NodeLinkKind interconnect = NodeLinkKind::kOther;
  bool multicast = false;
  std::optional<ImportedFabric> fabric{};  // in place of `links` where these are empty, or nodes are mixed
  std::vector<ImportedLink> links{};       // GPU, NIC, switch, CPU
  std::uint32_t nics = 0;
  double nic_gigabits = 0;              // Gb/s of each
  std::vector<std::uint32_t> nic_of{};  // by device
  std::string host_link{};              // of configs/links, to the NICs
  std::string network{};                // of configs/networks
  std::vector<std::string> assumed{};   // keys
};

// Cluster of these nodes, those that are alike together, on one switch where they have NICs; `nccl`: lines of its
// section, may be empty. Text of a configuration. Nodes of several kinds, which are told apart by is_alike(), all have
// a `fabric`: links that are written out do not mix.
std::string cluster_text(std::span<const ImportedNode> nodes, std::span<const std::string> nccl);

bool is_alike(const ImportedNode& a, const ImportedNode& b);

// Finds for each device the NIC it uses: of the nearest, the next that no other device has taken, since NCCL spreads
// GPUs over NICs that are as near. Several NICs of each device become one of their bandwidths together, which a note
// says.
void assign_nics(ImportedNode& node);

}  // namespace orrery::network
