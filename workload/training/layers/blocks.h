// The blocks that a transformer layer is made of. Each adds its forward and its backward pass; the backward passes of a
// layer's blocks are put together in reverse order.
#pragma once

#include "workload/training/layers/action_list.h"
#include "workload/training/layers/layer_program.h"
#include "workload/training/layers/shape.h"

namespace orrery {

struct BlockProgram {
  std::vector<Action> forward;
  std::vector<Action> backward;
  ParameterCount parameters;
  Bytes saved{0};
  Bytes saved_scores{0};  // of `saved`: what selective recomputation does without
};

BlockProgram attention_block(const LayerShape& shape);
BlockProgram perceptron_block(const LayerShape& shape);
BlockProgram expert_block(const LayerShape& shape);

// What blocks have in common. A linear layer of weights k x n on m tokens:
Gemm linear(const LayerShape& shape, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1);
Gemm input_gradient(const Gemm& forward);
Gemm weight_gradient(const Gemm& forward);
// Element-wise work on all of `elements`, `bytes_each`.
ElementWise element_wise(ElementWiseKind kind, std::int64_t elements, std::int64_t bytes_each);

// What stands around the products that tensor parallelism splits: the norm before them and the residual sum behind,
// on the rank's own tokens, and the collectives on the way.
void begin_forward(const LayerShape& shape, const std::string& name, ActionList& forward);
void end_forward(const LayerShape& shape, const std::string& name, ActionList& forward);
void begin_backward(const LayerShape& shape, const std::string& name, ActionList& backward);
// `weights`: gradients of the products by columns, which the collective of the input gradient can run beside.
void end_backward(const LayerShape& shape, const std::string& name, const std::vector<Operator>& weights,
                  ParameterCount finishes, ActionList& backward);
// The element-wise part of those: the norm, and the sum with bias and dropout.
void add_norm(const LayerShape& shape, ActionList& forward);
void add_residual(const LayerShape& shape, ActionList& forward);
void add_norm_backward(const LayerShape& shape, ActionList& backward);
void add_residual_backward(const LayerShape& shape, ActionList& backward);

// What a norm before a block and the dropout behind it keep for the backward pass.
Bytes saved_around(const LayerShape& shape);

}  // namespace orrery
