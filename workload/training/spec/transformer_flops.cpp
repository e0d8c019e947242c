// SPDX-License-Identifier: MIT
#include "workload/training/spec/transformer_flops.h"

#include <algorithm>
#include <vector>

#include "workload/training/spec/mixer_sizes.h"

namespace orrery::workload {
namespace {

double as_real(std::int64_t count) { return static_cast<double>(count); }

// Weights of products that one token passes in what mixes tokens, and in what follows.
double weights_of_mixer(const TransformerSpec& model, const LayerKind& kind) {
  double sum = 0;
  for (const WeightMatrix& matrix : mixer_sizes(model, kind).products)
    sum += as_real(matrix.inputs) * as_real(matrix.outputs);
  return sum;
}

double weights_passed(const TransformerSpec& model, FeedForward second) {
  const double hidden = as_real(model.hidden), products = model.gated_mlp ? 3 : 2;
  if (second == FeedForward::kNone) return 0;
  if (second == FeedForward::kDense) return products * hidden * as_real(model.ffn_hidden);
  const double experts = as_real(model.experts_per_token + model.shared_experts);
  return experts * products * hidden * as_real(model.expert_hidden) + hidden * as_real(model.experts);
}

// FLOPs of a query over the keys that it sees. A causal mask leaves half of them, and of a window's all but the
// triangle before the first token.
double attention_flops(const TransformerSpec& model, const AttentionSpec& attention, bool causal) {
  const double stretch = as_real(chunk_of(attention, model.sequence)),
               seen = as_real(keys_seen(attention, model.sequence));
  const double keys = causal ? seen * (1 - seen / (2 * stretch)) : seen;
  double flops = score_flops_per_key(attention) * keys;
  if (attention.indexer)
    flops += 6 * as_real(attention.indexer->heads * attention.indexer->head) * (causal ? stretch / 2 : stretch);
  return flops;
}

// FLOPs of a state of keys x values in each head: the delta rule takes four products of a vector with it (Megatron-LM,
// num_floating_point_operations), Mamba-2's recurrence 7 FLOPs for each of its values (likewise). A backward pass is
// twice that. The short convolution counts as well.
double scan_flops(const LayerKind& kind) {
  const LinearAttention& own = kind.linear;
  const double state = as_real(own.value_heads) * as_real(own.key_size) * as_real(own.value_size);
  const double each = kind.mixer == MixerKind::kMamba2 ? 7 : 8;
  return 3 * (each * state + 2 * as_real(own.convolution) * as_real(own.convolved()));
}

double mixing_flops(const TransformerSpec& model, const LayerKind& kind, bool causal) {
  if (kind.mixer == MixerKind::kNone) return 0;
  return kind.mixer == MixerKind::kAttention ? attention_flops(model, kind.attention, causal) : scan_flops(kind);
}

}  // namespace

double score_flops_per_key(const AttentionSpec& attention) {
  return 6 * as_real(attention.heads) * as_real(attention.key_size() + attention.value_size());
}

double flops_per_token(const TransformerSpec& model, bool causal_flops) {
  double weights = as_real(model.vocab) * as_real(model.hidden) * as_real(model.predicted()) / as_real(model.sequence);
  if (model.patches)
    weights = as_real(model.hidden) *
              (as_real(model.patches->values() * (model.sequence - 1)) + as_real(model.patches->classes)) /
              as_real(model.sequence);
  std::vector<double> of_mixers, mixing;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, model.kinds.size()); ++i) {
    of_mixers.push_back(weights_of_mixer(model, model.kind(i)));
    mixing.push_back(mixing_flops(model, model.kind(i), causal_flops && model.causal));
  }
  double scores = 0;
  for (std::int64_t layer = 0; layer < model.layers + model.mtp_layers; ++layer) {
    weights += of_mixers[model.kind_number(layer)] + weights_passed(model, model.feed_forward(layer));
    scores += mixing[model.kind_number(layer)];
  }
  const double modules = as_real(model.mtp_layers), hidden = as_real(model.hidden);
  weights += modules * hidden * (2 * hidden + as_real(model.vocab));
  return 6 * weights + scores;
}

}  // namespace orrery::workload
