// SPDX-License-Identifier: MIT
// Attention of context-parallel ranks and the loss in chunks, by hand: small_llama() has 8 heads of 8 values, 4 of keys
// and values, 32 tokens, a vocabulary of 512 and 64 hidden values, in bf16.
#include <catch2/catch.hpp>

#include "tests/workload/training/layer_sums.h"
#include "tests/workload/training/small_training.h"
#include "workload/training/layers/model_layers.h"
#include "workload/training/program/memory_need.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;

namespace {

TrainingSpec job_of(ContextKind kind, std::int64_t ranks, ContextBalance balance = ContextBalance::kZigzag) {
  TrainingSpec training = small_training(small_llama());
  training.software.attention = AttentionKind::kFlash;
  degree(training, ParallelDimension::kContext) = ranks;
  training.parallel.context_kind = kind;
  training.parallel.context_balance = balance;
  return training;
}

LayerProgram context_layer(const TrainingSpec& training) {
  return transformer_layer(layer_shape(training, 1), FeedForward::kDense);
}

std::vector<RingExchange> rings(std::span<const Action> actions) {
  std::vector<RingExchange> result;
  for (const Action& action : actions)
    if (const auto* ring = std::get_if<RingExchange>(&action)) result.push_back(*ring);
  return result;
}

Flops attention_of_rank(std::span<const Action> actions) {
  Flops sum{0};
  const auto add = [&](const std::vector<Operator>& operators, std::int64_t times) {
    for (const Operator& op : operators)
      if (std::holds_alternative<FlashAttention>(op)) sum += Flops(flops_of(op).count() * times);
  };
  for (const Compute& compute : computes(actions)) add(compute.operators, 1);
  for (const RingExchange& ring : rings(actions)) add(ring.own, 1), add(ring.operators, ring.blocks - 1);
  return sum;
}

Bytes bytes_of_kind(const std::vector<Operator>& operators, ElementWiseKind kind) {
  Bytes sum;
  for (const Operator& op : operators)
    if (const auto* moved = std::get_if<ElementWise>(&op); moved != nullptr && moved->kind == kind) sum += moved->bytes;
  return sum;
}

// 4 * 8 heads * 32 * 32 * 8 FLOPs of two products, of which a causal mask leaves half.
constexpr std::int64_t kWhole = 131'072;

LayerProgram head_of(LossSpec loss, Recompute recompute = Recompute::kNone) {
  TrainingSpec training = small_training(small_llama());
  training.loss = loss;
  training.recompute = recompute;
  return head_layer(layer_shape(training, 1), false);
}

}  // namespace

// 8 tokens a rank: queries of 64 values, keys and values of 64, results of 64, of 2 B each.
TEST_CASE("all-to-all exchanges queries, keys, values and results by heads") {
  const LayerProgram layer = context_layer(job_of(ContextKind::kAllToAll, 4));
  const std::vector<Collective> there = collectives(layer.forward), back = collectives(layer.backward);
  REQUIRE(there.size() == 2);
  REQUIRE(back.size() == 2);
  CHECK(there[0].bytes == Bytes(8 * (64 + 64) * 2));
  CHECK(there[1].bytes == Bytes(8 * 64 * 2));
  CHECK(back[0].bytes == Bytes(8 * 64 * 2));
  CHECK(back[1].bytes == Bytes(8 * (64 + 64) * 2));
  for (const Collective& one : there) {
    CHECK(one.kind == CollectiveKind::kAllToAll);
    CHECK(one.family == GroupFamily::kContext);
  }
  CHECK(attention_of_rank(layer.forward) == Flops(kWhole / 4));
}

// Whole sequences of 8 / 4 heads.
TEST_CASE("all-to-all leaves kernels their keys") {
  const LayerProgram layer = context_layer(job_of(ContextKind::kAllToAll, 4));
  std::vector<FlashAttention> kernels;
  for (const Compute& compute : computes(layer.forward))
    for (const Operator& op : compute.operators)
      if (const auto* kernel = std::get_if<FlashAttention>(&op)) kernels.push_back(*kernel);
  REQUIRE(kernels.size() == 1);
  CHECK(kernels[0].batch == 2);
  CHECK(kernels[0].queries == 32);
  CHECK(kernels[0].keys == 32);
  CHECK(kernels[0].causal);
}

