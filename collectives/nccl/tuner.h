// SPDX-License-Identifier: MIT
// Table of a tuner plug-in: what NCCL is told to take, by operation, size, nodes and ranks, in place of its own choice.
// The format is that of NVIDIA's example plug-in (NVIDIA/nccl, ext-tuner/example):
//
//   collective,min_bytes,max_bytes,algorithm,protocol,channels,nodes,ranks[,pipelined operations[,registered buffers]]
//
// with -1 for any number of nodes and ranks, and for NCCL's own number of channels. The first row that fits holds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/nccl/options.h"
#include "core/collective_kind.h"
#include "core/error.h"
#include "core/units.h"

namespace orrery::collectives {

struct NcclTunerRow {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::int64_t least = 0;  // bytes of the larger of a rank's buffers
  std::int64_t most = 0;
  NcclAlgorithm algorithm = NcclAlgorithm::kRing;
  NcclProtocol protocol = NcclProtocol::kSimple;
  std::int64_t channels = -1;  // -1: NCCL's own
  std::int64_t nodes = -1;     // -1: any
  std::int64_t ranks = -1;     // -1: any
  int line = 0;
};

struct NcclTuner {
  std::string file;
  std::vector<NcclTunerRow> rows;  // but those that ask for several calls at once or registered buffers

  // The row for a call; null where none fits. `bytes` as Request::bytes.
  const NcclTunerRow* row_of(CollectiveKind kind, Bytes bytes, std::uint32_t nodes, std::uint32_t ranks) const;
};

// Errors name the line.
NcclTuner parse_nccl_tuner(std::string_view text, const std::string& file, Diagnostics& diagnostics);

}  // namespace orrery::collectives
