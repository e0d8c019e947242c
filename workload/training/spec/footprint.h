// SPDX-License-Identifier: MIT
// Memory that a training software takes beside what a job needs by its arithmetic: workspaces and buffers that its
// libraries take from the framework's allocator, and what it keeps of activations where kernels and their order leave
// a choice. The key `footprint` of a software.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "core/config/config.h"
#include "core/machine_kind.h"
#include "core/units.h"

namespace orrery::workload {

// Place where results of experts are weighted by the router. kResults: behind an expert, whose results are kept;
// kActivations: within, before its last product, so that activations are kept with and without weights, but for a
// gated one that one kernel weights.
enum class RouterWeights : std::uint8_t { kResults, kActivations };

// One buffer of a rank that is as large as the largest of its uses and stays. kGathers: what tensor-parallel ranks
// gather along the sequence before the head, and tokens that are gathered for experts. kScores: these, and the scores
// of plain attention (Megatron-Core's global memory buffer).
enum class SharedBuffer : std::uint8_t { kNone, kGathers, kScores };

// Workspaces of one architecture.
struct Workspaces {
  Bytes products{0};  // of the framework's own products, for the thread that launches forward passes and for the other
  Bytes modules{0};   // of the products of a library of layers (Transformer Engine)

  bool operator==(const Workspaces&) const = default;
};

struct Footprint {
  // Memory of a device that no allocator of the framework counts: that of the context and communication libraries, and
  // what the allocator holds and cannot use, as a share of the need. Fitted to the memory that the tables of
  // configs/validation/training have.
  Bytes reserve{7LL << 30};
  double fragments = 0.08;
  std::optional<Bytes> loss;  // of a score of the vocabulary, at the peak; without it, its value and 4
  std::map<Architecture, Workspaces> workspaces_of;
  Workspaces workspaces;            // of the cluster's architecture: settle()
  Bytes deterministic{32LL << 20};  // of a thread's own products, where kernels are deterministic
  std::int64_t pieces = 1;          // workspaces of modules where tensor-parallel products come in pieces
  std::int64_t grouped = 0;         // workspaces of modules more, for grouped products of experts
  SharedBuffer buffer = SharedBuffer::kNone;
  std::int64_t received = 0;    // activations of neighbours that a pipeline's stage holds
  bool gradient_copy = false;   // 16-bit gradients are copied to fp32 for the optimizer's step
  bool attention_mask = false;  // a byte for each query and key of a micro-batch
  bool attention_copy = false;  // flash attention keeps its result apart from the projection's input
  RouterWeights router_weights = RouterWeights::kResults;
  Bytes weight_gradient{0};         // of a weight of a layer's largest product, while the gradient is made
  std::int64_t deferred_heads = 0;  // micro-batches whose weight gradients of the head are put off, at most

  bool operator==(const Footprint&) const = default;

  // Takes the workspaces of an architecture; none where the software names none.
  void settle(Architecture architecture, bool is_deterministic);
};

// Reads the key `footprint`, a map.
void read_footprint(Section& section, Footprint& footprint);

}  // namespace orrery::workload
