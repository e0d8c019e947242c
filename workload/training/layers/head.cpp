// SPDX-License-Identifier: MIT
// The head: logits of a vocabulary with their cross entropy, at once or in chunks of tokens, or a classifier of images.
#include <algorithm>
#include <utility>

#include "workload/training/layers/blocks.h"
#include "workload/training/layers/model_layers.h"

namespace orrery::workload {
namespace {

// Classifier on one token of each image. A rank of a tensor group has all of it, and computes it as the others do.
LayerProgram classifier(const LayerShape& shape) {
  const TransformerSpec& model = *shape.model;
  LayerProgram layer;
  layer.name = "head";
  const Gemm product = {shape.micro_batch, model.patches->classes, model.hidden, 1, shape.activation()};
  const std::int64_t scores = product.m * product.n;
  layer.parameters.dense = norm_parameters(model) + model.patches->classes * (model.hidden + 1);

  ActionList forward;
  forward.compute("head");
  add_norm(shape, forward);
  forward.add(product);
  forward.add(element_wise(ElementWiseKind::kLoss, scores, 10));  // to fp32, exponentials, sums
  layer.forward = std::move(forward).take();

  ActionList backward;
  backward.compute("head");
  backward.add(element_wise(ElementWiseKind::kLoss, scores, 8));
  backward.add(input_gradient(product));
  backward.weight_gradient("head weights", {weight_gradient(shape, product)}, layer.parameters,
                           shape.other_weight_gradients());
  add_norm_backward(shape, backward);
  layer.backward = std::move(backward).take();

  layer.saved = shape.own_activations() * 2 + Bytes(4 * scores);
  layer.working = Bytes(shape.width() * scores);
  return layer;
}

// Traffic of a logit: turned to fp32, to exponentials and sums; and to its gradient.
constexpr std::int64_t kLossBytes = 10, kLossGradientBytes = 8;

class Head {
 public:
  explicit Head(const LayerShape& shape)
      : shape_(in_bf16(shape)),
        chunks_(shape.chunked.chunks),
        // Ranks that share a sequence split its predicted tokens.
        predicted_((shape.micro_batch * shape.model->predicted() + shape.context - 1) / shape.context),
        logits_{(predicted_ + chunks_ - 1) / chunks_, shape.vocab(), shape.model->hidden, 1, shape.activation()} {}

  LayerProgram layer(bool tied_here) const {
    LayerProgram layer;
    layer.name = "head";
    layer.parameters.dense = norm_parameters(*shape_.model) + (tied_here ? 0 : shape_.vocab() * shape_.model->hidden);
    layer.forward = forward();
    if (shape_.lora != nullptr) std::swap(layer.frozen, layer.parameters.dense);
    layer.backward = backward(layer.parameters);
    remember(layer);
    return layer;
  }

 private:
  bool holds(LossHeld held) const { return shape_.chunked.held == held; }
  std::int64_t scores() const { return logits_.m * logits_.n; }
  ElementWise loss(std::int64_t bytes_each) const { return element_wise(ElementWiseKind::kLoss, scores(), bytes_each); }

  std::vector<Action> forward() const {
    ActionList forward;
    begin_forward(shape_, "head", Product::kOther, forward);
    for (std::int64_t i = 0; i < chunks_; ++i) {
      forward.add(logits_);
      forward.add(loss(kLossBytes));
      // The loss over a vocabulary that is split: maximum, target and sum of each token, in fp32.
      for (const char* what : {"loss maximum", "loss target", "loss sum"})
        forward.collective(what, GroupFamily::kTensor, shape_.tensor, CollectiveKind::kAllReduce, Bytes(4 * logits_.m));
      if (holds(LossHeld::kGradients)) add_gradients(i, forward);
    }
    return std::move(forward).take();
  }

  void add_gradients(std::int64_t chunk, ActionList& actions) const {
    actions.add(loss(kLossGradientBytes));
    actions.add(input_gradient(logits_));
    actions.add(weight_gradient_of_chunk(chunk));
  }

  // Chunks behind the first add to what is there.
  std::vector<Operator> weight_gradient_of_chunk(std::int64_t chunk) const {
    std::vector<Operator> operators = weight_gradient_of(shape_, logits_);
    for (Operator& op : operators)
      if (auto* product = std::get_if<Gemm>(&op); product != nullptr && chunk > 0)
        product->result = std::max(product->result, Bytes(2 * shape_.width()));
    return operators;
  }

  std::vector<Action> backward(const ParameterCount& finishes) const {
    ActionList backward;
    backward.compute("head");
    if (holds(LossHeld::kGradients)) {
      end_backward(shape_, "head", held_weights(), finishes, backward);
      return std::move(backward).take();
    }
    if (holds(LossHeld::kHidden) && shape_.sequence_parallel)
      backward.collective("head gather", GroupFamily::kTensor, shape_.tensor, CollectiveKind::kAllGather,
                          shape_.own_activations());
    std::vector<Operator> weights;
    for (std::int64_t i = 0; i < chunks_; ++i) {
      if (holds(LossHeld::kHidden)) backward.add(logits_);
      backward.add(loss(kLossGradientBytes));
      backward.add(input_gradient(logits_));
      // Logits that are computed again go with their chunk, so that its gradient of the weights is not put off.
      for (const Operator& op : weight_gradient_of_chunk(i))
        if (holds(LossHeld::kHidden))
          backward.add(op);
        else
          weights.push_back(op);
    }
    end_backward(shape_, "head", weights, finishes, backward);
    return std::move(backward).take();
  }

  std::int64_t weights() const { return shape_.lora == nullptr ? shape_.vocab() * shape_.model->hidden : 0; }

  // The held gradient of the weights is added to that of other micro-batches; where no product adds them up, the cost
  // of the layer has that.
  std::vector<Operator> held_weights() const {
    if (shape_.accumulated == Bytes(0) || weights() == 0) return {};
    return {ElementWise{ElementWiseKind::kAccumulate, (shape_.accumulated + Bytes(shape_.width())) * weights()}};
  }

  // The loss keeps exponentials in fp32, or less where one kernel makes gradients of the logits at once. Without logits
  // it keeps the logarithm of each token's sum, or the gradient of the product's input in place of that input, and that
  // of the weights.
  void remember(LayerProgram& layer) const {
    const Bytes held = shape_.loss.value_or(Bytes(4 + shape_.width()));
    const Bytes kept = holds(LossHeld::kLogits) ? std::min(held, Bytes(4)) : Bytes(0);
    layer.saved = (shape_.sequence_parallel ? shape_.own_activations() : shape_.activations()) +
                  shape_.own_activations() + kept * (predicted_ * logits_.n);
    if (holds(LossHeld::kHidden)) layer.saved += Bytes(4 * predicted_);
    if (holds(LossHeld::kGradients)) layer.saved += Bytes(weights() * shape_.width());
    layer.working = (held - kept) * scores();
  }

  const LayerShape shape_;  // in bf16, as all of it is computed
  const std::int64_t chunks_;
  const std::int64_t predicted_;
  const Gemm logits_;  // of one chunk
};

}  // namespace

LayerProgram head_layer(const LayerShape& shape, bool tied_here) {
  if (shape.model->patches) return classifier(shape);
  if (shape.model->vocab == 0) {
    LayerProgram none;
    none.name = "head";
    return none;
  }
  return Head(shape).layer(tied_here);
}

}  // namespace orrery::workload