// 8 ranks, 4 heads of keys: each goes to two ranks, so that 64 + 2 * 64 values of 4 tokens are sent, and 64 more kept.
TEST_CASE("all-to-all repeats heads of keys and values where ranks are more") {
  const LayerProgram layer = context_layer(job_of(ContextKind::kAllToAll, 8));
  CHECK(collectives(layer.forward)[0].bytes == Bytes(4 * (64 + 2 * 64) * 2));
  CHECK(collectives(layer.backward)[1].bytes == Bytes(4 * (64 + 2 * 64) * 2));
  const LayerProgram ring = context_layer(job_of(ContextKind::kRing, 8));
  CHECK(layer.saved - ring.saved == Bytes(4 * 64 * 2));
}

// 4 groups of 2 ranks: 4 tokens a rank, so 8 queries of 4 heads against blocks of 8 keys, passed round 4 groups.
TEST_CASE("all-to-all within groups, a ring between them") {
  TrainingSpec training = job_of(ContextKind::kAllToAllRing, 8);
  training.parallel.context_inner = 2;
  const LayerProgram layer = context_layer(training);
  for (const Collective& one : collectives(layer.forward)) CHECK(one.family == GroupFamily::kContextInner);
  REQUIRE(rings(layer.forward).size() == 1);
  const RingExchange ring = rings(layer.forward)[0];
  CHECK(ring.blocks == 4);
  CHECK(ring.bytes == Bytes(4 * 64 * 2));
  const auto own = std::get<FlashAttention>(ring.own[0]), other = std::get<FlashAttention>(ring.operators[0]);
  CHECK(own.batch == 4);
  CHECK(own.queries == 8);
  CHECK(own.keys == 8);
  CHECK(other.keys == 4);
  CHECK(attention_of_rank(layer.forward) == Flops(kWhole / 8));
}

// A node of 8 devices, of which tensor parallelism takes 2: 4 context-parallel ranks are together.
TEST_CASE("an all-to-all of ring groups is as large as a node has room for") {
  TrainingSpec training = job_of(ContextKind::kAllToAllRing, 8);
  degree(training, ParallelDimension::kTensor) = 2;
  training.parallel.node_devices = 8;
  CHECK(training.parallel.context_by_heads() == 4);
  CHECK(training.parallel.context_ring() == 2);
  training.parallel.order = {ParallelDimension::kContext, ParallelDimension::kTensor, ParallelDimension::kData,
                             ParallelDimension::kPipeline};
  CHECK(training.parallel.context_by_heads() == 8);
  CHECK(training.parallel.context_ring() == 1);
}

// Zigzag: every rank a fourth. Contiguous: the last of 4 ranks sees its own block by half and 3 whole: 7/16 of all, 7/4
// of the mean.
TEST_CASE("causal work by rank") {
  for (const ContextKind kind : {ContextKind::kRing, ContextKind::kAllGather}) {
    CHECK(attention_of_rank(context_layer(job_of(kind, 4)).forward) == Flops(kWhole / 4));
    const LayerProgram last = context_layer(job_of(kind, 4, ContextBalance::kContiguous));
    CHECK(attention_of_rank(last.forward) == Flops(kWhole * 7 / 16));
    CHECK(attention_of_rank(last.backward) == Flops(kWhole * 7 / 16 * 5 / 2));
  }
}

// Forward: of 8 tokens with 64 values of 2 B the block's result and the sum so far are read, and the sum is written; of
// 8 heads' three logarithms of 4 B. Backward: gradients of 64 values of queries and of half of 64 of keys and values,
// the block's and the sum's read, the sum's written.
TEST_CASE("a ring adds up what its blocks make") {
  const LayerProgram layer = context_layer(job_of(ContextKind::kRing, 4));
  const RingExchange there = rings(layer.forward)[0], back = rings(layer.backward)[0];
  CHECK(bytes_of_kind(there.own, ElementWiseKind::kAdd) == Bytes(0));
  CHECK(bytes_of_kind(there.operators, ElementWiseKind::kAdd) == Bytes(3 * 8 * 64 * 2 + 3 * 4 * 8 * 8));
  CHECK(bytes_of_kind(back.operators, ElementWiseKind::kAdd) == Bytes(3 * 8 * (64 + 32) * 2));
}

