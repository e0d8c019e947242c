#include "workload/training/convolutional_layers.h"

#include <catch2/catch.hpp>

#include "layer_sums.h"
#include "training_files.h"

using namespace orrery;
using namespace orrery::testing;

namespace {

ModelSpec resnet_50() {
  ModelSpec model;
  read_shipped(std::filesystem::path(ORRERY_SOURCE_DIR) / "configs/models/resnet-50.yaml",
               [&](Section& s) { model = read_model(s); });
  return model;
}

// A 3x3 convolution of 4 to 6 channels on 5x5 pixels, twice a 1x1 of 6 channels, 6 features and 10 classes.
const ConvolutionalSpec kSmall{{{"wide", 4, 6, 3, 5, 1}, {"narrow", 6, 6, 1, 5, 2}}, 6, 10};

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
  for (const LayerProgram& layer : layers) {
    forward += flops(layer.forward);
    backward += flops(layer.backward);
    parameters += layer.parameters;
    exchanged += finished(layer.backward);
  }
  CHECK(layers.size() == 53 + 1);
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

TEST_CASE("convolutions that repeat are layers of their own") {
  const std::vector<LayerProgram> layers = convolutional_layers(kSmall, 2, Precision::kFp16);
  REQUIRE(layers.size() == 4);
  CHECK(layers[1].name == "narrow");
  CHECK(layers[2].name == "narrow");
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
