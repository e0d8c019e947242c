// SPDX-License-Identifier: MIT
// Cost of each of NCCL's algorithms before the fabric determines how long its bytes take: the steps that it waits for,
// and the bytes that every rank sends.
#pragma once

#include <optional>
#include <vector>

#include "collectives/aggregate.h"
#include "collectives/nccl/candidates.h"
#include "collectives/nccl/constants.h"
#include "collectives/nccl/options.h"

namespace orrery::collectives {

// Bytes that each rank sends for the data alone, counted as in Aggregate.
struct NcclVolume {
  NodePattern pattern = NodePattern::kRing;
  double within = 0;
  double between = 0;
};

struct NcclCost {
  std::optional<NcclAlgorithm> algorithm;  // none of what is made of sends
  NcclProtocol protocol;
  NcclVolume volume;
  double latency = 0;  // seconds, without launch and chunks
  // Shares of the links' rates: what goes on the wire is the volume by these.
  double within_efficiency = 1;
  double between_efficiency = 1;
  double stages = 0;         // of the pipe that chunks fill; 0: no chunks
  double chunk_cost = 0;     // seconds that a kernel spends on a chunk
  double largest_chunk = 0;  // as a share of all
  double local = 0;          // bytes that each rank writes to its own memory besides
  double least = 0;          // seconds that the bytes take on however fast links
  double sends = 0;          // sends and receives of each rank that its host prepares
};

// One that NCCL offers for such calls, whatever their size.
struct NcclCandidate {
  std::optional<NcclAlgorithm> algorithm;  // none of what is made of sends
  NcclProtocol protocol;                   // which follows from the size of what is made of sends
};

// All that it offers, in the order of the enumerations.
std::vector<NcclCandidate> nccl_candidates(const NcclCall& call, const NcclOptions& options);

NcclCost nccl_cost(const NcclCandidate& candidate, const NcclCall& call, const NcclOptions& options,
                   const NcclConstants& constants);

}  // namespace orrery::collectives
