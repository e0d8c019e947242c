// SPDX-License-Identifier: MIT
// The embedding before a transformer's layers: a table of words, or a product for patches of images.
#include <algorithm>
#include <utility>

#include "workload/training/layers/blocks.h"
#include "workload/training/layers/model_layers.h"

namespace orrery::workload {
namespace {

// Parameters that a table of positions adds to the embedding.
std::int64_t position_parameters(const TransformerSpec& model) {
  return model.position == PositionKind::kLearned ? model.sequence * model.hidden : 0;
}

// Dropout and norm, where the model has them behind its embedding.
void end_embedding(const LayerShape& shape, ActionList& forward) {
  if (shape.dropout) add_residual(shape, forward);
  if (shape.model->embedding_norm) add_norm(shape, forward);
}

ActionList embedding_backward(const LayerShape& shape) {
  ActionList backward;
  backward.compute("embedding");
  if (shape.model->embedding_norm) add_norm_backward(shape, backward);
  if (shape.dropout) add_residual_backward(shape, backward);
  return backward;
}

// One product for all patches; all ranks of a tensor group have all of its weights. Images need no gradient.
LayerProgram patch_embedding(const LayerShape& shape) {
  const TransformerSpec& model = *shape.model;
  LayerProgram layer;
  layer.name = "embedding";
  layer.parameters.dense = model.patches->values() * model.hidden + 2 * model.hidden + position_parameters(model) +
                           (model.embedding_norm ? norm_parameters(model) : 0);
  const std::int64_t patches = shape.micro_batch * (model.sequence - 1);
  const std::int64_t rank_patches =
      (patches * shape.own_tokens() + shape.micro_batch * model.sequence - 1) / (shape.micro_batch * model.sequence);
  const Gemm product = linear(shape, rank_patches, model.hidden, model.patches->values());
  const std::int64_t values = shape.own_tokens() * model.hidden;

  ActionList forward;
  forward.compute("embedding");
  forward.add(product);
  forward.add(element_wise(ElementWiseKind::kAdd, values, 2 * shape.width()));  // positions
  end_embedding(shape, forward);
  layer.forward = std::move(forward).take();

  ActionList backward = embedding_backward(shape);
  const std::vector<Operator> weights = {element_wise(ElementWiseKind::kAdd, values, shape.width()),
                                         weight_gradient(shape, product)};
  backward.weight_gradient("embedding weights", weights, layer.parameters, shape.other_weight_gradients());
  layer.backward = std::move(backward).take();
  layer.saved =
      size_of(shape.activation()) * (rank_patches * model.patches->values()) + Bytes(shape.dropout ? values : 0);
  return layer;
}

}  // namespace

LayerProgram embedding_layer(const LayerShape& of_layers) {
  const LayerShape shape = in_bf16(of_layers);
  const TransformerSpec& model = *shape.model;
  if (model.patches) return patch_embedding(shape);
  LayerProgram layer;
  layer.name = "embedding";
  if (model.vocab == 0) return layer;
  layer.parameters.dense =
      shape.vocab() * model.hidden + position_parameters(model) + (model.embedding_norm ? norm_parameters(model) : 0);
  const std::int64_t values = shape.tokens() * model.hidden;
  const CollectiveKind sum = shape.sequence_parallel ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;

  ActionList forward;
  forward.compute("embedding");
  forward.add(element_wise(ElementWiseKind::kEmbedding, values, 2 * shape.width()));
  forward.collective("embedding sum", GroupFamily::kTensor, shape.tensor, sum, shape.activations());
  end_embedding(shape, forward);
  layer.forward = std::move(forward).take();

  ActionList backward = embedding_backward(shape);
  if (shape.sequence_parallel)
    backward.collective("embedding gather", GroupFamily::kTensor, shape.tensor, CollectiveKind::kAllGather,
                        shape.own_activations());
  if (shape.lora != nullptr) std::swap(layer.frozen, layer.parameters.dense);
  std::vector<Operator> weights = {element_wise(ElementWiseKind::kEmbedding, values, 3 * shape.width())};
  if (shape.lora != nullptr) weights.clear();
  backward.weight_gradient("embedding weights", weights, layer.parameters, shape.other_weight_gradients());
  layer.backward = std::move(backward).take();
  layer.saved = Bytes(shape.dropout ? shape.own_tokens() * model.hidden : 0);
  return layer;
}

}  // namespace orrery::workload
