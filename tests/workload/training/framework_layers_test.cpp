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

LayerProgram layer_of(const TrainingSpec& training) {
  return transformer_layer(layer_shape(training, 1), FeedForward::kDense);
}

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

namespace {

LayerProgram experts_of(const TrainingSpec& training, double load = 1) {
  LayerShape shape = layer_shape(training, load);
  shape.sent_load = load;
  return transformer_layer(shape, FeedForward::kExperts);
}

TrainingSpec spread_experts() {
  TrainingSpec training = small_training(small_experts());
  training.software.attention = AttentionKind::kFlash;
  training.parallel.degrees[static_cast<std::size_t>(ParallelDimension::kData)] = 4;
  training.parallel.expert = 4;
  return training;
}

}  // namespace

TEST_CASE("modules of a layer are computed again by themselves, and what they keep is freed") {
  TrainingSpec training = spread_experts();
  const LayerProgram whole = experts_of(training);
  CHECK(whole.recompute.empty());
  const auto freed = [&](bool RecomputeModules::*module) {
    training.recompute_modules = {};
    training.recompute_modules.*module = true;
    const LayerProgram layer = experts_of(training);
    CHECK(layer.saved + layer.working == whole.saved + whole.working);
    return whole.saved - layer.saved;
  };
  // A rank's 32 tokens are 64 rows of 2 B values: 64 wide as the experts take them and as results come back, 128 wide
  // twice before the gated activation and once behind it; and the same three for each token of the shared expert.
  CHECK(freed(&RecomputeModules::experts) == Bytes(2 * (64 * (64 + 64 + 3 * 128) + 32 * 3 * 128)));
  const LayerProgram experts = experts_of(training);
  // All of the forward pass but the attention, the norm and the residual sum: router, experts and shared expert, that
  // is 2 x 32 x 64 x 8, 2 x 64 x 64 x 3 x 128 and 2 x 32 x 64 x 3 x 128 FLOPs in products, and two all-to-alls.
  double in_products = 0;
  for (const Gemm& product : products(experts.recompute))
    in_products += static_cast<double>(flops_of(Operator(product)).count());
  CHECK(in_products == 2 * 32 * 64 * 8 + 2 * 64 * 64 * 3 * 128 + 2 * 32 * 64 * 3 * 128);
  REQUIRE(collectives(experts.recompute).size() == 2);
  CHECK(collectives(experts.recompute)[0].bytes == Bytes(64 * 64 * 2));
  CHECK(freed(&RecomputeModules::shared_experts) == Bytes(2 * 32 * 3 * 128));
  CHECK(freed(&RecomputeModules::expert_activation) == Bytes(2 * 64 * 128));
  CHECK(freed(&RecomputeModules::activation) == Bytes(2 * (64 * 128 + 32 * 128)));
  CHECK(products(experts_of(training).recompute).empty());
  // Flash attention keeps a sum of 4 B for each query and head.
  CHECK(freed(&RecomputeModules::core) == Bytes(4 * 32 * 8));
  // The results of two norms.
  CHECK(freed(&RecomputeModules::norm) == Bytes(2 * 2 * 32 * 64));
}

TEST_CASE("a dense layer's perceptron is computed again with its communication") {
  TrainingSpec training = llama();
  training.parallel.degrees[static_cast<std::size_t>(ParallelDimension::kTensor)] = 2;
  training.parallel.sequence = true;
  const LayerProgram whole = layer_of(training);
  training.recompute_modules.perceptron = true;
  const LayerProgram layer = layer_of(training);
  // Of 32 tokens, 96 columns on a rank: two halves before the gated activation, one behind it.
  CHECK(whole.saved - layer.saved == Bytes(2 * 32 * 3 * 96));
  CHECK(products(layer.recompute).size() == 2);
  CHECK(collectives(layer.recompute).size() == 2);
  training.software.recompute_all = false;
  const LayerProgram compiled = layer_of(training);
  CHECK(products(compiled.recompute).size() == 1);
  CHECK(collectives(compiled.recompute).size() == 1);
}

TEST_CASE("padded experts compute and send their capacity, and rows in multiples of a tile") {
  TrainingSpec training = spread_experts();
  const auto of_experts = [&](double load) {
    double sum = 0;
    for (const Gemm& product : products(experts_of(training, load).forward))
      if (product.grouped) sum += static_cast<double>(flops_of(Operator(product)).count());
    return sum;
  };
  // 64 rows x 64 x 3 x 128 x 2 FLOPs; a quarter more of 80 rows, which are as many bytes to send.
  CHECK(of_experts(1) == 64 * 64 * 3 * 128 * 2);
  CHECK(of_experts(1.25) == 80 * 64 * 3 * 128 * 2);
  CHECK(collectives(experts_of(training, 1.25).forward)[0].bytes == Bytes(80 * 64 * 2));
  // Both experts of a rank have 32 rows, which become 48; what is sent stays.
  training.experts.row_multiple = 24;
  CHECK(of_experts(1) == 96 * 64 * 3 * 128 * 2);
  CHECK(collectives(experts_of(training).forward)[0].bytes == Bytes(64 * 64 * 2));
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
