// SPDX-License-Identifier: MIT
// From a topology matrix to the graph of a node: the PCIe tree that the matrix implies, and NVLink beside it.
#pragma once

#include "core/error.h"
#include "network/config/topology_matrix.h"
#include "network/fabric/routed_graph.h"

namespace orrery::network {

struct MatrixCapacity {
  Bandwidth bandwidth{1};  // nominal, of one link, per direction
  Duration latency{};
  Efficiency efficiency = kFullEfficiency;
};

// What the matrix does not say.
struct MatrixCapacities {
  MatrixCapacity nvlink;       // one of the NV# bonded links; latency from GPU to GPU
  MatrixCapacity pcie;         // device, NIC or switch to what is above it
  MatrixCapacity host_bridge;  // host bridge to the rest of its socket
  MatrixCapacity sockets;      // a socket to the others; latency from socket to socket
};

// GPUs that are PIX share a PCIe switch, those that are PXB a switch above, PHB a host bridge, NODE a socket, SYS the
// connection between sockets. Where two GPUs are joined by NVLink, their place on PCIe follows from the NICs that are
// near to both, else from the processors they are near to. NVLink is direct, or through an NVSwitch where a GPU would
// need more than the 18 links that any has. With `with_nics`, the NICs are members. Empty after an error: a matrix in
// which, for example, A and B share a switch, and B and C, but not A and C.
GraphSpec graph_of(const TopologyMatrix& matrix, const MatrixCapacities& capacities, bool with_nics,
                   const std::string& file, Diagnostics& diagnostics);

}  // namespace orrery::network
