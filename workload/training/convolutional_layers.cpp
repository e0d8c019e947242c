#include "workload/training/convolutional_layers.h"

#include "core/assert.h"

namespace orrery {
namespace {

// What all layers of one network are computed with.
struct Pass {
  std::int64_t batch = 0;
  Precision precision = Precision::kBf16;

  Bytes bytes(std::int64_t values) const { return size_of(precision) * values; }
};

// Implicit GEMMs (Chetlur et al. 2014): a row for every pixel of the output, whose columns are the window under the
// kernel. Pixels repeat in the windows that they are in.
Gemm forward_product(const Convolution& c, const Pass& pass) {
  const std::int64_t window = c.kernel * c.kernel;
  return {pass.batch * c.size * c.size, c.outputs, c.inputs * window, 1, pass.precision, window};
}

// The gradient of the output, convolved with the kernel turned round.
Gemm input_gradient(const Convolution& c, const Pass& pass) {
  const std::int64_t window = c.kernel * c.kernel;
  return {pass.batch * c.size * c.size, c.inputs, c.outputs * window, 1, pass.precision, window};
}

Gemm weight_gradient(const Convolution& c, const Pass& pass) {
  const std::int64_t window = c.kernel * c.kernel;
  return {c.inputs * window, c.outputs, pass.batch * c.size * c.size, 1, pass.precision, window};
}

// The batch norm reads its input twice, for the statistics and for the result.
std::vector<Action> forward_of(const Convolution& c, const Pass& pass, Bytes output) {
  return {Compute{"convolution", {forward_product(c, pass)}, false, {}},
          Compute{"norm", {ElementWise{ElementWiseKind::kNorm, output * 3}}, false, {}},
          Compute{"activation", {ElementWise{ElementWiseKind::kActivation, output * 2}}, false, {}}};
}

// ReLU: its result and the gradient in, a gradient out. Batch norm: input and gradient twice in, a gradient out.
std::vector<Action> backward_of(const Convolution& c, const Pass& pass, Bytes output, bool first,
                                const ParameterCount& parameters) {
  std::vector<Action> actions = {
      Compute{"activation", {ElementWise{ElementWiseKind::kActivation, output * 3}}, false, {}},
      Compute{"norm", {ElementWise{ElementWiseKind::kNorm, output * 5}}, false, {}}};
  if (!first) actions.emplace_back(Compute{"convolution", {input_gradient(c, pass)}, false, {}});
  actions.emplace_back(Compute{"convolution", {weight_gradient(c, pass)}, true, parameters});
  return actions;
}

// Kept: what the batch norm takes, and what the next convolution takes.
LayerProgram convolution_layer(const Convolution& c, const Pass& pass, bool first) {
  const Bytes output = pass.bytes(pass.batch * c.size * c.size * c.outputs);
  LayerProgram layer;
  layer.name = c.name;
  layer.parameters.dense = c.inputs * c.outputs * c.kernel * c.kernel + 2 * c.outputs;
  layer.forward = forward_of(c, pass, output);
  layer.backward = backward_of(c, pass, output, first, layer.parameters);
  layer.saved = output * 2;
  layer.working = output * 2;
  return layer;
}

// The mean over the pixels of every channel, where the classifier takes channels.
Bytes pooling(const ConvolutionalSpec& model, const Pass& pass) {
  if (model.convolutions.empty()) return Bytes(0);
  const Convolution& last = model.convolutions.back();
  if (last.outputs != model.features || last.size == 1) return Bytes(0);
  return pass.bytes(pass.batch * last.outputs * (last.size * last.size + 1));
}

LayerProgram classifier(const ConvolutionalSpec& model, const Pass& pass) {
  const auto [batch, precision] = pass;
  const std::int64_t features = model.features;
  const std::int64_t classes = model.classes;
  const ElementWise pool{ElementWiseKind::kCopy, pooling(model, pass)};
  // Scores one way, probabilities in fp32 the other.
  const ElementWise loss{ElementWiseKind::kLoss, (size_of(precision) + size_of(Precision::kFp32)) * (batch * classes)};
  LayerProgram layer;
  layer.name = "classifier";
  layer.parameters.dense = features * classes + classes;
  if (pool.bytes > Bytes(0)) layer.forward.emplace_back(Compute{"pooling", {pool}, false, {}});
  layer.forward.emplace_back(Compute{"classifier", {Gemm{batch, classes, features, 1, precision}}, false, {}});
  layer.forward.emplace_back(Compute{"loss", {loss}, false, {}});
  layer.backward.emplace_back(Compute{"loss", {loss}, false, {}});
  layer.backward.emplace_back(Compute{"classifier", {Gemm{batch, features, classes, 1, precision}}, false, {}});
  layer.backward.emplace_back(
      Compute{"classifier", {Gemm{classes, features, batch, 1, precision}}, true, layer.parameters});
  if (pool.bytes > Bytes(0)) layer.backward.emplace_back(Compute{"pooling", {pool}, false, {}});
  layer.saved = pass.bytes(batch * features) + size_of(Precision::kFp32) * (batch * classes);
  layer.working = pass.bytes(batch * classes);
  return layer;
}

}  // namespace

std::vector<LayerProgram> convolutional_layers(const ConvolutionalSpec& model, std::int64_t batch,
                                               Precision precision) {
  ORRERY_ASSERT(batch > 0 && batch <= (1 << 18));
  const Pass pass{batch, precision};
  std::vector<LayerProgram> layers;
  for (const Convolution& c : model.convolutions)
    for (std::int64_t i = 0; i < c.repeat; ++i) layers.push_back(convolution_layer(c, pass, layers.empty()));
  layers.push_back(classifier(model, pass));
  return layers;
}

}  // namespace orrery