// Of 8 tokens, 2 B each: the block that comes, 64 values; keys and values of three other ranks; and what is sent.
TEST_CASE("buffers of the exchange are working memory") {
  const auto working = [](ContextKind kind) { return context_layer(job_of(kind, 4)).working; };
  const Bytes none = context_layer(job_of(ContextKind::kRing, 1)).working;
  CHECK(working(ContextKind::kRing) - none == Bytes(8 * 64 * 2));
  CHECK(working(ContextKind::kAllGather) - none == Bytes(3 * 8 * 64 * 2));
  CHECK(working(ContextKind::kAllToAll) - none == Bytes(8 * (64 + 64) * 2));
}

TEST_CASE("a kept result of attention is not exchanged again") {
  TrainingSpec training = job_of(ContextKind::kAllToAll, 4);
  training.recompute = Recompute::kFull;
  CHECK(collectives(context_layer(training).recompute).size() == 2);
  training.keep[static_cast<std::size_t>(Kept::kAttention)] = true;
  const std::vector<Collective> again = collectives(context_layer(training).recompute);
  REQUIRE(again.size() == 1);
  CHECK(again[0].bytes == Bytes(8 * (64 + 64) * 2));
  training.parallel.context_kind = ContextKind::kAllGather;
  CHECK(collectives(context_layer(training).recompute).empty());
}

// 32 tokens of 512 logits. Both inputs of the head are 32 * 64 values of 2 B; a logit takes 4 + 2 B.
TEST_CASE("chunks of the loss hold a part of the logits") {
  constexpr std::int64_t kInputs = 2 * 32 * 64 * 2, kLogits = 32 * 512;
  const LayerProgram whole = head_of({});
  CHECK(whole.saved == Bytes(kInputs + 4 * kLogits));
  CHECK(whole.working == Bytes(2 * kLogits));
  const LayerProgram held = head_of({4, LossHeld::kLogits});
  CHECK(held.saved == whole.saved);
  CHECK(held.working == Bytes(2 * kLogits / 4));
  const LayerProgram hidden = head_of({4, LossHeld::kHidden});
  CHECK(hidden.saved == Bytes(kInputs + 4 * 32));
  CHECK(hidden.working == Bytes(6 * kLogits / 4));
  const LayerProgram gradients = head_of({4, LossHeld::kGradients});
  CHECK(gradients.saved == Bytes(kInputs + 512 * 64 * 2));
  CHECK(gradients.working == Bytes(6 * kLogits / 4));
}

// A product of logits, one for the gradient of the input, one for that of the weights: 2 * 32 * 512 * 64 FLOPs each.
TEST_CASE("chunks of the loss make the same products, and those of logits again where the input alone is held") {
  constexpr std::int64_t kProduct = 2 * 32 * 512 * 64;
  const auto work = [](const LayerProgram& layer) { return std::pair(flops(layer.forward), flops(layer.backward)); };
  CHECK(work(head_of({})) == std::pair(Flops(kProduct), Flops(2 * kProduct)));
  CHECK(work(head_of({4, LossHeld::kLogits})) == std::pair(Flops(kProduct), Flops(2 * kProduct)));
  CHECK(work(head_of({4, LossHeld::kHidden})) == std::pair(Flops(kProduct), Flops(3 * kProduct)));
  CHECK(work(head_of({4, LossHeld::kGradients})) == std::pair(Flops(3 * kProduct), Flops(0)));
}

// Norm, then 4 times logits and loss, each a kernel; fused, 4 times gradients of logits, input and weights as well.
TEST_CASE("chunks of the loss are kernels of their own") {
  const auto kernels = [](std::span<const Action> actions) {
    std::size_t count = 0;
    for (const Compute& compute : computes(actions)) count += compute.operators.size();
    return count;
  };
  CHECK(kernels(head_of({4, LossHeld::kLogits}).forward) == 1 + 4 * 2);
  CHECK(kernels(head_of({4, LossHeld::kGradients}).forward) == 1 + 4 * 5);
  const ParameterCount all{512 * 64 + 64, 0};
  for (const LossHeld held : {LossHeld::kLogits, LossHeld::kHidden, LossHeld::kGradients})
    CHECK(finished(head_of({4, held}).backward) == all);
}
