// SPDX-License-Identifier: MIT
// Properties of a cluster's machines that a communication library decides by: the generation of the GPUs, how those of
// a node reach one another, and what joins the nodes. Bandwidths and latencies are the fabric's; these are the facts
// that a library decides by and that no bandwidth tells.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

// Architectures of NVIDIA's and AMD's GPUs; kOther is any other or an unknown one.
enum class Architecture : std::uint8_t {
  kOther,
  kPascal,
  kVolta,
  kTuring,
  kAmpere,
  kAda,
  kHopper,
  kBlackwell,
  kCdna2,
  kCdna3,
};

// Way in which most GPUs of a node reach one another. kPcie: peer to peer; kHost: by copies through the host's memory.
enum class NodeLinkKind : std::uint8_t { kOther, kNvlink, kXgmi, kPcie, kHost };

// kEfaV2: the second generation of the Elastic Fabric Adapter and those after it. kEthernet: without RDMA.
enum class NetworkKind : std::uint8_t {
  kOther,
  kInfiniband,
  kRoce,
  kEfaV1,
  kEfaV2,
  kTcpx,
  kSlingshot,
  kOmniPath,
  kEthernet,
};

// Interconnects within a node and between nodes.
struct InterconnectKind {
  NodeLinkKind within = NodeLinkKind::kOther;
  bool multicast = false;  // switches of the node copy messages and add them up on the way (NVLS)
  NetworkKind network = NetworkKind::kOther;
  bool in_network_reduction = false;  // switches between the nodes add up (SHARP)

  bool operator==(const InterconnectKind&) const = default;
};

struct MachineKind : InterconnectKind {
  Architecture architecture = Architecture::kOther;  // of several, the oldest
  bool is_uniform = true;                            // all are of one

  bool operator==(const MachineKind&) const = default;
};

// Properties common to several kinds of nodes that are joined alike: the oldest architecture, and the features that all
// have.
MachineKind common_machine(std::span<const MachineKind> machines);

// "ampere", "nvlink", "efa-v1", "other": the words of configurations.
std::string_view name_of(Architecture architecture);
std::string_view name_of(NodeLinkKind kind);
std::string_view name_of(NetworkKind kind);

// All of them, in the order of the enumerations.
std::vector<std::string> architecture_names();
std::vector<std::string> node_link_names();
std::vector<std::string> network_kind_names();

}  // namespace orrery
