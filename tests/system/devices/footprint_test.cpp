// SPDX-License-Identifier: MIT
// Memory that a software's footprint adds, by hand. Shares of it stand against what Megatron-LM's own tests log:
// configs/validation/training/megatron-golden-*.
#include <catch2/catch.hpp>

#include "tests/workload/training/small_training.h"
#include "workload/training/layers/blocks.h"
#include "workload/training/layers/model_layers.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;

namespace {

constexpr Bytes kMiB{1 << 20};

// PyTorch's own workspaces and those of Transformer Engine.
TrainingSpec with_workspaces(const TransformerSpec& model) {
  TrainingSpec training = small_training(model);
  Footprint& footprint = training.software.footprint;
  footprint.workspaces_of[Architecture::kAmpere] = {kMiB * 8, kMiB * 4};
  footprint.grouped = 4;
  return training;
}

Bytes workspaces(TrainingSpec training, Architecture architecture, bool is_deterministic) {
  training.software.footprint.settle(architecture, is_deterministic);
  return memory_needs(training).front()[MemoryUse::kWorkspaces];
}

MemoryNeed last_need(const TrainingSpec& training) { return memory_needs(training).back(); }

Bytes activations(const TrainingSpec& training) { return last_need(training)[MemoryUse::kActivations]; }

Bytes kept_by_experts(const TrainingSpec& training) {
  return transformer_layer(layer_shape(training, 1), FeedForward::kExperts).saved;
}

}  // namespace

TEST_CASE("two threads have a workspace each, and layers another") {
  const TrainingSpec dense = with_workspaces(small_gpt());
  CHECK(workspaces(dense, Architecture::kAmpere, false) == kMiB * (2 * 8 + 4));
  CHECK(workspaces(dense, Architecture::kAmpere, true) == kMiB * (2 * 32 + 4));
  CHECK(workspaces(dense, Architecture::kHopper, true) == Bytes(0));
}

TEST_CASE("grouped products of experts have a workspace for each stream") {
  CHECK(workspaces(with_workspaces(small_experts()), Architecture::kAmpere, false) == kMiB * (2 * 8 + 4 + 4 * 4));
}

TEST_CASE("at rest there is all but activations") {
  const MemoryNeed need = last_need(with_workspaces(small_gpt()));
  CHECK(need.step == Bytes(0));
  CHECK(need.rest() == need.total() - need[MemoryUse::kActivations]);
}

TEST_CASE("gradients of 16 bits are copied for the step, and gone when activations come") {
  TrainingSpec training = small_training(small_gpt());
  training.precision = Precision::kFp16;
  training.software.gradients = Precision::kFp16;
  const MemoryNeed before = last_need(training);
  training.software.footprint.gradient_copy = true;
  const MemoryNeed need = last_need(training);
  CHECK(need.rest() - before.rest() == Bytes(4 * parameter_count(small_gpt())));
  CHECK(need.total() == std::max(before.total(), need.rest()));
  CHECK(need[MemoryUse::kActivations] == std::max(before[MemoryUse::kActivations], need.step));
  training.software.gradients = Precision::kFp32;
  CHECK(last_need(training).step == Bytes(0));
}

TEST_CASE("replicas that share the optimizer share the copy of gradients") {
  TrainingSpec training = small_training(small_gpt());
  training.software.gradients = Precision::kBf16;
  training.software.footprint.gradient_copy = true;
  degree(training, ParallelDimension::kData) = 2;
  training.global_batch = 2;
  const Bytes all = last_need(training).step;
  training.parallel.zero = 1;
  CHECK(last_need(training).step * 2 == all);
}

TEST_CASE("a mask has a byte for each query and key") {
  TrainingSpec training = small_training(small_gpt());
  const Bytes without = activations(training);
  training.software.footprint.attention_mask = true;
  CHECK(activations(training) - without == Bytes(training.micro_batch * 32 * 32));
}

TEST_CASE("flash attention may keep its result twice") {
  TrainingSpec training = small_training(small_gpt());
  training.software.attention = AttentionKind::kFlash;
  const auto kept = [&] { return transformer_layer(layer_shape(training, 1), FeedForward::kDense).saved; };
  const Bytes once = kept();
  training.software.footprint.attention_copy = true;
  CHECK(kept() - once == Bytes(2 * training.micro_batch * 32 * 64));
}

// Inputs of four products: 64, 64, 64 and 256 values of a token, a byte less each; the core keeps its result in bf16.
TEST_CASE("fp8 keeps what products took in fp8") {
  TrainingSpec training = small_training(small_gpt());
  training.software.attention = AttentionKind::kFlash;
  training.precision = Precision::kFp8;
  const auto kept = [&] { return transformer_layer(layer_shape(training, 1), FeedForward::kDense).saved; };
  const Bytes bf16 = kept();
  training.software.fp8.saved = true;
  CHECK(bf16 - kept() == Bytes(training.micro_batch * 32 * (64 + 64 + 256 - 64)));
}

TEST_CASE("fp8 copies stand beside weights that are not in fp8 themselves") {
  TrainingSpec training = small_training(small_gpt());
  training.precision = Precision::kFp8;
  const Bytes none = last_need(training)[MemoryUse::kParameters];
  training.software.fp8.copies = Bytes(2);
  const std::int64_t layers = 8 * transformer_layer(layer_shape(training, 1), FeedForward::kDense).parameters.total();
  CHECK(last_need(training)[MemoryUse::kParameters] - none == Bytes(2 * layers));
  training.software.fp8.parameters = true;
  CHECK(last_need(training)[MemoryUse::kParameters] == none);
}

