// SPDX-License-Identifier: MIT
#include "workload/training/layers/model_layers.h"

#include <algorithm>
#include <numeric>

#include "core/assert.h"

namespace orrery::workload {
namespace {

// One rank's part of the model, in values per sample.
struct Share {
  const DlrmSpec& model;
  std::int64_t batch;
  std::int64_t ranks;
  Precision precision;

  Bytes bytes(std::int64_t values) const { return size_of(precision) * values; }
  // Columns of all tables together, on one rank.
  std::int64_t columns() const { return (model.tables * model.dimension + ranks - 1) / ranks; }
  // Vectors that take part in dot products: one of each table, and the result of the bottom.
  std::int64_t vectors() const { return model.tables + 1; }
  std::int64_t pairs() const { return vectors() * (vectors() - 1) / 2; }
  // Pooled vectors: a rank's columns for the samples of all ranks.
  Bytes exchanged() const { return bytes(ranks * batch * columns()); }
};

Compute compute(std::string name, std::vector<Operator> operators) {
  return {std::move(name), std::move(operators), false, {}};
}

std::int64_t sum(const std::vector<std::int64_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
}

// Layers of a perceptron from `inputs` values on, each with bias and activation.
class Perceptron {
 public:
  Perceptron(std::string name, const Share& share, std::int64_t inputs, const std::vector<std::int64_t>& widths)
      : name_(std::move(name)), share_(share) {
    for (const std::int64_t outputs : widths) {
      layers_.push_back({inputs, outputs});
      inputs = outputs;
    }
  }

  std::int64_t parameters() const {
    std::int64_t total = 0;
    for (const Layer& layer : layers_) total += layer.parameters();
    return total;
  }

  Compute forward() const {
    Compute all = compute(name_, {});
    for (const Layer& layer : layers_) {
      all.operators.emplace_back(Gemm{share_.batch, layer.outputs, layer.inputs, 1, share_.precision});
      all.operators.emplace_back(activation(layer, 2));
    }
    return all;
  }

  // From the last layer to the first. If `last_of_pass`, nothing waits for the gradients of the inputs, and there is
  // none of the first layer's.
  void backward(std::vector<Action>& actions, bool last_of_pass) const {
    for (std::size_t i = layers_.size(); i-- > 0;) {
      const Layer& layer = layers_[i];
      Compute inputs = compute(name_, {activation(layer, 3)});
      if (i > 0 || !last_of_pass)
        inputs.operators.emplace_back(Gemm{share_.batch, layer.inputs, layer.outputs, 1, share_.precision});
      inputs.weight_gradient = last_of_pass;
      actions.emplace_back(std::move(inputs));
      actions.emplace_back(Compute{name_,
                                   {Gemm{layer.outputs, layer.inputs, share_.batch, 1, share_.precision}},
                                   true,
                                   {layer.parameters(), 0}});
    }
  }

 private:
  struct Layer {
    std::int64_t inputs;
    std::int64_t outputs;

    std::int64_t parameters() const { return inputs * outputs + outputs; }
  };

  // Forward: values in, results out. Backward: results and gradients in, gradients out.
  ElementWise activation(const Layer& layer, std::int64_t times) const {
    return {ElementWiseKind::kActivation, share_.bytes(share_.batch * layer.outputs) * times};
  }

  std::string name_;
  const Share& share_;
  std::vector<Layer> layers_;
};

// Forward: rows in, sums out. Backward: gradients of sums in, and every row read and written once.
LayerProgram embedding(const Share& share) {
  const Bytes rows =
      size_of(share.model.table_precision) * (share.ranks * share.batch * share.columns() * share.model.lookups);
  const Bytes pooled = share.exchanged();
  LayerProgram layer;
  layer.name = "embedding";
  layer.forward.emplace_back(compute("lookup", {ElementWise{ElementWiseKind::kEmbedding, rows + pooled}}));
  if (share.ranks > 1) {
    const Collective exchange{"embedding", GroupFamily::kWorld, CollectiveKind::kAllToAll, pooled};
    layer.forward.emplace_back(exchange);
    layer.backward.emplace_back(exchange);
  }
  layer.backward.emplace_back(
      Compute{"update", {ElementWise{ElementWiseKind::kEmbedding, pooled + rows * 2}}, true, {}});
  layer.saved = share.bytes(share.batch * share.model.tables * share.model.dimension);
  layer.working = pooled;
  return layer;
}

LayerProgram bottom(const Share& share) {
  const DlrmSpec& model = share.model;
  const Perceptron perceptron("bottom", share, model.dense_features, model.bottom);
  LayerProgram layer;
  layer.name = "bottom";
  layer.parameters.dense = perceptron.parameters();
  layer.forward.emplace_back(perceptron.forward());
  perceptron.backward(layer.backward, true);
  layer.saved = share.bytes(share.batch * (model.dense_features + sum(model.bottom)));
  layer.working = share.bytes(share.batch * std::ranges::max(model.bottom));
  return layer;
}

// The dot products of all vectors with one another, as one product per sample; half of them go on, behind the bottom's
// result. Backward, both factors have a gradient.
void interaction(const Share& share, LayerProgram& layer) {
  const std::int64_t n = share.vectors();
  const std::int64_t d = share.model.dimension;
  const ElementWise gather{ElementWiseKind::kCopy, share.bytes(share.batch * n * d) * 2};
  const ElementWise select{ElementWiseKind::kCopy, share.bytes(share.batch * (n * n + 2 * d + share.pairs()))};
  const Gemm gradient{n, d, n, share.batch, share.precision};
  layer.forward.emplace_back(compute("interaction", {gather, Gemm{n, n, d, share.batch, share.precision}, select}));
  layer.backward.emplace_back(compute("interaction", {select, gradient, gradient, gather}));
}

LayerProgram top(const Share& share) {
  const DlrmSpec& model = share.model;
  const std::int64_t inputs = model.dimension + share.pairs();
  const Perceptron perceptron("top", share, inputs, model.top);
  const ElementWise loss{ElementWiseKind::kLoss,
                         (size_of(share.precision) + size_of(Precision::kFp32)) * (share.batch * model.top.back())};
  LayerProgram layer;
  layer.name = "top";
  layer.parameters.dense = perceptron.parameters();
  layer.backward.emplace_back(compute("loss", {loss}));
  perceptron.backward(layer.backward, false);
  interaction(share, layer);
  layer.forward.emplace_back(perceptron.forward());
  layer.forward.emplace_back(compute("loss", {loss}));
  layer.saved = share.bytes(share.batch * (share.vectors() * model.dimension + inputs + sum(model.top)));
  layer.working = share.bytes(share.batch * share.vectors() * share.vectors());
  return layer;
}

}  // namespace

std::vector<LayerProgram> dlrm_layers(const DlrmSpec& model, std::int64_t batch, std::int64_t ranks,
                                      Precision precision) {
  ORRERY_ASSERT(batch > 0 && batch <= (1 << 18));
  ORRERY_ASSERT(ranks > 0 && ranks <= (1 << 26) / batch);
  ORRERY_ASSERT(!model.bottom.empty() && !model.top.empty());
  const Share share{model, batch, ranks, precision};
  return {embedding(share), bottom(share), top(share)};
}

Bytes dlrm_table_bytes(const DlrmSpec& model, std::int64_t ranks) {
  return size_of(model.table_precision) * (model.rows * Share{model, 1, ranks, model.table_precision}.columns());
}

}  // namespace orrery::workload
