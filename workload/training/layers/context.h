// SPDX-License-Identifier: MIT
// Attention of context-parallel ranks: what they exchange round its core, and which parts of the core they compute.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "workload/training/layers/blocks.h"

namespace orrery::workload {

// Values of one token that a rank has before and behind the core, of all its heads.
struct CoreValues {
  std::int64_t queries = 0;
  std::int64_t pairs = 0;     // keys and values
  std::int64_t kv_heads = 1;  // that `pairs` are of
  std::int64_t results = 0;
};

// Part of the core, computed at once: head by head, `queries` against `keys`.
struct CorePart {
  std::int64_t batch = 0;  // sequences times heads
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  bool causal = false;  // half of the scores are left out
};

using CoreOperators = std::function<std::vector<Operator>(const CorePart&)>;

// The core with its exchanges, forward or backward; `operators_of` computes a part of it.
void add_core_exchanged(const LayerShape& shape, const CoreValues& values, bool backward,
                        const CoreOperators& operators_of, ActionList& actions);

// Memory of copies of keys and values that all-to-all makes where ranks are more than their heads, kept for the
// backward pass; and of buffers while the core is computed.
Bytes saved_copies(const LayerShape& shape, const CoreValues& values);
Bytes exchange_buffers(const LayerShape& shape, const CoreValues& values);

}  // namespace orrery::workload
