// SPDX-License-Identifier: MIT
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/workload/training/layer_sums.h"
#include "tests/workload/training/small_training.h"
#include "workload/training/layers/model_layers.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;

namespace {

// States of 8, 100 words, two encoder layers, the first both ways, two decoder layers; 5 words are read, 3 written.
const RecurrentSpec kSmallRecurrent{8, 100, 2, 1, 2, 5, 3};

std::vector<Gemm> products(const Compute& compute) {
  std::vector<Gemm> products;
  for (const Operator& op : compute.operators)
    if (const auto* gemm = std::get_if<Gemm>(&op)) products.push_back(*gemm);
  return products;
}

}  // namespace

TEST_CASE("what an LSTM layer makes of its inputs is one product, what it makes of its state one for each word") {
  const std::vector<LayerProgram> layers = recurrent_layers(kSmallRecurrent, 7, Precision::kFp16);
  REQUIRE(layers.size() == 7);  // embedding, two of the encoder, decoder, attention, decoder, classifier
  const LayerProgram& first = layers[1];
  const std::vector<Compute> forward = computes(first.forward);
  REQUIRE(forward.size() == 2);
  CHECK(products(forward[0]) == std::vector<Gemm>{Gemm{7 * 5, 4 * 8, 8, 2, Precision::kFp16}});
  CHECK(products(forward[1]) == std::vector<Gemm>(5, Gemm{7, 4 * 8, 8, 2, Precision::kFp16}));
  // Backward the words come one by one as well, but all weight gradients wait for the last of them.
  const std::vector<Compute> backward = computes(first.backward);
  REQUIRE(backward.size() == 3);
  CHECK(products(backward[0]) == std::vector<Gemm>(5, Gemm{7, 8, 4 * 8, 2, Precision::kFp16}));
  CHECK(products(backward[1]) == std::vector<Gemm>{Gemm{7 * 5, 8, 4 * 8, 2, Precision::kFp16}});
  CHECK(backward[2].weight_gradient);
  CHECK(products(backward[2]) ==
        std::vector<Gemm>{Gemm{8, 4 * 8, 7 * 5, 2, Precision::kFp16}, Gemm{8, 4 * 8, 7 * 5, 2, Precision::kFp16}});
  // Behind a layer that reads both ways come two states for each word; the decoder takes what attention found as well.
  CHECK(products(computes(layers[2].forward)[0]).front() == Gemm{7 * 5, 4 * 8, 16, 1, Precision::kFp16});
  CHECK(products(computes(layers[3].forward)[0]).front() == Gemm{7 * 3, 4 * 8, 8, 1, Precision::kFp16});
  CHECK(products(computes(layers[5].forward)[0]).front() == Gemm{7 * 3, 4 * 8, 16, 1, Precision::kFp16});
}

TEST_CASE("a recurrent model trains twice as long backward as forward, and finishes all its parameters") {
  std::int64_t forward = 0, backward = 0, parameters = 0;
  ParameterCount done;
  for (const LayerProgram& layer : recurrent_layers(kSmallRecurrent, 7, Precision::kFp16)) {
    forward += flops(layer.forward).count();
    backward += flops(layer.backward).count();
    parameters += layer.parameters.total();
    done += finished(layer.backward);
  }
  CHECK(backward == 2 * forward);
  ModelSpec model;
  model.sizes = kSmallRecurrent;
  CHECK(parameters == parameter_count(model));
  CHECK(done.total() == parameters);
  // The table of 100 words; LSTM: both ways 8 to 8, 16 to 8, 8 to 8, 16 to 8, each with four gates and two biases;
  // attention and classifier.
  const auto lstm = [](std::int64_t inputs) { return 4 * 8 * (inputs + 8) + 2 * 4 * 8; };
  CHECK(parameters == 100 * 8 + 2 * lstm(8) + lstm(16) + lstm(8) + lstm(16) + (2 * 64 + 2 * 8 + 1) + 100 * 9);
}

TEST_CASE("a vision transformer embeds patches by one product and classifies one token of an image") {
  TransformerSpec vision = small_gpt();
  vision.vocab = 0;
  vision.tied_embeddings = false;
  vision.sequence = 17;  // 4 x 4 patches of 2 x 2 pixels of 3 values, and the token of the class
  vision.patches = ImagePatches{2, 3, 10};
  TrainingSpec training = small_training(vision);
  training.micro_batch = 5;
  const LayerShape shape = layer_shape(training, 1);
  const LayerProgram embedding = embedding_layer(shape), head = head_layer(shape, false);
  CHECK(products(computes(embedding.forward).front()) == std::vector<Gemm>{Gemm{5 * 16, 64, 12, 1, Precision::kBf16}});
  CHECK(flops(embedding.backward) == flops(embedding.forward));  // images have no gradient
  CHECK(products(computes(head.forward).front()) == std::vector<Gemm>{Gemm{5, 10, 64, 1, Precision::kBf16}});
  CHECK(flops(head.backward) == flops(head.forward) * 2);
  // Weights and bias of the patches, the class token, positions; the last norm, weights and bias of the classes.
  CHECK(embedding.parameters.total() == 12 * 64 + 64 + 64 + 17 * 64);
  CHECK(head.parameters.total() == 2 * 64 + 10 * 64 + 10);
  const LayerProgram layer = transformer_layer(shape, FeedForward::kDense);
  CHECK(embedding.parameters.total() + 8 * layer.parameters.total() + head.parameters.total() ==
        parameter_count(vision));
  // Six FLOPs a weight, patches by 16 of 17 tokens, classes by one.
  training.global_batch = 5;
  const double weights = 8.0 * 12 * 64 * 64 * 17 + 12 * 64 * 16 + 64 * 10, scores = 12.0 * 8 * 64 * 17 * 17;
  CHECK(model_flops(training) == Approx(5 * (6 * weights + scores)));
}

