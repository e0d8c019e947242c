// SPDX-License-Identifier: MIT
// The FLOPs that training a transformer takes for each token, from its sizes alone.
#pragma once

#include "workload/training/spec/model.h"

namespace orrery::workload {

// FLOPs of training on one token, forward and backward: 6 for each weight of the products that it passes, and those of
// attention over the keys that a query may see, of which a causal mask leaves half with `causal_flops`.
double flops_per_token(const TransformerSpec& model, bool causal_flops);

// The part of one layer's attention that comparing a token with one key takes.
double score_flops_per_key(const AttentionSpec& attention);

}  // namespace orrery::workload
