// SPDX-License-Identifier: MIT
// What `nvidia-smi topo -m` prints: for every two GPUs and NICs of a node, by what way they are joined.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

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

}  // namespace orrery::network
