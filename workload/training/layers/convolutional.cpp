// SPDX-License-Identifier: MIT
#include "workload/training/layers/model_layers.h"

#include "core/assert.h"

namespace orrery::workload {
namespace {

// Batch and precision that all layers of one network share.
struct BatchShape {
  std::int64_t batch = 0;
  Precision precision = Precision::kBf16;
  ConvolutionKernels kernels;

  Bytes bytes(std::int64_t values) const { return size_of(precision) * values; }
};

// A convolution of one batch.
struct Tensors {
  Tensors(const Convolution& c, const BatchShape& pass)
      : pixels(pass.batch * c.size * c.size),
        window(c.kernel * c.kernel),
        read(pass.batch * c.read_pixels() * c.inputs),
        input(pass.batch * c.input_pixels() * c.inputs),
        output(pixels * c.outputs) {}

  std::int64_t pixels;  // of the output
  std::int64_t window;  // pixels under the kernel
  std::int64_t read;    // values
  std::int64_t input;   // values, with those that a stride skips
  std::int64_t output;  // values
};

class ConvolutionLayer {
 public:
  ConvolutionLayer(const Convolution& c, const BatchShape& pass, bool first)
      : c_(c), pass_(pass), tensors_(c, pass), output_(pass.bytes(tensors_.output)), first_(first) {}

  // Kept: what the batch norm takes, and what the next convolution takes.
  LayerProgram program(std::int64_t repeat) const {
    LayerProgram layer;
    layer.name = c_.name;
    layer.repeat = repeat;
    layer.parameters.dense = c_.inputs * c_.outputs * tensors_.window + 2 * c_.outputs;
    layer.forward = forward();
    layer.backward = backward(layer.parameters);
    layer.saved = output_ * 2;
    layer.working = output_ * 2;
    return layer;
  }

 private:
  // Implicit GEMMs (Chetlur et al. 2014): a row for every pixel of the output, whose columns are the window under the
  // kernel. Pixels repeat in the windows that they are in.
  Gemm forward_product() const {
    return product(tensors_.pixels, c_.outputs, c_.inputs * tensors_.window, tensors_.read, tensors_.output);
  }

  // The gradient of the output, convolved with the kernel turned round; pixels that a stride skips get zeros.
  Gemm input_gradient() const {
    return product(tensors_.pixels, c_.inputs, c_.outputs * tensors_.window, tensors_.output, tensors_.input);
  }

  Gemm weight_gradient() const {
    return product(c_.inputs * tensors_.window, c_.outputs, tensors_.pixels, tensors_.read, 0);
  }

  Gemm product(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t stored_a, std::int64_t stored_c) const {
    Gemm gemm{m, n, k, 1, pass_.precision};
    gemm.winograd = pass_.kernels.winograd && c_.kernel == 3 && c_.stride == 1;
    gemm.stored_a = stored_a;
    gemm.stored_c = stored_c;
    return gemm;
  }

  // The batch norm reads its input twice, for the statistics and for the result.
  std::vector<Action> forward() const {
    std::vector<Action> actions = {convolution(forward_product())};
    const bool fused = pass_.kernels.fused_norm;
    add(actions, "norm", ElementWiseKind::kNorm, output_ * (c_.adds && fused ? 4 : 3));
    if (c_.adds && !fused) add(actions, "sum", ElementWiseKind::kAdd, output_ * 3);
    if (c_.activation && !fused) add(actions, "activation", ElementWiseKind::kActivation, output_ * 2);
    if (c_.pool > 1) add(actions, "pooling", ElementWiseKind::kCopy, output_ + pooled());
    return actions;
  }

  // Pooling: what was pooled, with where each came from, and its gradient in, a gradient out. ReLU: its result and the
  // gradient in, a gradient out. Batch norm: input and gradient twice in, a gradient out; fused, that of the other
  // branch as well. A sum needs no kernel: both branches have the same gradient.
  std::vector<Action> backward(const ParameterCount& parameters) const {
    std::vector<Action> actions;
    const bool fused = pass_.kernels.fused_norm;
    if (c_.pool > 1) add(actions, "pooling", ElementWiseKind::kCopy, output_ + pooled() * 2);
    if (c_.activation && !fused) add(actions, "activation", ElementWiseKind::kActivation, output_ * 3);
    add(actions, "norm", ElementWiseKind::kNorm, output_ * (c_.adds && fused ? 6 : 5));
    if (!first_) actions.emplace_back(convolution(input_gradient()));
    Compute weights = convolution(weight_gradient());
    weights.weight_gradient = true;
    weights.finishes = parameters;
    actions.emplace_back(std::move(weights));
    if (c_.branches && !first_) add(actions, "sum", ElementWiseKind::kAdd, pass_.bytes(tensors_.input) * 3);
    return actions;
  }

  // Adds the copies that turn both tensors round.
  Compute convolution(const Gemm& product) const {
    Compute compute{"convolution", {}, false, {}};
    if (pass_.kernels.transposed) {
      const Bytes turned = (pass_.bytes(tensors_.input) + output_) * 2;
      compute.operators.emplace_back(ElementWise{ElementWiseKind::kCopy, turned});
    }
    compute.operators.emplace_back(product);
    return compute;
  }

  Bytes pooled() const { return Bytes(output_.count() / (c_.pool * c_.pool)); }

  static void add(std::vector<Action>& actions, const char* name, ElementWiseKind kind, Bytes bytes) {
    actions.emplace_back(Compute{name, {ElementWise{kind, bytes}}, false, {}});
  }

  const Convolution& c_;
  const BatchShape& pass_;
  Tensors tensors_;
  Bytes output_;
  bool first_;
};

// The mean over the pixels of every channel, where the classifier takes channels.
Bytes pooling(const ConvolutionalSpec& model, const BatchShape& pass) {
  if (model.convolutions.empty()) return Bytes(0);
  const Convolution& last = model.convolutions.back();
  const std::int64_t side = last.size / last.pool;
  if (last.outputs != model.features || side == 1) return Bytes(0);
  return pass.bytes(pass.batch * last.outputs * (side * side + 1));
}

LayerProgram classifier(const ConvolutionalSpec& model, const BatchShape& pass) {
  const std::int64_t batch = pass.batch;
  const Precision precision = pass.precision;
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

ConvolutionKernels convolution_kernels(const SoftwareSpec& software, Precision precision) {
  const auto at = static_cast<std::size_t>(precision);
  return {software.fused_norm[at], software.winograd[at], software.channels_first[at] && precision != Precision::kFp32};
}

std::vector<LayerProgram> convolutional_layers(const ConvolutionalSpec& model, std::int64_t batch, Precision precision,
                                               ConvolutionKernels kernels) {
  ORRERY_ASSERT(batch > 0 && batch <= (1 << 18));
  const BatchShape pass{batch, precision, kernels};
  std::vector<LayerProgram> layers;
  for (const Convolution& c : model.convolutions) {
    const std::int64_t first = layers.empty() ? 1 : 0;
    if (first > 0) layers.push_back(ConvolutionLayer(c, pass, true).program(first));
    if (c.repeat > first) layers.push_back(ConvolutionLayer(c, pass, false).program(c.repeat - first));
  }
  layers.push_back(classifier(model, pass));
  return layers;
}

}  // namespace orrery::workload
