// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "tests/workload/training/layer_sums.h"
#include "tests/workload/training/small_training.h"
#include "tests/workload/training/training_files.h"
#include "workload/training/layers/model_layers.h"
#include "workload/training/spec/check.h"
#include "workload/training/spec/mixer_sizes.h"
#include "workload/training/spec/transformer_flops.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;
using Catch::Matchers::Contains;

namespace {

TransformerSpec transformer_of(std::string_view text) {
  ModelSpec model;
  const std::string problems = problems_of(text, [&](Section& s) { model = read_model(s); });
  INFO(problems);
  CHECK(problems.empty());
  return std::get<TransformerSpec>(model.sizes);
}

std::string problems_with(std::string_view text) {
  return problems_of(text, [](Section& s) { read_model(s); });
}

// Layers of 8 values with 4 heads of 2, without biases.
std::string six_layers(std::string_view more) {
  return "hidden: 8\nlayers: 6\nheads: 4\nvocab: 10\nsequence: 16\nbiases: false\nposition: rotary\n" +
         std::string(more);
}

// The first attention kernel of a layer's actions.
FlashAttention kernel_of(const std::vector<Action>& actions) {
  for (const Compute& compute : computes(actions))
    for (const Operator& op : compute.operators)
      if (const auto* attention = std::get_if<FlashAttention>(&op)) return *attention;
  FAIL("no attention");
  return {};
}

LayerShape shape_of(const TrainingSpec& training, std::size_t kind) {
  LayerShape shape = layer_shape(training, 1);
  shape.kind = shape.model->kind(kind);
  return shape;
}

// A layer's own parameters on one rank are the model's for that kind: the mixer and a norm before it.
void check_parameters(const TransformerSpec& model, std::size_t kind) {
  const TrainingSpec training = small_training(model);
  const LayerShape shape = shape_of(training, kind);
  const LayerProgram layer = transformer_layer(shape, FeedForward::kNone);
  std::int64_t weights = norm_parameters(model);
  const MixerSizes sizes = mixer_sizes(model, model.kind(kind));
  for (const WeightMatrix& matrix : sizes.products)
    weights += matrix.inputs * matrix.outputs + (matrix.bias ? matrix.outputs : 0);
  CHECK(layer.parameters.total() == weights + sizes.vectors);
  CHECK(finished(layer.backward) == layer.parameters);
}

}  // namespace

// Scores take 6 * 4 * (2 + 2) = 96 FLOPs for each key and layer, forward and backward: of 16 keys, or of a window.
TEST_CASE("a window, chunks and an interval say how many keys a token sees") {
  const auto flops = [](std::string_view more, bool causal) {
    return flops_per_token(transformer_of(six_layers(more)), causal);
  };
  const double full = flops("", false);
  CHECK(full - flops("window: 4", false) == 6 * 96 * (16 - 4));
  CHECK(full - flops("chunk: 8", false) == 6 * 96 * (16 - 8));
  CHECK(flops("window: 16", false) == full);
  CHECK(flops("window: 20\n", true) == flops("", true));
  // Layers 3 and 6 see all keys.
  CHECK(full - flops("window: 4\nwindow_interval: 3", false) == 4 * 96 * (16 - 4));
  // No layer is the seventh.
  CHECK(flops("window: 4\nwindow_interval: 7", false) == flops("window: 4", false));
  // Of 16 x 4 pairs a causal window lacks the triangle of 4 x 4 / 2 before the first token: 56 pairs of 16 tokens.
  CHECK(full - flops("", true) == 6 * 96 * 8);
  CHECK(flops("", true) - flops("window: 4", true) == Approx(6 * 96 * (8 - 56.0 / 16)));
  CHECK(flops("", true) - flops("chunk: 8", true) == Approx(6 * 96 * (8 - 4)));
}

TEST_CASE("kinds of layers have what they do not give from the model") {
  const TransformerSpec model = transformer_of(
      six_layers("kv_heads: 2\nwindow: 4\nkinds: {wide: {window: 0, heads: 8, kv_heads: 4}, narrow: {}}\npattern: [2 "
                 "narrow, wide]"));
  CHECK(model.pattern == std::vector<std::size_t>{1, 1, 0});
  CHECK(model.kind_of(0).name == "narrow");
  CHECK(model.kind_of(5).name == "wide");
  CHECK(model.kind_of(6).name == "wide");  // a module of multi-token prediction is as the last layer
  CHECK(model.kind_of(0).attention.window == 4);
  CHECK(model.kind_of(2).attention.window == 0);
  CHECK(model.kind_of(2).attention.heads == 8);
  CHECK(model.kind_of(2).attention.head_size == 2);
  // Queries, keys, values and output: 8 * (8 + 4 + 4) + 8 * 8 narrow, 8 * (16 + 8 + 8) + 16 * 8 wide.
  CHECK(parameter_count(model) ==
        parameter_count(transformer_of(six_layers("kv_heads: 2"))) + 2 * (8 * 32 + 16 * 8 - (8 * 16 + 8 * 8)));
}

