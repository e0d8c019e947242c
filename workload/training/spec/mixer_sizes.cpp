// SPDX-License-Identifier: MIT
#include "workload/training/spec/mixer_sizes.h"

#include <algorithm>

namespace orrery::workload {
namespace {

MixerSizes plain_sizes(const TransformerSpec& model, const AttentionSpec& own) {
  const std::int64_t results = own.heads * own.value_size();
  const std::int64_t queries = own.heads * own.key_size() + (own.output_gate ? results : 0);
  const std::int64_t pairs = own.kv_heads * (own.key_size() + own.value_size());
  return {{{model.hidden, queries + pairs, model.biases}, {results, model.hidden, model.biases}},
          own.head_norms ? 2 * own.head_size : 0};
}

// DeepSeek-V2, section 2.1: down and up projections with a norm between them; no biases.
MixerSizes latent_sizes(const TransformerSpec& model, const AttentionSpec& own) {
  const LatentAttention& latent = *own.latent;
  const std::int64_t queries = own.heads * own.key_size();
  MixerSizes sizes;
  if (latent.query_rank > 0) sizes.products.push_back({model.hidden, latent.query_rank});
  sizes.products.push_back({latent.query_rank > 0 ? latent.query_rank : model.hidden, queries});
  sizes.products.push_back({model.hidden, latent.key_value_rank + latent.rotary_head});
  sizes.products.push_back({latent.key_value_rank, own.heads * (latent.head + latent.value_head)});
  sizes.products.push_back({own.heads * latent.value_head, model.hidden});
  sizes.vectors = latent.query_rank + latent.key_value_rank;
  return sizes;
}

MixerSizes attention_sizes(const TransformerSpec& model, const AttentionSpec& own) {
  MixerSizes sizes = own.latent ? latent_sizes(model, own) : plain_sizes(model, own);
  if (own.sinks) sizes.vectors += own.heads;
  if (own.indexer) {
    // Queries, one key with a layer norm, and a weight for each head (deepseek-ai/DeepSeek-V3.2-Exp, model.py,
    // Indexer).
    sizes.products.push_back({own.latent->query_rank, own.indexer->heads * own.indexer->head});
    sizes.products.push_back({model.hidden, own.indexer->head});
    sizes.products.push_back({model.hidden, own.indexer->heads});
    sizes.vectors += 2 * own.indexer->head;
  }
  return sizes;
}

// Hugging Face transformers, models/qwen3_next: queries, keys, values and a gate of the result; a rate of learning and
// a decay for each head of values, with two parameters each, and a norm whose weights all heads share.
MixerSizes gated_delta_sizes(const TransformerSpec& model, const LinearAttention& own) {
  return {{{model.hidden, 2 * own.keys() + 2 * own.values()},
           {model.hidden, 2 * own.value_heads},
           {own.values(), model.hidden}},
          2 * own.value_heads + own.value_size};
}

// Kimi Linear (arXiv 2510.26692) and fla/layers/kda.py: decays of each value of a key, and gates of the result, through
// `gate_rank` values; a bias for each decay, a parameter for each head, and the norm.
MixerSizes kimi_delta_sizes(const TransformerSpec& model, const LinearAttention& own) {
  return {{{model.hidden, 2 * own.keys() + own.values()},
           {model.hidden, own.value_heads},
           {model.hidden, 2 * own.gate_rank},
           {own.gate_rank, own.keys()},
           {own.gate_rank, own.values()},
           {own.values(), model.hidden}},
          own.keys() + own.value_heads + own.value_size};
}

// state-spaces/mamba, modules/mamba2.py: z, x, B, C and a step for each head; a bias of the step, a decay and a skip
// for each head, and a gated norm over all values.
MixerSizes mamba2_sizes(const TransformerSpec& model, const LinearAttention& own) {
  return {{{model.hidden, 2 * own.values() + 2 * own.keys() + own.value_heads}, {own.values(), model.hidden}},
          3 * own.value_heads + own.values()};
}

MixerSizes linear_sizes(const TransformerSpec& model, const LayerKind& kind) {
  const LinearAttention& own = kind.linear;
  MixerSizes sizes = kind.mixer == MixerKind::kGatedDelta  ? gated_delta_sizes(model, own)
                     : kind.mixer == MixerKind::kKimiDelta ? kimi_delta_sizes(model, own)
                                                           : mamba2_sizes(model, own);
  sizes.vectors += own.convolved() * (own.convolution + (own.convolution_bias ? 1 : 0));
  return sizes;
}

}  // namespace

MixerSizes mixer_sizes(const TransformerSpec& model, const LayerKind& kind) {
  if (kind.mixer == MixerKind::kNone) return {};
  if (kind.mixer == MixerKind::kAttention) return attention_sizes(model, kind.attention);
  return linear_sizes(model, kind);
}

std::int64_t chunk_of(const AttentionSpec& attention, std::int64_t sequence) {
  return attention.chunk > 0 ? std::min(attention.chunk, sequence) : sequence;
}

std::int64_t keys_seen(const AttentionSpec& attention, std::int64_t sequence) {
  std::int64_t keys = chunk_of(attention, sequence);
  if (attention.window > 0) keys = std::min(keys, attention.window);
  if (attention.indexer) keys = std::min(keys, attention.indexer->keys);
  return keys;
}

bool limits_sight(const TransformerSpec& model) {
  for (std::size_t i = 0; i < std::max<std::size_t>(1, model.kinds.size()); ++i) {
    const LayerKind kind = model.kind(i);
    if (kind.mixer == MixerKind::kAttention && keys_seen(kind.attention, model.sequence) < model.sequence) return true;
  }
  return false;
}

}  // namespace orrery::workload