TEST_CASE("a module of multi-token prediction projects, runs a layer and computes the head's scores once more") {
  TransformerSpec model = small_gpt();
  model.tied_embeddings = false;
  TrainingSpec training = small_training(model);
  const LayerShape shape = layer_shape(training, 1);
  const LayerProgram layer = transformer_layer(shape, FeedForward::kDense), module = prediction_layer(shape, false);
  const LayerProgram head = head_layer(shape, false), again = head_layer(shape, true);
  const std::int64_t tokens = shape.tokens(), hidden = model.hidden;
  const std::int64_t projection = 2 * hidden * hidden;
  CHECK(flops(module.forward) == flops(layer.forward) + Flops(2 * tokens * projection));
  CHECK(flops(module.backward) == flops(layer.backward) + Flops(4 * tokens * projection));
  CHECK(flops(again.forward) == flops(head.forward));
  // Norms of the embedding, of what comes in and before the scores; the table of the head is the model's.
  const std::int64_t own = layer.parameters.total() + projection + 2 * norm_parameters(model);
  CHECK(module.parameters.total() == own);
  CHECK(prediction_layer(shape, true).parameters.total() == own + model.vocab * hidden);
  CHECK(again.parameters.total() == norm_parameters(model));
  CHECK(module.saved == layer.saved + shape.own_activations() * 4);

  const double flops_without = model_flops(training);
  const std::int64_t parameters_without = parameter_count(model);
  model.mtp_layers = 2;
  training.model.sizes = model;
  CHECK(parameter_count(model) == parameters_without + 2 * (own + norm_parameters(model)));
  const double weights =
      12.0 * static_cast<double>(hidden * hidden) + static_cast<double>(projection + model.vocab * hidden);
  const double scores = 12.0 * static_cast<double>(hidden * model.sequence);
  CHECK(model_flops(training) - flops_without ==
        Approx(2 * static_cast<double>(training.global_batch * model.sequence) * (6 * weights + scores)));
}

TEST_CASE("an Evoformer's blocks train twice as long backward as forward, and recycled ones go forward alone") {
  EvoformerSpec small{.residues = 4,
                      .pair = 8,
                      .pair_heads = 2,
                      .pair_head = 4,
                      .outer = 3,
                      .triangle = 5,
                      .recycles = 1,
                      .stacks = {}};
  small.stacks = {{.blocks = 2, .sequences = 6, .channels = 16, .heads = 2, .head = 4},
                  {.blocks = 1, .sequences = 5, .channels = 8, .heads = 2, .head = 4, .global = true}};
  const std::vector<LayerProgram> layers = evoformer_layers(small, 1, Precision::kBf16, false);
  REQUIRE(layers.size() == 4);
  std::int64_t parameters = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(layers[i].backward.empty());
    CHECK(layers[i].parameters.total() == 0);
    CHECK(flops(layers[i].forward) == flops(layers[i + 2].forward));
    CHECK(flops(layers[i + 2].backward) == flops(layers[i + 2].forward) * 2);
    CHECK(finished(layers[i + 2].backward) == layers[i + 2].parameters);
    parameters += layers[i + 2].repeat * layers[i + 2].parameters.total();
  }
  ModelSpec model;
  model.sizes = small;
  CHECK(parameters == parameter_count(model));
  // 6 sequences of 4 residues, 16 channels to 3 twice; (4 x 3)^2 products of 6 sequences; 16 pairs, 9 values to 8.
  const std::vector<Compute> parts = computes(layers[2].forward);
  const auto outer = std::ranges::find(parts, "outer product", &Compute::name);
  REQUIRE(outer != parts.end());
  std::int64_t products = 0;
  for (const Operator& op : outer->operators) products += flops_of(op).count();
  CHECK(products == 2 * (2 * 24 * 16 * 3 + 12 * 12 * 6 + 16 * 9 * 8));
  // What goes from block to block is all that recomputation keeps.
  const LayerProgram again = evoformer_layers(small, 1, Precision::kBf16, true)[2];
  CHECK(again.saved == Bytes(2 * (6 * 4 * 16 + 4 * 4 * 8)));
  CHECK(again.saved + again.working == layers[2].saved);
  CHECK(flops(again.recompute) == flops(again.forward));
}
