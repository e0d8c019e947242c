// SPDX-License-Identifier: MIT
// Recipes of low precision: casts with their scales, what is saved, copied and gathered, and what stays in bf16.
#include <catch2/catch.hpp>
#include <vector>

#include "tests/workload/training/layer_sums.h"
#include "tests/workload/training/small_training.h"
#include "workload/calls/token_rows.h"
#include "workload/training/layers/model_layers.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;

namespace {

// As configs/recipes/mxfp8.yaml and nvfp4.yaml, of which no layer stays in bf16 as a whole.
Recipe mxfp8() {
  Recipe recipe{"mxfp8", Precision::kMxfp8, Bytes(4), Bytes(4), 32, Bytes(1)};
  recipe.gathers = recipe.saved = true;
  recipe.copies = Bytes(2);
  return recipe;
}

Recipe nvfp4() {
  Recipe recipe{"nvfp4", Precision::kNvfp4, Bytes(5), Bytes(5), 16, Bytes(1)};
  recipe.gathers = recipe.saved = true;
  recipe.copies = Bytes(1);
  return recipe;
}

TrainingSpec in_low_precision(const Recipe& recipe) {
  TrainingSpec training = small_training(small_llama());
  training.software.attention = AttentionKind::kFlash;
  training.recipe = recipe;
  training.precision = recipe.precision;
  return training;
}

LayerProgram program_of(const TrainingSpec& training) {
  return transformer_layer(layer_shape(training, 1), FeedForward::kDense);
}

std::vector<Operator> operators_of(std::span<const Action> actions) {
  std::vector<Operator> all;
  for (const Compute& compute : computes(actions))
    all.insert(all.end(), compute.operators.begin(), compute.operators.end());
  return all;
}

Bytes cast_traffic(std::span<const Action> actions) {
  Bytes sum;
  for (const Operator& op : operators_of(actions))
    if (const auto* moved = std::get_if<ElementWise>(&op); moved != nullptr && moved->kind == ElementWiseKind::kCast)
      sum += moved->bytes;
  return sum;
}

// Products of a pass by the precision of their operands.
std::size_t count_in(std::span<const Action> actions, Precision precision, ProductStage stage) {
  std::size_t count = 0;
  for (const Operator& op : operators_of(actions))
    if (const auto* gemm = std::get_if<Gemm>(&op))
      count += gemm->precision == precision && gemm->stage == stage ? 1 : 0;
  return count;
}

}  // namespace

// 64 values in 8 bits are 64 B and 2 scales; in 4 bits 32 B and 4 scales.
TEST_CASE("formats of low precision store a scale with every block") {
  CHECK(stored(Precision::kFp8, 64) == Bytes(64));
  CHECK(stored(Precision::kMxfp8, 64) == Bytes(64 + 2));
  CHECK(stored(Precision::kNvfp4, 64) == Bytes(32 + 4));
  CHECK(stored(Precision::kBf16, 64) == Bytes(128));
  CHECK(mxfp8().size_of_values(64) == Bytes(66));
  CHECK(nvfp4().size_of_values(64) == Bytes(36));
  CHECK(nvfp4().with_scales(Bytes(64)) == Bytes(64 + 8));  // 128 values
}

// Three rows of 200 values. fp8: 200 B and 2 scales of 4 B, the second of 72 values; mxfp8: 200 B and 7 scales of 1 B,
// the last of 8 values; nvfp4: 100 B and 13 scales of 1 B, the last of 8 values; bf16: 400 B.
TEST_CASE("tokens travel with the scales of their format") {
  CHECK(token_rows(3, 200, Precision::kFp8) == Bytes(3 * (200 + 8)));
  CHECK(token_rows(3, 200, Precision::kInt8) == Bytes(3 * (200 + 8)));
  CHECK(token_rows(3, 200, Precision::kMxfp8) == Bytes(3 * (200 + 7)));
  CHECK(token_rows(3, 200, Precision::kNvfp4) == Bytes(3 * (100 + 13)));
  CHECK(token_rows(3, 200, Precision::kBf16) == Bytes(3 * 400));
}

// Operands m x k and k x n of 32 x 64 x 64 values: 2,048 + 4,096 of half a byte and 384 scales; the result in bf16.
TEST_CASE("products of four bits read half a byte a value and a scale for 16") {
  const Gemm product{32, 64, 64, 1, Precision::kNvfp4};
  CHECK(bytes_of(product) == Bytes(6144 / 2 + 6144 / 16 + 2 * 32 * 64));
}

