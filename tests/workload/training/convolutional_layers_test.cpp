// SPDX-License-Identifier: MIT
#include "workload/training/layers/model_layers.h"

#include <catch2/catch.hpp>

#include "tests/workload/training/layer_sums.h"
#include "tests/workload/training/training_files.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;

namespace {

ModelSpec resnet_50() {
  ModelSpec model;
  read_shipped(std::filesystem::path(ORRERY_SOURCE_DIR) / "configs/models/resnet-50.yaml",
               [&](Section& s) { model = read_model(s); });
  return model;
}

// A 3x3 convolution of 4 to 6 channels on 5x5 pixels, twice a 1x1 of 6 channels, 6 features and 10 classes.
const ConvolutionalSpec kSmall{{{.name = "wide", .inputs = 4, .outputs = 6, .kernel = 3, .size = 5},
                                {.name = "narrow", .inputs = 6, .outputs = 6, .size = 5, .repeat = 2}},
                               6,
                               10};

Bytes bytes(const Compute& compute) {
  Bytes sum{0};
  for (const Operator& op : compute.operators) sum += bytes_of(op);
  return sum;
}

// The second layer of a network of one convolution behind another.
LayerProgram behind(const Convolution& c, ConvolutionKernels kernels = {}) {
  const ConvolutionalSpec model{{{.name = "first", .inputs = c.inputs, .outputs = c.inputs, .size = 5}, c}, 6, 10};
  return convolutional_layers(model, 2, Precision::kFp16, kernels)[1];
}

std::vector<std::string> names(std::span<const Action> actions) {
  std::vector<std::string> names;
  for (const Compute& compute : computes(actions)) names.push_back(compute.name);
  return names;
}

}  // namespace