TEST_CASE("a pattern may be cut by the last layer, and kinds of one letter may be written as a word") {
  const std::string kinds = "kinds: {a: {mixer: none, feed_forward: dense}, b: {feed_forward: none}}\n";
  CHECK(transformer_of(six_layers(kinds + "pattern: [3 a, b]")).kind_of(5).name == "a");
  const TransformerSpec model = transformer_of(six_layers(kinds + "pattern: aab"));
  CHECK(model.pattern == std::vector<std::size_t>{0, 0, 1});
  // Four perceptrons of 2 * 8 * 32, two attentions of 4 * 8 * 8, a norm before each and behind all, the table.
  CHECK(parameter_count(model) == 4 * 512 + 2 * 256 + 7 * 8 + 80);
  CHECK(model.feed_forward(0) == FeedForward::kDense);
  CHECK(model.feed_forward(2) == FeedForward::kNone);
}

TEST_CASE("sinks, gates, norms of heads and values of their own size are parameters of attention") {
  const std::int64_t plain = parameter_count(transformer_of(six_layers("")));
  CHECK(parameter_count(transformer_of(six_layers("sinks: true"))) == plain + 6 * 4);
  CHECK(parameter_count(transformer_of(six_layers("head_norms: true"))) == plain + 6 * 2 * 2);
  CHECK(parameter_count(transformer_of(six_layers("output_gate: true"))) == plain + 6 * 8 * 8);
  // Values of 3 in place of 2: 4 more columns, and 4 more rows behind.
  CHECK(parameter_count(transformer_of(six_layers("value_head: 3"))) == plain + 6 * (8 * 4 + 4 * 8));
  for (const char* more : {"sinks: true", "head_norms: true", "output_gate: true", "value_head: 3"})
    check_parameters(transformer_of(six_layers(more)), 0);
}

TEST_CASE("attention under a window computes its pairs alone, and chunks are sequences of their own") {
  TransformerSpec model = small_llama();  // 32 tokens, 8 heads of 8
  model.window = 8;
  TrainingSpec training = small_training(model);
  FlashAttention kernel = kernel_of(transformer_layer(shape_of(training, 0), FeedForward::kDense).forward);
  CHECK(kernel.window == 8);
  CHECK(kernel.batch == 8);
  CHECK(kernel.keys == 32);
  // 32 * 8 pairs less the triangle of 8 * 8 / 2, 4 FLOPs for each of 8 values, 8 heads; backward 2.5 times that.
  CHECK(flops_of(kernel) == Flops((32 * 8 - 32) * 4 * 8 * 8));
  kernel.backward = true;
  CHECK(flops_of(kernel) == Flops((32 * 8 - 32) * 4 * 8 * 8 * 5 / 2));
  model.window = 0;
  model.chunk = 8;
  training = small_training(model);
  kernel = kernel_of(transformer_layer(shape_of(training, 0), FeedForward::kDense).forward);
  CHECK(kernel == FlashAttention{8 * 4, 8, 8, 8});
  // A window as long as the sequence is none.
  model.chunk = 0;
  model.window = 32;
  training = small_training(model);
  CHECK(kernel_of(transformer_layer(shape_of(training, 0), FeedForward::kDense).forward).window == 0);
}

// Memory of a token: a norm's input of queries and keys, 64 + 32 values; a gate and the result that it gated, 2 * 64.
TEST_CASE("norms of heads and gates keep what went into them") {
  TransformerSpec model = small_llama();
  const auto saved = [&] {
    const TrainingSpec training = small_training(model);
    return transformer_layer(shape_of(training, 0), FeedForward::kDense).saved;
  };
  const Bytes plain = saved();
  model.head_norms = true;
  CHECK(saved() == plain + Bytes(32 * (64 + 32) * 2));
  model.head_norms = false;
  model.output_gate = true;
  CHECK(saved() == plain + Bytes(32 * 2 * 64 * 2));
}

