// The work that a model needs however it is computed: what MFU and tokens per second are measured by.
#pragma once

#include <cstdint>

#include "workload/training/spec/training_spec.h"

namespace orrery {

// FLOPs of one training step over the whole global batch: three times the products of the forward pass, without
// recomputation. Attention counts 12 * layers * hidden * sequence per token, half of that with causal_flops (Narayanan
// et al. 2021, appendix). Of experts those that a token passes.
double model_flops(const TrainingSpec& training);

// Tokens of a step; samples of models without tokens.
std::int64_t tokens_per_step(const TrainingSpec& training);

}  // namespace orrery
