// SPDX-License-Identifier: MIT
// `topology_matrix` of a node: what `nvidia-smi topo -m` prints, for every two GPUs and NICs by what way they are
// joined, and from it the graph of the node: the PCIe tree that the matrix implies, and NVLink beside it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.h"
#include "core/error.h"
#include "network/fabric/link_type.h"
#include "network/fabric/routed_graph.h"
#include "network/topologies/graph_config.h"

namespace orrery::network {

// From near to far. NVLink says nothing about where two GPUs are on PCIe.
enum class MatrixPath : std::uint8_t {
  kSelf,    // X
  kPix,     // one PCIe switch
  kPxb,     // several PCIe switches
  kPhb,     // a host bridge
  kNode,    // several host bridges of a socket
  kSys,     // several sockets (SOC in old versions)
  kNvlink,  // NV#
};

struct MatrixEntry {
  MatrixPath path = MatrixPath::kSelf;
  std::uint32_t links = 0;  // kNvlink: bonded

  bool operator==(const MatrixEntry&) const = default;
};

struct TopologyMatrix {
  std::uint32_t devices = 0;
  std::uint32_t nics = 0;
  std::vector<MatrixEntry> entries;   // row by row: GPUs, then NICs; symmetric
  std::vector<std::string> affinity;  // by GPU: the processors it is near to, as printed; "" if not said
  std::vector<int> lines;             // by row

  std::uint32_t members() const { return devices + nics; }
  const MatrixEntry& at(std::uint32_t row, std::uint32_t column) const {
    return entries[std::size_t{row} * members() + column];
  }
};

// Empty (no devices) after an error; errors name the line of `file`.
TopologyMatrix parse_topology_matrix(std::string_view text, const std::string& file, Diagnostics& diagnostics);

inline constexpr std::uint32_t kMostNvlinks = 18;  // of a GPU, in any generation that was sold so far

struct MatrixCapacity {
  Bandwidth bandwidth{1};  // nominal, of one link, per direction
  Duration latency{};
  Efficiency efficiency = kFullEfficiency;
};

// Link figures that a topology matrix does not contain.
struct MatrixCapacities {
  MatrixCapacity nvlink;                 // one of the NV# bonded links; latency from GPU to GPU
  MatrixCapacity pcie;                   // device, NIC or switch to what is above it
  MatrixCapacity host_bridge;            // host bridge to the rest of its socket
  MatrixCapacity sockets;                // a socket to the others; latency from socket to socket
  std::uint32_t nvlinks = kMostNvlinks;  // that a GPU has, where that is known
};

// GPUs that are PIX share a PCIe switch, those that are PXB a switch above, PHB a host bridge, NODE a socket, SYS the
// connection between sockets. Where two GPUs are joined by NVLink, their place on PCIe follows from the NICs that are
// near to both, else from the processors they are near to. NVLink is direct, or through an NVSwitch where a GPU would
// need more links than it has, or than any has (18). With `with_nics`, the NICs are members. Empty after an error: a
// matrix in which, for example, A and B share a switch, and B and C, but not A and C.
GraphSpec graph_of(const TopologyMatrix& matrix, const MatrixCapacities& capacities, bool with_nics,
                   const std::string& file, Diagnostics& diagnostics);

// Reads the matrix from its file, and `capacities` beside it: the graph of the node, without its NICs if `members` has
// none. What `capacities` leaves out, the generations of the device's `links` say. Empty after an error.
RoutedGraph read_matrix(Section& section, const GraphMembers& members, const DeviceLinks& links);

}  // namespace orrery::network