// A forward pass casts 64 values a token for queries, keys and values, 64 for the projection, 64 for the perceptron's
// first product and 192 for its second: 384 of 32 tokens. In mxfp8 4 B and 2 scales for 32 values; in nvfp4 5 B and 2
// scales for 16.
TEST_CASE("scales come on top of what casts move, once for each orientation") {
  constexpr std::int64_t kValues = 32 * 384;
  CHECK(cast_traffic(program_of(in_low_precision(mxfp8())).forward) == Bytes(kValues * 4 + 2 * kValues / 32));
  CHECK(cast_traffic(program_of(in_low_precision(nvfp4())).forward) == Bytes(kValues * 5 + 2 * kValues / 16));
  // Gradients of weights in bf16: one orientation, half a byte and a scale less for each value.
  Recipe recipe = nvfp4();
  recipe.stages_in_bf16[static_cast<std::size_t>(ProductStage::kWeightGradient)] = true;
  CHECK(cast_traffic(program_of(in_low_precision(recipe)).forward) == Bytes(kValues * 5 - kValues / 2 + kValues / 16));
}

// The same 384 values a token are saved cast: bf16 keeps 2 B of them, but for the projection's 64, which attention
// keeps in any case.
TEST_CASE("inputs of products are saved as they are cast, with their scales") {
  TrainingSpec bf16 = in_low_precision(mxfp8());
  bf16.precision = Precision::kBf16;
  const Bytes whole = program_of(bf16).saved;
  CHECK(whole - program_of(in_low_precision(mxfp8())).saved == Bytes(32 * (2 * (384 - 64) - 384) - 32 * 384 / 32));
  CHECK(whole - program_of(in_low_precision(nvfp4())).saved == Bytes(32 * (2 * (384 - 64) - 384 / 2) - 32 * 384 / 16));
  Recipe recipe = nvfp4();
  recipe.stages_in_bf16[static_cast<std::size_t>(ProductStage::kWeightGradient)] = true;
  CHECK(program_of(in_low_precision(recipe)).saved == whole);
}

TEST_CASE("what a recipe leaves in bf16 is neither cast nor in low precision") {
  Recipe recipe = mxfp8();
  recipe.products_in_bf16[static_cast<std::size_t>(Product::kDown)] = true;
  recipe.stages_in_bf16[static_cast<std::size_t>(ProductStage::kInputGradient)] = true;
  const LayerProgram layer = program_of(in_low_precision(recipe));
  CHECK(count_in(layer.forward, Precision::kMxfp8, ProductStage::kForward) == 3);
  CHECK(count_in(layer.forward, Precision::kBf16, ProductStage::kForward) == 1);
  CHECK(count_in(layer.backward, Precision::kMxfp8, ProductStage::kInputGradient) == 0);
  CHECK(count_in(layer.backward, Precision::kMxfp8, ProductStage::kWeightGradient) == 3);
  // 192 values a token fewer; those of the others are cast both ways for the forward pass and the weights' gradients.
  CHECK(cast_traffic(layer.forward) == Bytes(32 * 192 * 4 + 2 * 32 * 192 / 32));
}

TEST_CASE("the router and the head stay in bf16") {
  TrainingSpec training = in_low_precision(mxfp8());
  training.model.sizes = small_experts();
  const LayerShape shape = layer_shape(training, 1);
  CHECK(count_in(transformer_layer(shape, FeedForward::kExperts).forward, Precision::kBf16, ProductStage::kForward) ==
        1);
  const LayerProgram head = head_layer(shape, false);
  CHECK(count_in(head.forward, Precision::kBf16, ProductStage::kForward) == 1);
  CHECK(count_in(head.backward, Precision::kMxfp8, ProductStage::kWeightGradient) == 0);
}

// The first and the last two of 8 layers stay in bf16: their operands take no cast and have no copies.
TEST_CASE("layers at both ends of the model stay in bf16") {
  Recipe recipe = mxfp8();
  recipe.first = 1;
  recipe.last = 2;
  const TrainingSpec training = in_low_precision(recipe);
  std::vector<std::int64_t> left;
  for (std::int64_t layer = 0; layer < 8; ++layer)
    if (training.is_left_in_bf16(layer)) left.push_back(layer);
  CHECK(left == std::vector<std::int64_t>{0, 6, 7});
  CHECK_FALSE(training.is_left_in_bf16(8));  // a module of multi-token prediction
  CHECK(cast_traffic(transformer_layer(in_bf16(layer_shape(training, 1)), FeedForward::kDense).forward) == Bytes(0));
}

// 64 values are 64 B and 2 scales where parameters are kept cast, else 128 B of bf16.
TEST_CASE("replicas gather parameters as they are cast only where they are kept so") {
  Recipe recipe = mxfp8();
  CHECK(in_low_precision(recipe).gathered_parameters(64) == Bytes(128));
  recipe.parameters = true;
  CHECK(in_low_precision(recipe).gathered_parameters(64) == Bytes(66));
}