// ZeRO 3 gathers weights before they are cast: copies go with the layer that is computed and the next one.
TEST_CASE("fp8 copies of weights that ZeRO 3 gathers go with their layers") {
  TrainingSpec training = small_training(small_gpt());
  training.precision = Precision::kFp8;
  degree(training, ParallelDimension::kData) = 2;
  training.global_batch = 2;
  training.parallel.zero = 3;
  const MemoryNeed none = last_need(training);
  training.software.fp8.copies = Bytes(2);
  const MemoryNeed need = last_need(training);
  const std::int64_t layer = transformer_layer(layer_shape(training, 1), FeedForward::kDense).parameters.total();
  CHECK(need[MemoryUse::kParameters] == none[MemoryUse::kParameters]);
  CHECK(need[MemoryUse::kCommunication] - none[MemoryUse::kCommunication] == Bytes(2 * 2 * layer));
  CHECK(need.rest() == none.rest());
}

// Two experts a token of 32: 64 rows of 64 values, or of 128 inside.
TEST_CASE("the router's weights keep results of experts, or activations that are not gated") {
  TransformerSpec model = small_experts();
  for (const bool gated : {true, false}) {
    model.gated_mlp = gated;
    TrainingSpec training = small_training(model);
    const Bytes results = kept_by_experts(training);
    training.software.footprint.router_weights = RouterWeights::kActivations;
    const std::int64_t rows = training.micro_batch * 32 * 2;
    CHECK(kept_by_experts(training) - results == Bytes(2 * rows * ((gated ? 0 : 128) - 64)));
  }
}

TEST_CASE("one buffer is as large as its largest use") {
  TrainingSpec training = small_training(small_experts());
  degree(training, ParallelDimension::kTensor) = 2;
  degree(training, ParallelDimension::kData) = 4;
  training.global_batch = 4;
  training.parallel.sequence = true;
  training.parallel.expert = 4;
  const auto buffer = [&](SharedBuffer kind) {
    training.software.footprint.buffer = kind;
    return last_need(training)[MemoryUse::kWorkspaces];
  };
  const std::int64_t tokens = training.micro_batch * 32;
  CHECK(buffer(SharedBuffer::kNone) == Bytes(0));
  CHECK(buffer(SharedBuffer::kGathers) == Bytes(2 * tokens * 64));
  training.experts.dispatch.kind = DispatchKind::kAllGather;
  CHECK(buffer(SharedBuffer::kGathers) == Bytes(2 * tokens * 64 * 4));
  training.software.attention = AttentionKind::kPlain;
  CHECK(buffer(SharedBuffer::kScores) == Bytes(std::max<std::int64_t>(2 * tokens * 64 * 4, 2 * 4 * tokens * 32)));
}

TEST_CASE("stages of a pipeline hold activations of their neighbours") {
  TrainingSpec training = small_training(small_gpt());
  degree(training, ParallelDimension::kPipeline) = 2;
  training.software.footprint.received = 3;
  const Bytes boundary(2 * training.micro_batch * 32 * 64);
  CHECK(last_need(training)[MemoryUse::kCommunication] == boundary * 3);
  degree(training, ParallelDimension::kPipeline) = 1;
  CHECK(last_need(training)[MemoryUse::kCommunication] == Bytes(0));
}

TEST_CASE("weight gradients of the head that are put off hold gradients of logits") {
  TrainingSpec training = small_training(small_gpt());
  training.global_batch = 3;
  const Bytes at_once = activations(training);
  training.software.footprint.deferred_heads = 2;
  const std::int64_t logits = training.micro_batch * 32 * 512, weights = 512 * 64;
  CHECK(activations(training) - at_once == Bytes(2 * 2 * logits + 2 * weights));
  training.software.footprint.deferred_heads = 50;  // more than a step has micro-batches
  CHECK(activations(training) - at_once == Bytes(3 * 2 * logits + 2 * weights));
}

// The perceptron's products have 64 x 256 weights.
TEST_CASE("a layer's largest product has a gradient in the making") {
  TrainingSpec training = small_training(small_gpt());
  const auto working = [&] { return transformer_layer(layer_shape(training, 1), FeedForward::kDense).working; };
  const Bytes fused = working();
  training.software.footprint.weight_gradient = Bytes(4);
  CHECK(working() - fused == Bytes(4 * 64 * 256));
  training.lora = LoraSpec{};
  CHECK(working() == fused);
}

TEST_CASE("layers that ZeRO 3 gathers are gone at rest") {
  TrainingSpec training = small_training(small_gpt());
  degree(training, ParallelDimension::kData) = 2;
  training.global_batch = 2;
  training.parallel.zero = 3;
  const MemoryNeed need = last_need(training);
  CHECK(need.passing > Bytes(0));
  CHECK(need.passing == need[MemoryUse::kCommunication]);
  CHECK(need.rest() == need[MemoryUse::kParameters] + need[MemoryUse::kGradients] + need[MemoryUse::kOptimizer]);
}
