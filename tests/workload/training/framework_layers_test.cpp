// SPDX-License-Identifier: MIT
// What frameworks make of a layer: what recomputation keeps, adapters beside frozen weights, casts to fp8,
// communication beside products in pieces.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "tests/workload/training/layer_sums.h"
#include "tests/workload/training/small_training.h"
#include "workload/training/layers/model_layers.h"
#include "workload/training/program/gradient_synchronisation.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;

namespace {

LayerProgram layer_of(const TrainingSpec& training) { return transformer_layer(layer_shape(training, 1), false); }

TrainingSpec llama() {
  TrainingSpec training = small_training(small_llama());
  training.software.attention = AttentionKind::kFlash;
  return training;
}

TrainingSpec keeping(std::initializer_list<Kept> kept, bool recompute_all = true) {
  TrainingSpec training = llama();
  training.recompute = Recompute::kFull;
  training.software.recompute_all = recompute_all;
  for (const Kept one : kept) training.keep[static_cast<std::size_t>(one)] = true;
  return training;
}

std::vector<Gemm> products(std::span<const Action> actions) {
  std::vector<Gemm> result;
  for (const Compute& compute : computes(actions))
    for (const Operator& op : compute.operators)
      if (const auto* product = std::get_if<Gemm>(&op)) result.push_back(*product);
  return result;
}

Bytes casts(std::span<const Action> actions) {
  Bytes sum;
  for (const Compute& compute : computes(actions))
    for (const Operator& op : compute.operators)
      if (const auto* moved = std::get_if<ElementWise>(&op); moved != nullptr && moved->kind == ElementWiseKind::kCast)
        sum += moved->bytes;
  return sum;
}

}  // namespace

TEST_CASE("full recomputation repeats the forward pass but for what is kept") {
  const LayerProgram whole = layer_of(keeping({}));
  CHECK(flops(whole.recompute) == flops(whole.forward));
  const LayerProgram kept = layer_of(keeping({Kept::kQkv, Kept::kAttention}));
  // Of four products the projection and the perceptron's two are left.
  CHECK(products(kept.recompute).size() == 3);
  const TransformerSpec model = small_llama();
  const std::int64_t queries = model.heads * model.head_size, pairs = 2 * model.kv_heads * model.head_size;
  // 2 bytes for each value, and of attention a sum in 4 bytes for each query and head.
  CHECK(kept.saved - whole.saved == Bytes(model.sequence * (2 * (queries + pairs + queries) + 4 * model.heads)));
  CHECK(kept.saved + kept.working == whole.saved + whole.working);
}

TEST_CASE("a compiler of whole programs leaves out the last product of a layer that it repeats") {
  const LayerProgram layer = layer_of(keeping({}, false));
  REQUIRE(products(layer.forward).size() == 4);
  CHECK(products(layer.recompute).size() == 3);
  CHECK(products(layer.recompute).back().product == Product::kUp);
}

TEST_CASE("adapters train beside frozen weights, of which no gradient is computed") {
  TrainingSpec training = llama();
  const LayerProgram full = layer_of(training);
  training.lora.emplace();
  training.lora->rank = 4;
  training.lora->targets[static_cast<std::size_t>(Product::kProjection)] = true;
  const LayerProgram layer = layer_of(training);
  const TransformerSpec model = small_llama();
  const std::int64_t adapter = 4 * (model.heads * model.head_size + model.hidden);
  CHECK(layer.parameters.total() == adapter);
  CHECK(layer.frozen == full.parameters.total());
  CHECK(finished(layer.backward).total() == adapter);
  // Forward one product becomes three; backward four gradients of weights become two, and two of inputs are added.
  CHECK(products(layer.forward).size() == products(full.forward).size() + 2);
  CHECK(products(layer.backward).size() == products(full.backward).size() - 4 + 2 + 2);
}

TEST_CASE("operands of products in fp8 are cast once forward and once backward") {
  TrainingSpec training = llama();
  training.precision = Precision::kFp8;
  CHECK(casts(layer_of(training).forward) == Bytes(0));
  training.software.fp8.operand = Bytes(4);
  training.software.fp8.normalised = Bytes(1);
  const TransformerSpec model = small_llama();
  const std::int64_t tokens = model.sequence, queries = model.heads * model.head_size;
  const std::int64_t pairs = 2 * model.kv_heads * model.head_size;
  const LayerProgram layer = layer_of(training);
  CHECK(casts(layer.forward) == Bytes(tokens * (2 * model.hidden + 4 * queries + 4 * model.ffn_hidden)));
  CHECK(casts(layer.backward) ==
        Bytes(4 * tokens * (queries + pairs + 3 * model.hidden - model.hidden + 2 * model.ffn_hidden)));
  // Frozen weights need no transposed copies: a byte less of each operand.
  training.lora.emplace();
  const LayerProgram frozen = layer_of(training);
  CHECK(casts(frozen.forward) == Bytes(tokens * 3 * (queries + model.ffn_hidden)));
  CHECK(casts(frozen.backward).count() == casts(layer.backward).count() / 4 * 3);
  training.precision = Precision::kBf16;
  CHECK(casts(layer_of(training).forward) == Bytes(0));
}

