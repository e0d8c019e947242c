// How many parameters a model has, from its sizes alone.
#include "workload/training/spec/model.h"

#include <limits>

namespace orrery {
namespace {

// Products of sizes that are each in bounds may still be beyond 64 bits.
std::int64_t saturated(Int128 count) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return count > kMost ? kMost : static_cast<std::int64_t>(count);
}

Int128 linear(std::int64_t inputs, std::int64_t outputs, bool bias) {
  return Int128{inputs} * outputs + (bias ? outputs : 0);
}

Int128 norm(const TransformerSpec& model) { return Int128{model.hidden} * (model.biases ? 2 : 1); }

// DeepSeek-V2, section 2.1: down and up projections with a norm between them; no biases.
Int128 latent_attention(const TransformerSpec& model, const LatentAttention& latent) {
  const std::int64_t queries = model.heads * (latent.head + latent.rotary_head);
  const Int128 query = latent.query_rank == 0 ? linear(model.hidden, queries, false)
                                              : linear(model.hidden, latent.query_rank, false) + latent.query_rank +
                                                    linear(latent.query_rank, queries, false);
  const Int128 key_value = linear(model.hidden, latent.key_value_rank + latent.rotary_head, false) +
                           latent.key_value_rank +
                           linear(latent.key_value_rank, model.heads * (latent.head + latent.value_head), false);
  return query + key_value + linear(model.heads * latent.value_head, model.hidden, false);
}

Int128 attention(const TransformerSpec& model) {
  if (model.latent) return latent_attention(model, *model.latent);
  const std::int64_t queries = model.heads * model.head_size;
  const std::int64_t keys = model.kv_heads * model.head_size;
  return linear(model.hidden, queries + 2 * keys, model.biases) + linear(queries, model.hidden, model.biases);
}

Int128 mlp(const TransformerSpec& model, std::int64_t inner) {
  return linear(model.hidden, inner, model.biases) * (model.gated_mlp ? 2 : 1) +
         linear(inner, model.hidden, model.biases);
}

// The router has no bias.
Int128 expert_mlp(const TransformerSpec& model) {
  return linear(model.hidden, model.experts, false) +
         (model.experts + model.shared_experts) * mlp(model, model.expert_hidden);
}

Int128 count(const TransformerSpec& model) {
  const std::int64_t dense_layers = model.experts > 0 ? model.dense_layers : model.layers;
  const Int128 tables = Int128{model.hidden} * model.vocab * (model.tied_embeddings ? 1 : 2);
  const Int128 positions = model.position == PositionKind::kLearned ? Int128{model.hidden} * model.sequence : 0;
  return tables + positions + norm(model) * (model.embedding_norm ? 2 : 1) +
         model.layers * (attention(model) + 2 * norm(model)) + dense_layers * mlp(model, model.ffn_hidden) +
         (model.layers - dense_layers) * expert_mlp(model);
}

Int128 chain(std::int64_t inputs, const std::vector<std::int64_t>& widths) {
  Int128 total = 0;
  for (const std::int64_t outputs : widths) {
    total += linear(inputs, outputs, true);
    inputs = outputs;
  }
  return total;
}

// The top takes the bottom's result and the dot product of every pair of vectors: the tables' and the bottom's.
Int128 count(const DlrmSpec& model) {
  const std::int64_t pairs = (model.tables + 1) * model.tables / 2;
  return Int128{model.tables} * model.rows * model.dimension + chain(model.dense_features, model.bottom) +
         chain(model.dimension + pairs, model.top);
}

// A convolution has no bias: its batch norm has one, and a scale.
Int128 count(const ConvolutionalSpec& model) {
  Int128 total = linear(model.features, model.classes, true);
  for (const Convolution& c : model.convolutions)
    total += c.repeat * (linear(c.inputs * c.kernel * c.kernel, c.outputs, false) + 2 * c.outputs);
  return total;
}

}  // namespace

std::int64_t parameter_count(const TransformerSpec& model) { return saturated(count(model)); }

std::int64_t parameter_count(const ModelSpec& model) {
  return saturated(std::visit([](const auto& sizes) { return count(sizes); }, model.sizes));
}

}  // namespace orrery
