// SPDX-License-Identifier: MIT
// Decisions of NCCL for a communicator (NCCL_GRAPH_DUMP_FILE): for each kind of algorithm its channels, and the speed
// that it counts on in each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/files/xml.h"

namespace orrery::network {

struct NcclGraph {
  std::string name;            // "ring", "tree", "collnet-chain", "nvls", "collnet-direct"
  std::uint32_t channels = 0;  // as the search found them; rings and trees get twice as many
  double within = 0;           // GB/s of a channel in the node
  double between = 0;          // GB/s of a channel between nodes
  std::string within_type;     // "NVL", "PIX"
  std::string between_type;
  std::uint32_t nics = 0;  // that its channels use; 0: it stays in a node
};

// The graphs of a document whose root is <graphs>. InputError, with its line, for what NCCL does not write.
std::vector<NcclGraph> read_nccl_graphs(const XmlDocument& document);

// Lines of the section `nccl` of a cluster: the numbers of channels that follow from the graphs.
std::vector<std::string> nccl_lines(const std::vector<NcclGraph>& graphs);

// "ring: 12 channels of 30 GB/s, 360 GB/s (NVL)".
std::string text_of(const NcclGraph& graph);

}  // namespace orrery::network