// Multiplications of a stage's first block and of each other one, on images of 224x224, stride in the 3x3 convolution.
// With p pixels of the result and w channels inside: 3x3 is 9 w^2 p, the expansion 4 w^2 p and a reduction from 4 w
// channels the same. The first block reduces from i channels on p' pixels and has a shortcut of i * 4w * p.
TEST_CASE("ResNet-50 multiplies 4.09 billion times per image") {
  const auto stage = [](std::int64_t blocks, std::int64_t inputs, std::int64_t width, std::int64_t side,
                        std::int64_t side_before) {
    const std::int64_t pixels = side * side;
    const std::int64_t first =
        inputs * width * side_before * side_before + (9 + 4) * width * width * pixels + inputs * 4 * width * pixels;
    return first + (blocks - 1) * (4 + 9 + 4) * width * width * pixels;
  };
  const std::int64_t expected = 3 * 49 * 64 * 112 * 112 + stage(3, 64, 64, 56, 56) + stage(4, 256, 128, 28, 56) +
                                stage(6, 512, 256, 14, 28) + stage(3, 1024, 512, 7, 14) + 2048 * 1000;
  REQUIRE(expected == 4'089'184'256);

  constexpr std::int64_t kImages = 32;
  Flops forward{0};
  Flops backward{0};
  ParameterCount parameters;
  ParameterCount exchanged;
  const std::vector<LayerProgram> layers =
      convolutional_layers(std::get<ConvolutionalSpec>(resnet_50().sizes), kImages, Precision::kFp16);
  std::int64_t count = 0;
  for (const LayerProgram& layer : layers)
    for (std::int64_t i = 0; i < layer.repeat; ++i) {
      ++count;
      forward += flops(layer.forward);
      backward += flops(layer.backward);
      parameters += layer.parameters;
      exchanged += finished(layer.backward);
    }
  CHECK(count == 53 + 1);
  CHECK(forward == Flops(2 * expected * kImages));
  // Twice as much backward, but for the gradient of the images.
  CHECK(backward == Flops(2 * (2 * expected - 3 * 49 * 64 * 112 * 112) * kImages));
  CHECK(parameters == ParameterCount{25'557'032, 0});
  CHECK(exchanged == parameters);
}

TEST_CASE("a convolution reads every pixel once, however many windows it is in") {
  const LayerProgram layer = convolutional_layers(kSmall, 2, Precision::kFp16).front();
  constexpr std::int64_t kPixels = 2 * 5 * 5;
  const Bytes expected(2 * (kPixels * 4 + 4 * 9 * 6 + kPixels * 6));  // input, kernels, output
  CHECK(bytes_of(computes(layer.forward).front().operators.front()) == expected);
  // The weight gradient has the same three matrices.
  CHECK(bytes_of(computes(layer.backward).back().operators.front()) == expected);
}

TEST_CASE("convolutions that repeat are described once, but for the first of the network") {
  const std::vector<LayerProgram> layers = convolutional_layers(kSmall, 2, Precision::kFp16);
  REQUIRE(layers.size() == 3);
  CHECK(layers[1].name == "narrow");
  CHECK(layers[1].repeat == 2);
  const ConvolutionalSpec alike{{{.name = "same", .inputs = 4, .outputs = 4, .size = 5, .repeat = 3}}, 4, 2};
  const std::vector<LayerProgram> first_and_others = convolutional_layers(alike, 2, Precision::kFp16);
  REQUIRE(first_and_others.size() == 3);
  CHECK(first_and_others[0].repeat == 1);
  CHECK(first_and_others[1].repeat == 2);
  CHECK(layers[1].parameters == ParameterCount{36 + 12, 0});
  // 2 * 25 pixels of 6 channels, two bytes each, before and behind the batch norm.
  CHECK(layers[1].saved == Bytes(2 * 600));
  // Only the first one needs no gradient of its input: activation, norm, weights.
  CHECK(computes(layers[0].backward).size() == 3);
  CHECK(computes(layers[1].backward).size() == 4);
}

// Batch norm: twice in, once out forward; input and gradient twice, once out backward. ReLU 2 and 3.
TEST_CASE("batch norm and ReLU are bound by the bytes of their operands") {
  const LayerProgram layer = convolutional_layers(kSmall, 2, Precision::kFp32).front();
  const Bytes output(4 * 2 * 25 * 6);
  CHECK(bytes_of(computes(layer.forward)[1].operators.front()) == output * 3);
  CHECK(bytes_of(computes(layer.forward)[2].operators.front()) == output * 2);
  CHECK(bytes_of(computes(layer.backward)[0].operators.front()) == output * 3);
  CHECK(bytes_of(computes(layer.backward)[1].operators.front()) == output * 5);
}

TEST_CASE("the classifier takes the mean of every channel") {
  const LayerProgram classifier = convolutional_layers(kSmall, 2, Precision::kFp16).back();
  CHECK(classifier.parameters == ParameterCount{70, 0});
  CHECK(computes(classifier.forward).front().name == "pooling");
  CHECK(bytes_of(computes(classifier.forward).front().operators.front()) == Bytes(2 * 2 * 6 * (25 + 1)));
  ConvolutionalSpec flat = kSmall;
  flat.features = 150;  // all pixels of all channels
  CHECK(computes(convolutional_layers(flat, 2, Precision::kFp16).back().forward).front().name == "classifier");
}

// 2 images of 8 channels on 4x4 pixels from 4 channels on 8x8.
TEST_CASE("a stride leaves out pixels of the input, and its gradient has them all") {
  constexpr std::int64_t kOutput = 2 * 16 * 8, kInput = 2 * 64 * 4;
  const LayerProgram window =
      behind({.name = "window", .inputs = 4, .outputs = 8, .kernel = 3, .size = 4, .stride = 2});
  const Bytes kernels(2 * 4 * 9 * 8);
  CHECK(bytes(computes(window.forward)[0]) == kernels + Bytes(2 * (kInput + kOutput)));
  CHECK(bytes(computes(window.backward)[2]) == kernels + Bytes(2 * (kInput + kOutput)));
  // A kernel of one pixel reads a quarter of them, and writes zeros to the others.
  const LayerProgram point = behind({.name = "point", .inputs = 4, .outputs = 8, .size = 4, .stride = 2});
  CHECK(bytes(computes(point.forward)[0]) == Bytes(2 * (kInput / 4 + 4 * 8 + kOutput)));
  CHECK(bytes(computes(point.backward)[2]) == Bytes(2 * (kInput + 4 * 8 + kOutput)));
  CHECK(bytes(computes(point.backward)[3]) == Bytes(2 * (kInput / 4 + 4 * 8 + kOutput)));
  CHECK(flops(point.forward) == Flops(2 * kOutput * 4));
  CHECK(flops(point.backward) == Flops(4 * kOutput * 4));
}

// A sum reads two tensors and writes one. Two branches from one input have a gradient each, which are added up.
TEST_CASE("shortcuts are added up, forward and backward") {
  const Bytes output(2 * 2 * 25 * 6);
  const LayerProgram end = behind({.name = "end", .inputs = 6, .outputs = 6, .size = 5, .adds = true});
  CHECK(names(end.forward) == std::vector<std::string>{"convolution", "norm", "sum", "activation"});
  CHECK(bytes(computes(end.forward)[2]) == output * 3);
  CHECK(names(end.backward) == std::vector<std::string>{"activation", "norm", "convolution", "convolution"});
  const LayerProgram begin = behind({.name = "begin", .inputs = 6, .outputs = 6, .size = 5, .branches = true});
  CHECK(names(begin.backward) == std::vector<std::string>{"activation", "norm", "convolution", "convolution", "sum"});
  CHECK(bytes(computes(begin.backward).back()) == output * 3);
  const LayerProgram linear = behind({.name = "linear", .inputs = 6, .outputs = 6, .size = 5, .activation = false});
  CHECK(names(linear.forward) == std::vector<std::string>{"convolution", "norm"});
}

// Fused, the norm reads the other branch as well, and writes its gradient.
TEST_CASE("a fused norm does what the sum and ReLU did") {
  const Bytes output(2 * 2 * 25 * 6);
  const LayerProgram end =
      behind({.name = "end", .inputs = 6, .outputs = 6, .size = 5, .adds = true}, {.fused_norm = true});
  CHECK(names(end.forward) == std::vector<std::string>{"convolution", "norm"});
  CHECK(bytes(computes(end.forward)[1]) == output * 4);
  CHECK(names(end.backward) == std::vector<std::string>{"norm", "convolution", "convolution"});
  CHECK(bytes(computes(end.backward)[0]) == output * 6);
}

// Forward in, a quarter of it out; backward the gradient and where each came from, a quarter each, in, a gradient out.
TEST_CASE("pooling is bound by the bytes of its operands") {
  const LayerProgram pooled = behind({.name = "pooled", .inputs = 6, .outputs = 6, .size = 4, .pool = 2});
  const Bytes output(2 * 2 * 16 * 6);
  CHECK(bytes(computes(pooled.forward).back()) == Bytes(output.count() * 5 / 4));
  CHECK(names(pooled.backward).front() == "pooling");
  CHECK(bytes(computes(pooled.backward).front()) == Bytes(output.count() * 3 / 2));
}

// Each of three products per layer has both tensors read and written once more.
TEST_CASE("kernels that take channels last copy tensors that have them first") {
  const Convolution narrow{.name = "narrow", .inputs = 4, .outputs = 6, .size = 5};
  const LayerProgram plain = behind(narrow), turned = behind(narrow, {.transposed = true});
  const Bytes copies(2 * 2 * 2 * 25 * (4 + 6));
  CHECK(bytes(computes(turned.forward)[0]) == bytes(computes(plain.forward)[0]) + copies);
  for (const std::size_t product : {2u, 3u})
    CHECK(bytes(computes(turned.backward)[product]) == bytes(computes(plain.backward)[product]) + copies);
  SoftwareSpec software;
  software.channels_first.fill(true);
  // Kernels without tensor cores take them as they are.
  CHECK_FALSE(convolution_kernels(software, Precision::kFp32).transposed);
  CHECK(convolution_kernels(software, Precision::kTf32).transposed);
}

TEST_CASE("Winograd's algorithm is for 3x3 convolutions that skip no pixel") {
  const auto is_winograd = [](const Convolution& c) {
    const LayerProgram layer = behind(c, {.winograd = true});
    return std::get<Gemm>(computes(layer.forward)[0].operators.back()).winograd;
  };
  CHECK(is_winograd({.name = "3x3", .inputs = 4, .outputs = 6, .kernel = 3, .size = 5}));
  CHECK_FALSE(is_winograd({.name = "5x5", .inputs = 4, .outputs = 6, .kernel = 5, .size = 5}));
  CHECK_FALSE(is_winograd({.name = "strided", .inputs = 4, .outputs = 6, .kernel = 3, .size = 5, .stride = 2}));
}
