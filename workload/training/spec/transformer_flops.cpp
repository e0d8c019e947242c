// SPDX-License-Identifier: MIT
#include "workload/training/spec/transformer_flops.h"

namespace orrery::workload {
namespace {

double as_real(std::int64_t count) { return static_cast<double>(count); }

// Weights of products that one token passes in a layer.
double weights_passed(const TransformerSpec& model, bool has_experts) {
  const double hidden = as_real(model.hidden), heads = as_real(model.heads);
  double attention = hidden * as_real(model.head_size) * (2 * heads + 2 * as_real(model.kv_heads));
  if (model.latent) {
    const LatentAttention& latent = *model.latent;
    const double key = as_real(latent.head + latent.rotary_head), value = as_real(latent.value_head);
    const double query_rank = as_real(latent.query_rank), pair_rank = as_real(latent.key_value_rank);
    attention = latent.query_rank > 0 ? hidden * query_rank + query_rank * heads * key : hidden * heads * key;
    attention += hidden * (pair_rank + as_real(latent.rotary_head));
    attention += pair_rank * heads * (as_real(latent.head) + value) + heads * value * hidden;
  }
  const double products = model.gated_mlp ? 3 : 2;
  if (!has_experts) return attention + products * hidden * as_real(model.ffn_hidden);
  const double experts = as_real(model.experts_per_token + model.shared_experts);
  return attention + experts * products * hidden * as_real(model.expert_hidden) + hidden * as_real(model.experts);
}

}  // namespace

double score_flops_per_key(const TransformerSpec& model) {
  double head_values = 2 * as_real(model.head_size);
  if (model.latent) head_values = as_real(model.latent->head + model.latent->rotary_head + model.latent->value_head);
  return 6 * as_real(model.heads) * head_values;
}

double flops_per_token(const TransformerSpec& model, bool causal_flops) {
  double weights = as_real(model.vocab) * as_real(model.hidden) * as_real(model.predicted()) / as_real(model.sequence);
  if (model.patches)
    weights = as_real(model.hidden) *
              (as_real(model.patches->values() * (model.sequence - 1)) + as_real(model.patches->classes)) /
              as_real(model.sequence);
  for (std::int64_t layer = 0; layer < model.layers; ++layer)
    weights += weights_passed(model, model.has_experts(layer));
  const double modules = as_real(model.mtp_layers), hidden = as_real(model.hidden);
  weights += modules * (weights_passed(model, model.experts > 0) + hidden * (2 * hidden + as_real(model.vocab)));
  const double scores = as_real(model.layers + model.mtp_layers) * score_flops_per_key(model) * as_real(model.sequence);
  return 6 * weights + (causal_flops && model.causal ? scores / 2 : scores);
}

}  // namespace orrery::workload