// 2 heads of keys and 4 of values of 3 and 5 values: keys 6, values 20, convolved 32.
TEST_CASE("linear attention has its published parameters, on one rank and in all") {
  const std::string sizes = "key_heads: 2, value_heads: 4, key_size: 3, value_size: 5";
  const auto of_kind = [&](const std::string& more) {
    return transformer_of(six_layers("kinds: {k: {" + sizes + ", " + more + "}}\npattern: [k]"));
  };
  const std::int64_t plain = parameter_count(transformer_of(six_layers("")));
  const auto mixer = [&](const TransformerSpec& model) { return (parameter_count(model) - plain) / 6 + 4 * 8 * 8; };
  // Queries, keys, values and gate 8 * (12 + 40), rates and decays 8 * 8, output 20 * 8, convolution 4 * 32, two
  // parameters a head, a norm of 5.
  const TransformerSpec delta = of_kind("mixer: gated-delta");
  CHECK(mixer(delta) == 8 * 52 + 64 + 160 + 128 + 8 + 5);
  // Queries, keys, values 8 * 32, rates 8 * 4, both gates 8 * 2 * 7 and 7 * 6 and 7 * 20, output 160, convolution 128,
  // a bias for 6 values of keys, a parameter a head, a norm of 5.
  const TransformerSpec kimi = of_kind("mixer: kimi-delta, gate_rank: 7");
  CHECK(mixer(kimi) == 256 + 32 + 112 + 42 + 140 + 160 + 128 + 6 + 4 + 5);
  // z and x 8 * 40, B and C 8 * 12, steps 8 * 4, output 160, convolution 5 * 32 with biases, 3 a head, a norm of 20.
  const TransformerSpec mamba = of_kind("mixer: mamba2, convolution_bias: true");
  CHECK(mixer(mamba) == 320 + 96 + 32 + 160 + 160 + 12 + 20);
  for (const TransformerSpec* model : {&delta, &kimi, &mamba}) check_parameters(*model, 0);
  // A state of 4 * 3 * 5 values: 8 FLOPs forward (7 of Mamba-2) and twice that backward; convolution 2 * 4 * 32
  // likewise.
  const auto scan = [&](const TransformerSpec& model) {
    double weights = 10 * 8;  // the head
    for (const WeightMatrix& matrix : mixer_sizes(model, model.kind(0)).products)
      weights += 6.0 * static_cast<double>(matrix.inputs * matrix.outputs);
    weights += 6 * 2 * 8 * 32;  // perceptrons
    return (flops_per_token(model, true) - 6 * weights) / 6;
  };
  CHECK(scan(delta) == Approx(3 * (8 * 60 + 256)));
  CHECK(scan(mamba) == Approx(3 * (7 * 60 + 256)));
}

// Chunks of 8 of 32 tokens, 2 heads of 16 by 16 on one rank of 4: 4 chunks x 2 heads.
TEST_CASE("a scan takes products of chunks, and ranks of a tensor group share its heads") {
  TransformerSpec model = small_llama();
  LayerKind kind{"linear", model, MixerKind::kGatedDelta, {8, 8, 16, 16, 4, 8}};
  model.kinds = {kind};
  model.pattern = {0};
  TrainingSpec training = small_training(model);
  degree(training, ParallelDimension::kTensor) = 4;
  const LayerProgram layer = transformer_layer(shape_of(training, 0), FeedForward::kNone);
  // A head and chunk: keys by keys, inverse, keys and values by it, both products of states; queries by keys, values
  // and states.
  constexpr std::int64_t kChunk =
      8 * 8 * 16 + 8 * 8 * 8 + 2 * 8 * 8 * 16 + 2 * 8 * 16 * 16 + 2 * 8 * 8 * 16 + 8 * 16 * 16;
  // A token: queries, keys, values, gate 64 * 4 * 32, rates and decays 64 * 4, output 32 * 64.
  constexpr std::int64_t kToken = 64 * 128 + 64 * 4 + 32 * 64;
  CHECK(flops(layer.forward) == Flops(2 * (8 * kChunk + 32 * kToken)));
  // Two gradients for each product; operands of chunks, all but what queries make, once more.
  constexpr std::int64_t kResult = 2 * 8 * 8 * 16 + 8 * 16 * 16;
  CHECK(flops(layer.backward) == Flops(2 * (8 * (3 * kChunk - kResult) + 2 * 32 * kToken)));
  check_parameters(model, 0);
}

