// SPDX-License-Identifier: MIT
// Multi-token prediction (DeepSeek-AI 2024, arXiv 2412.19437, section 2.2): what a module does before its layer.
#include "workload/training/layers/blocks.h"

namespace orrery::workload {

// The embedding of the token that is known by then and what the layer before made of the others, each behind a norm of
// its own, are projected from twice the width. As Megatron-Core has it, tensor-parallel ranks compute columns of the
// projection and gather them.
BlockProgram prediction_block(const LayerShape& shape, bool copies_table) {
  const TransformerSpec& model = *shape.model;
  const std::int64_t columns = (model.hidden + shape.tensor - 1) / shape.tensor;
  const Gemm product = linear(shape, shape.tokens(), columns, 2 * model.hidden);
  const CollectiveKind sum = shape.sequence_parallel ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
  BlockProgram block;
  block.parameters.dense =
      2 * norm_parameters(model) + 2 * model.hidden * columns + (copies_table ? shape.vocab() * model.hidden : 0);

  ActionList forward;
  forward.compute("prediction");
  forward.add(element_wise(ElementWiseKind::kEmbedding, shape.tokens() * model.hidden, 2 * shape.width()));
  forward.collective("prediction embedding sum", GroupFamily::kTensor, shape.tensor, sum, shape.activations());
  add_norm(shape, forward);
  add_norm(shape, forward);
  if (shape.sequence_parallel)
    forward.collective("prediction gather", GroupFamily::kTensor, shape.tensor, CollectiveKind::kAllGather,
                       shape.own_activations() * 2);
  forward.add(forward_of(shape, product));
  forward.gather_result("prediction columns", shape.tensor, ceil_div(shape.activations(), shape.tensor));
  block.forward = std::move(forward).take();

  ActionList backward;
  backward.compute("prediction");
  // Each rank takes its columns of the gradient, which all have but for their tokens.
  if (shape.sequence_parallel)
    backward.collective("prediction columns", GroupFamily::kTensor, shape.tensor, CollectiveKind::kAllGather,
                        shape.own_activations());
  backward.add(input_gradient_of(shape, product));
  backward.collective("prediction sum", GroupFamily::kTensor, shape.tensor, sum, shape.activations() * 2);
  add_norm_backward(shape, backward);
  add_norm_backward(shape, backward);
  if (shape.sequence_parallel)
    backward.collective("prediction embedding gather", GroupFamily::kTensor, shape.tensor, CollectiveKind::kAllGather,
                        shape.own_activations());
  std::vector<Operator> weights = weight_gradient_of(shape, product);
  weights.emplace_back(element_wise(ElementWiseKind::kEmbedding, shape.tokens() * model.hidden, 3 * shape.width()));
  backward.weight_gradient("prediction weights", weights, block.parameters, shape.other_weight_gradients());
  block.backward = std::move(backward).take();
  block.saved = shape.own_activations() * 4;  // inputs of both norms, and of the projection
  return block;
}

}  // namespace orrery::workload
