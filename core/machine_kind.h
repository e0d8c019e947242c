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

// Architectures of accelerators, those of a maker side by side and the oldest first; kOther is an unknown one.
enum class Architecture : std::uint8_t {
  kOther,
  kPascal,
  kVolta,
  kTuring,
  kAmpere,
  kAda,
  kHopper,
  kBlackwell,
  kRubin,
  kCdna2,
  kCdna3,
  kCdna4,
  kCdna5,
  kGaudi3,
  kTrainium2,
  kTrainium3,
  kIronwood,
  kAscend910,
};

// Makers of accelerators. GPUs of NVIDIA run NCCL, those of AMD RCCL, which decides as NCCL does.
enum class Maker : std::uint8_t { kOther, kNvidia, kAmd, kIntel, kAmazon, kGoogle, kHuawei };

// Way in which most GPUs of a node reach one another. kPcie: peer to peer; kHost: by copies through the host's memory;
// kEthernet: scale-up Ethernet (SUE, ESUN), with accelerators' own ports.
enum class NodeLinkKind : std::uint8_t { kOther, kNvlink, kXgmi, kPcie, kHost, kUalink, kEthernet };

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

Maker maker_of(Architecture architecture);
// GPUs, whose collectives NCCL or RCCL run.
bool is_gpu(Architecture architecture);
// Architecture whose measured constants stand in where nothing was measured on the given one: that of the maker's last
// generation that was (Blackwell for Rubin, CDNA 3 for CDNA 4 and 5). Others are their own.
Architecture measured_as(Architecture architecture);
// NVIDIA's architectures from Hopper on: their NVLink switches copy and add up (NVLS).
bool is_from_hopper_on(Architecture architecture);
// Links of a node on which devices hand messages to the device that is on the receiver's rail.
bool carries_relays(NodeLinkKind kind);

// "ampere", "nvlink", "efa-v1", "other": the words of configurations; "NVIDIA".
std::string_view name_of(Architecture architecture);
std::string_view name_of(NodeLinkKind kind);
std::string_view name_of(NetworkKind kind);
std::string_view name_of(Maker maker);

// All of them, in the order of the enumerations.
std::vector<std::string> architecture_names();
std::vector<std::string> node_link_names();
std::vector<std::string> network_kind_names();

}  // namespace orrery