TEST_CASE("a product of a weight's gradient adds it up in the precision of gradients, if no other kernel does") {
  TrainingSpec training = llama();
  training.software.gradients = Precision::kFp32;
  const auto stages_of = [](const LayerProgram& layer) {
    std::map<ProductStage, std::set<std::int64_t>> results;
    for (const Gemm& product : products(layer.backward)) results[product.stage].insert(product.result.count());
    return results;
  };
  using Stages = std::map<ProductStage, std::set<std::int64_t>>;
  CHECK(stages_of(layer_of(training)) ==
        Stages{{ProductStage::kInputGradient, {0}}, {ProductStage::kWeightGradient, {8}}});
  training.software.gradients = Precision::kBf16;
  CHECK(stages_of(layer_of(training)).at(ProductStage::kWeightGradient) == std::set<std::int64_t>{4});
  training.software.accumulation = Bytes(12);
  CHECK(stages_of(layer_of(training)).at(ProductStage::kWeightGradient) == std::set<std::int64_t>{0});
}

TEST_CASE("in pieces a product runs beside the collective of its rows, and the work stays the same") {
  TrainingSpec training = llama();
  degree(training, ParallelDimension::kTensor) = 4;
  training.parallel.sequence = true;
  training.software.overlap_tensor = TensorOverlap::kWeightGradient;
  const LayerProgram whole = layer_of(training);
  training.software.overlap_tensor = TensorOverlap::kPieces;
  const LayerProgram cut = layer_of(training);
  CHECK(flops(cut.forward) == flops(whole.forward));
  CHECK(flops(cut.backward) == flops(whole.backward));
  // Four products forward, each of four pieces.
  CHECK(products(cut.forward).size() == 4 * products(whole.forward).size());
  for (const Collective& collective : collectives(cut.forward)) CHECK(collective.beside_next);
  REQUIRE(collectives(cut.forward).size() == collectives(whole.forward).size());
  CHECK(finished(cut.backward) == finished(whole.backward));
  // Backward the gradients of inputs are summed up beside the gradients of weights.
  for (const Collective& collective : collectives(cut.backward))
    CHECK(collective.beside_next == (collective.kind == CollectiveKind::kAllGather));
}

TEST_CASE("buckets grow with the replicas") {
  TrainingSpec training = llama();
  training.software.bucket = Bytes(400);
  training.software.bucket_of_replica = Bytes(80);
  CHECK(bucket_parameters(training) == 100);
  degree(training, ParallelDimension::kData) = 16;
  CHECK(bucket_parameters(training) == 320);
  training.software.bucket_first = true;
  CHECK(has_buckets(training, 0, 0));
  CHECK_FALSE(has_buckets(training, 0, 1));
  CHECK_FALSE(has_buckets(training, 1, 0));
}

TEST_CASE(
    "every pass through a layer of experts launches its router's kernels, and forward passes read their results") {
  const auto launching = [](const TrainingSpec& training) {
    const Job job = generate_job(training, FakeTimes()).job;
    const ExecutionGraph& graph = job.graph(RankId(0));
    Duration sum{};
    for (std::uint32_t node = 0; node < graph.size(); ++node)
      if (graph.kind(NodeId(node)) == NodeKind::kCompute) sum += graph.host(NodeId(node)).launches;
    return std::pair(sum, static_cast<std::int64_t>(graph.synchronisations().size()));
  };
  for (const Recompute recompute : {Recompute::kNone, Recompute::kFull}) {
    TrainingSpec training = small_training(small_experts());
    degree(training, ParallelDimension::kData) = 2;
    training.parallel.expert = 2;
    training.global_batch = 4 * training.micro_batch * 2;
    training.recompute = recompute;
    training.software.host.launch = Duration(1'000'000);
    const auto [before, steps] = launching(training);
    training.software.host.router = 7;
    training.software.host.reads_sizes = true;
    std::int64_t layers = 0;
    for (std::int64_t layer = 0; layer < training.transformer()->layers; ++layer)
      layers += training.transformer()->has_experts(layer) ? 1 : 0;
    const std::int64_t passes = recompute == Recompute::kFull ? 3 : 2;
    CHECK(layers > 0);
    const auto [launches, synchronisations] = launching(training);
    CHECK(launches - before == Duration(1'000'000) * (7 * passes * layers * training.micro_batches()));
    CHECK(steps == 1);  // the end of the step
    CHECK(synchronisations - steps == (passes - 1) * layers * training.micro_batches());
    training.software.host.graphs = GraphScope::kStep;
    CHECK(launching(training) == std::pair(Duration{}, std::int64_t{0}));
  }
}

TEST_CASE("kernels of constant sizes in CUDA graphs are one launch from one collective to the next") {
  TrainingSpec training = llama();
  training.software.host.launch = Duration(1'000'000);
  const auto launches = [&] {
    const Job job = generate_job(training, FakeTimes()).job;
    const ExecutionGraph& graph = job.graph(RankId(0));
    std::pair<std::int64_t, std::int64_t> all;  // of computations, and those with more than one
    for (std::uint32_t node = 0; node < graph.size(); ++node) {
      if (graph.kind(NodeId(node)) != NodeKind::kCompute) continue;
      const std::int64_t one = graph.host(NodeId(node)).launches / training.software.host.launch;
      all.first += one;
      if (one > 1) ++all.second;
    }
    return all;
  };
  const auto eager = launches();
  CHECK(eager.second > 0);
  training.software.host.graphs = GraphScope::kDense;
  const auto captured = launches();
  CHECK(captured.second == 0);
  CHECK(captured.first < eager.first);
}