TEST_CASE("an indexer has parameters and work of its own, and attention sees the keys that it chooses") {
  const std::string latent =
      "latent_attention: {query_rank: 3, key_value_rank: 5, head: 2, rotary_head: 1, value_head: 4}\n";
  const TransformerSpec without = transformer_of(six_layers(latent)),
                        with = transformer_of(six_layers(latent + "indexer: {heads: 2, head: 6, keys: 4}"));
  // Queries 3 * 12, a key 8 * 6 with a norm of 2 * 6, weights of heads 8 * 2.
  CHECK(parameter_count(with) - parameter_count(without) == 6 * (36 + 48 + 12 + 16));
  check_parameters(with, 0);
  // Products of its weights; its scores for 16 keys, 12 values each; attention's 4 * (3 + 4) values for 4 of 16 keys.
  CHECK(flops_per_token(with, false) - flops_per_token(without, false) ==
        Approx(6 * (6 * (36 + 48 + 16) + 6 * 12 * 16 - 6 * 28 * 12)));
  // Compressed keys and rotary values are what its kernel compares.
  const TrainingSpec training = small_training(with);
  const FlashAttention kernel = kernel_of(transformer_layer(shape_of(training, 0), FeedForward::kNone).forward);
  CHECK(kernel.window == 4);
  CHECK(kernel.head_size == 6);
}

TEST_CASE("kinds that cannot be are reported") {
  CHECK_THAT(problems_with(six_layers("pattern: [full]")), Contains("names kinds of layers, and there are none"));
  CHECK_THAT(problems_with(six_layers("kinds: {a: {}}")), Contains("'kinds' without a pattern"));
  CHECK_THAT(problems_with(six_layers("kinds: {a: {}}\npattern: [b]")), Contains("'b' is no kind of layer"));
  CHECK_THAT(problems_with(six_layers("kinds: {a: {}, b: {}}\npattern: [a]")), Contains("no layer is of kind 'b'"));
  CHECK_THAT(problems_with(six_layers("kinds: {a: {}}\npattern: [7 a]")),
             Contains("a pattern of 7 layers, and the model has 6"));
  CHECK_THAT(problems_with(six_layers("kinds: {a: {mixer: none, feed_forward: none}}\npattern: [a]")),
             Contains("a layer of nothing"));
  CHECK_THAT(problems_with(six_layers("kinds: {a: {feed_forward: experts}}\npattern: [a]")),
             Contains("the model has none"));
  CHECK_THAT(problems_with(six_layers("window_interval: 2")), Contains("no meaning without a window or chunk"));
  CHECK_THAT(problems_with(six_layers("window: 2\nwindow_interval: 2\nkinds: {a: {}}\npattern: [a]")),
             Contains("both say which layers see all keys"));
  CHECK_THAT(problems_with(six_layers("chunk: 5")), Contains("does not divide into chunks of 5"));
  CHECK_THAT(problems_with(six_layers("indexer: {heads: 2, head: 6, keys: 4}")), Contains("compressed queries"));
  CHECK_THAT(
      problems_with(six_layers("kinds: {a: {mixer: gated-delta, key_heads: 3, value_heads: 4, key_size: 2, value_size: "
                               "2}}\npattern: [a]")),
      Contains("4 value_heads are not a multiple of 3 key_heads"));
}

TEST_CASE("what ranks cannot share of kinds is reported") {
  const auto of = [](const std::string& more, ParallelDimension dimension, ContextKind context) {
    TrainingSpec training = small_training(transformer_of(six_layers(more)));
    degree(training, dimension) = 2;
    training.parallel.context_kind = context;
    Diagnostics diagnostics;
    check_training(training, 2, diagnostics);
    std::string text;
    for (const Problem& problem : diagnostics.problems()) text += to_string(problem);
    return text;
  };
  using enum ParallelDimension;
  const std::string delta =
      "kinds: {a: {mixer: gated-delta, key_heads: 1, value_heads: 4, key_size: 2, value_size: 2}}\n"
      "pattern: [a]";
  CHECK_THAT(of(delta, kTensor, ContextKind::kRing), Contains("1 heads of keys of linear attention do not divide"));
  CHECK_THAT(of(delta, kContext, ContextKind::kAllGather), Contains("pass a state along the sequence"));
  CHECK_THAT(of("window: 4", kContext, ContextKind::kRing), Contains("a query sees 4 of 16 keys"));
  CHECK(of("window: 4", kContext, ContextKind::kAllGather).find("keys") == std::string::npos);
}
