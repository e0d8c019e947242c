// The dense perceptron of a layer: up by columns, down by rows.
#include "workload/training/layers/blocks.h"

namespace orrery {
namespace {

struct Sizes {
  std::int64_t ffn = 0;  // of the rank
  std::int64_t up = 0;   // twice that with a gate
};

Sizes sizes_of(const LayerShape& shape) {
  const std::int64_t ffn = shape.model->ffn_hidden / shape.tensor;
  return {ffn, shape.model->gated_mlp ? 2 * ffn : ffn};
}

}  // namespace

BlockProgram perceptron_block(const LayerShape& shape) {
  const std::string name = "mlp";
  const TransformerSpec& model = *shape.model;
  const auto [ffn, up_width] = sizes_of(shape);
  const Gemm up = linear(shape, shape.tokens(), up_width, model.hidden);
  const Gemm down = linear(shape, shape.tokens(), model.hidden, ffn);
  const std::int64_t width = shape.width(), values = shape.tokens() * ffn;
  BlockProgram block;
  block.parameters.dense =
      (up_width + ffn) * model.hidden + (model.biases ? up_width + model.hidden : 0) + norm_parameters(model);

  ActionList forward;
  begin_forward(shape, name, forward);
  forward.add(up);
  forward.add(element_wise(ElementWiseKind::kActivation, values, (model.gated_mlp ? 3 : 2) * width));
  forward.add(down);
  end_forward(shape, name, forward);
  block.forward = std::move(forward).take();

  ActionList backward;
  begin_backward(shape, name, backward);
  backward.add(input_gradient(down));
  std::vector<Operator> weights = {weight_gradient(up)};
  if (shape.weight_gradients == WeightGradients::kApart)
    weights.emplace_back(weight_gradient(down));
  else
    backward.add(weight_gradient(down));
  // Reads the gradient and what went in, writes the gradient of that; the sum for a bias is half a read on the way.
  backward.add(element_wise(ElementWiseKind::kActivation, values,
                            (model.gated_mlp ? 5 : 3) * width + (model.biases ? width / 2 : 0)));
  backward.add(input_gradient(up));
  end_backward(shape, name, weights, block.parameters, backward);
  block.backward = std::move(backward).take();

  block.saved = saved_around(shape) + (shape.sequence_parallel ? shape.own_activations() : shape.activations()) +
                Bytes(values * (model.gated_mlp ? 3 : 2) * width);
  return block;
}

}  // namespace orrery
