// SPDX-License-Identifier: MIT
#include <utility>

#include "core/assert.h"
#include "workload/training/layers/model_layers.h"

namespace orrery::workload {
namespace {

// Sentences, precision and model that all layers share.
struct Sentences {
  const RecurrentSpec& model;
  std::int64_t batch;
  Precision precision;

  Bytes bytes(std::int64_t values) const { return size_of(precision) * values; }
  Gemm product(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t number = 1) const {
    return {m, n, k, number, precision};
  }
  ElementWise moved(ElementWiseKind kind, std::int64_t values) const { return {kind, bytes(values)}; }
};

Compute kernels(std::string name, std::vector<Operator> operators) {
  return {std::move(name), std::move(operators), false, {}};
}

Compute weight_kernels(std::string name, std::vector<Operator> operators, std::int64_t finishes) {
  return {std::move(name), std::move(operators), true, {finishes, 0}};
}

LayerProgram embedding(const Sentences& s) {
  const std::int64_t values = s.batch * (s.model.source + s.model.target) * s.model.hidden;
  LayerProgram layer;
  layer.name = "embedding";
  layer.parameters.dense = s.model.vocab * s.model.hidden;
  layer.forward.emplace_back(kernels("lookup", {s.moved(ElementWiseKind::kEmbedding, 2 * values)}));
  layer.backward.emplace_back(
      weight_kernels("lookup", {s.moved(ElementWiseKind::kEmbedding, 3 * values)}, layer.parameters.dense));
  return layer;
}

// An LSTM layer over `steps` words, in one direction or in both at once. What it makes of its inputs is one product for
// all words and four gates; what it makes of its state is one for each word, and then the gates are joined: both halves
// of them and the cell in, cell and state out.
LayerProgram lstm(const Sentences& s, const std::string& name, std::int64_t steps, std::int64_t inputs,
                  std::int64_t directions) {
  const std::int64_t hidden = s.model.hidden, gates = 4 * hidden, words = s.batch * steps;
  LayerProgram layer;
  layer.name = name;
  layer.parameters.dense = directions * (gates * (inputs + hidden) + 2 * gates);
  layer.forward.emplace_back(kernels(name + " inputs", {s.product(words, gates, inputs, directions)}));
  Compute forward = kernels(name + " steps", {}), backward = forward;
  for (std::int64_t step = 0; step < steps; ++step) {
    forward.operators.emplace_back(s.product(s.batch, gates, hidden, directions));
    forward.operators.emplace_back(
        s.moved(ElementWiseKind::kActivation, directions * s.batch * (2 * gates + 3 * hidden)));
    // Gates, both cells, and the gradients of state and cell in; those of the gates and of the cell before out.
    backward.operators.emplace_back(
        s.moved(ElementWiseKind::kActivation, directions * s.batch * (2 * gates + 5 * hidden)));
    backward.operators.emplace_back(s.product(s.batch, hidden, gates, directions));
  }
  layer.forward.emplace_back(std::move(forward));
  layer.backward.emplace_back(std::move(backward));
  layer.backward.emplace_back(kernels(name + " inputs", {s.product(words, inputs, gates, directions)}));
  layer.backward.emplace_back(weight_kernels(
      name + " weights", {s.product(inputs, gates, words, directions), s.product(hidden, gates, words, directions)},
      layer.parameters.dense));
  layer.saved = s.bytes(directions * words * (gates + 2 * hidden));  // gates, cells and states
  layer.working = s.bytes(directions * words * gates);
  return layer;
}

// Additive attention (Bahdanau et al. 2015): words written and read are projected, and a kernel weights the hyperbolic
// tangent of the sum of every two. Both factors of the weighted sum have a gradient.
LayerProgram attention(const Sentences& s) {
  const std::int64_t hidden = s.model.hidden, read = s.batch * s.model.source, written = s.batch * s.model.target;
  const std::int64_t scores = written * s.model.source;
  const Gemm context = s.product(s.model.target, hidden, s.model.source, s.batch);
  const ElementWise scoring = s.moved(ElementWiseKind::kActivation, (read + written) * hidden + scores);
  LayerProgram layer;
  layer.name = "attention";
  layer.parameters.dense = 2 * hidden * hidden + 2 * hidden + 1;
  layer.forward.emplace_back(kernels("attention", {s.product(read, hidden, hidden), s.product(written, hidden, hidden),
                                                   scoring, s.moved(ElementWiseKind::kSoftmax, 2 * scores), context}));
  layer.backward.emplace_back(kernels(
      "attention",
      {s.product(s.model.target, s.model.source, hidden, s.batch),
       s.product(s.model.source, hidden, s.model.target, s.batch), s.moved(ElementWiseKind::kSoftmax, 3 * scores),
       s.moved(ElementWiseKind::kActivation, 2 * (read + written) * hidden + scores), s.product(read, hidden, hidden),
       s.product(written, hidden, hidden)}));
  layer.backward.emplace_back(weight_kernels("attention weights",
                                             {s.product(hidden, hidden, read), s.product(hidden, hidden, written)},
                                             layer.parameters.dense));
  layer.saved = s.bytes((read + 2 * written) * hidden + scores);
  layer.working = s.bytes(scores);
  return layer;
}

LayerProgram classifier(const Sentences& s) {
  const std::int64_t words = s.batch * s.model.target, vocab = s.model.vocab, hidden = s.model.hidden;
  // Scores one way, probabilities in fp32 the other.
  const ElementWise loss{ElementWiseKind::kLoss, (size_of(s.precision) + size_of(Precision::kFp32)) * (words * vocab)};
  LayerProgram layer;
  layer.name = "classifier";
  layer.parameters.dense = vocab * (hidden + 1);
  layer.forward.emplace_back(kernels("classifier", {s.product(words, vocab, hidden)}));
  layer.forward.emplace_back(kernels("loss", {loss}));
  layer.backward.emplace_back(kernels("loss", {loss}));
  layer.backward.emplace_back(kernels("classifier", {s.product(words, hidden, vocab)}));
  layer.backward.emplace_back(
      weight_kernels("classifier weights", {s.product(hidden, vocab, words)}, layer.parameters.dense));
  layer.saved = s.bytes(words * hidden) + size_of(Precision::kFp32) * (words * vocab);
  layer.working = s.bytes(words * vocab);
  return layer;
}

}  // namespace

std::vector<LayerProgram> recurrent_layers(const RecurrentSpec& model, std::int64_t batch, Precision precision) {
  ORRERY_ASSERT(batch > 0 && batch <= (1 << 18));
  const Sentences sentences{model, batch, precision};
  std::vector<LayerProgram> layers = {embedding(sentences)};
  for (std::int64_t i = 0; i < model.encoder; ++i)
    layers.push_back(lstm(sentences, "encoder", model.source, model.encoder_inputs(i), model.directions(i)));
  for (std::int64_t i = 0; i < model.decoder; ++i) {
    layers.push_back(lstm(sentences, "decoder", model.target, model.decoder_inputs(i), 1));
    if (i == 0) layers.push_back(attention(sentences));
  }
  layers.push_back(classifier(sentences));
  return layers;
}

}  // namespace orrery::workload
