// SPDX-License-Identifier: MIT
// Weights of what mixes tokens in a layer, and the keys that a query sees.
#pragma once

#include <cstdint>
#include <vector>

#include "workload/training/spec/model.h"

namespace orrery::workload {

// A product with `inputs` x `outputs` weights.
struct WeightMatrix {
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  bool bias = false;
};

struct MixerSizes {
  std::vector<WeightMatrix> products;
  std::int64_t vectors = 0;  // other parameters: norms, sinks, short convolutions, decays
};

// Sizes of the whole layer, without the norm before it.
MixerSizes mixer_sizes(const TransformerSpec& model, const LayerKind& kind);

// Tokens of the stretches that attention is confined to: of a chunk, or of the sequence.
std::int64_t chunk_of(const AttentionSpec& attention, std::int64_t sequence);

// Number of keys that a query sees where the mask of causality is left aside: the whole sequence, or less of it.
std::int64_t keys_seen(const AttentionSpec& attention, std::int64_t sequence);
// True if queries of some kind of layers see only part of the keys: a ring would pass on all of them.
bool limits_sight(const TransformerSpec& model);

}  // namespace orrery::workload
