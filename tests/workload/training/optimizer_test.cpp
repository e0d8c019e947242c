// SPDX-License-Identifier: MIT
// Optimizers and what hosts hold, by hand: bytes of states, memory traffic, products and exchanges of whole matrices,
// copies between devices and hosts.
#include "workload/training/options/optimizer.h"

#include <catch2/catch.hpp>

#include "tests/shipped_files.h"
#include "tests/workload/training/small_training.h"
#include "workload/training/program/memory_need.h"
#include "workload/training/program/optimizer_step.h"
#include "workload/training/program/stage_requests.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;

namespace {

OptimizerSpec shipped(const std::string& name) {
  Diagnostics diagnostics;
  ConfigValue root = kFiles.load(kFiles.shipped() / "optimizers" / (name + ".yaml"), {}, diagnostics);
  ConfigContext context(kFiles, diagnostics);
  OptimizerSpec optimizer;
  read_config(root, context, [&](Section& section) { optimizer = read_optimizer(section); });
  REQUIRE(diagnostics.problems().empty());
  return optimizer;
}

// Llama of 8 layers, a micro-batch at a time. Of each layer the matrices are 64 x 128 (queries, keys, values: 8 heads
// of 8, and twice 4), 64 x 64, 64 x 384 (gated) and 192 x 64: 49,152 parameters, 393,216 of all layers. With the
// embedding and the head of 512 x 64 each and 17 norms of 64 they are 459,840.
constexpr std::int64_t kMatrices = 393'216, kAll = 459'840, kOthers = kAll - kMatrices;

TrainingSpec training_with(MatrixMode mode, std::int64_t tensor, std::int64_t data, std::int64_t zero) {
  TrainingSpec training = small_training(small_llama());
  training.optimizer = shipped("muon");
  training.optimizer.matrices->mode = mode;
  degree(training, ParallelDimension::kTensor) = tensor;
  degree(training, ParallelDimension::kData) = data;
  training.parallel.zero = zero;
  training.global_batch = 4;
  return training;
}

struct Totals {
  std::int64_t flops = 0;
  std::map<std::string, std::int64_t> volumes;
};

Totals totals_of(const TrainingSpec& training) {
  const Job job = generate_job(training, FakeTimes()).job;
  Totals totals{0, volumes(job, RankId(0))};
  const ExecutionGraph& graph = job.graph(RankId(0));
  for (std::uint32_t i = 0; i < graph.size(); ++i)
    if (graph.kind(NodeId(i)) == NodeKind::kCompute) totals.flops += graph.flops(NodeId(i)).count();
  return totals;
}

// Work that the optimizer adds to that of a job with Adam.
Totals of_matrices(const TrainingSpec& training) {
  TrainingSpec adam = training;
  adam.optimizer = OptimizerSpec{};
  Totals totals = totals_of(training);
  const Totals without = totals_of(adam);
  totals.flops -= without.flops;
  for (const auto& [name, bytes] : without.volumes) totals.volumes[name] -= bytes;
  std::erase_if(totals.volumes, [](const auto& volume) { return volume.second == 0; });
  return totals;
}

struct Copies {
  std::int64_t down = 0, up = 0;  // bytes
  Duration time_down{}, time_up{}, host{};
};

Copies copies_of(const TrainingSpec& training) {
  const Job job = generate_job(training, FakeTimes()).job;
  const ExecutionGraph& graph = job.graph(RankId(0));
  Copies copies;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    const NodeId node{i};
    const Duration time = graph.duration(node).value_or(Duration::zero());
    if (graph.kind(node) == NodeKind::kCopyToHost) copies.down += graph.bytes(node).count(), copies.time_down += time;
    if (graph.kind(node) == NodeKind::kCopyToDevice) copies.up += graph.bytes(node).count(), copies.time_up += time;
    if (graph.kind(node) == NodeKind::kHostCompute) copies.host += time;
  }
  return copies;
}

}  // namespace

TEST_CASE("states of a thousand parameters by optimizer and precision") {
  const auto bytes = [](const std::string& name, Precision precision) {
    return shipped(name).states(1000, precision).count();
  };
  CHECK(bytes("adam", Precision::kBf16) == 12'000);  // master 4, moments 4 + 4
  CHECK(bytes("adam", Precision::kFp8) == 12'000);
  CHECK(bytes("adam", Precision::kFp32) == 8'000);   // no master
  CHECK(bytes("adam", Precision::kFp64) == 16'000);  // moments 8 + 8
  CHECK(bytes("adamw", Precision::kBf16) == 12'000);
  CHECK(bytes("adam-bf16", Precision::kBf16) == 8'000);  // master 4, moments 2 + 2
  CHECK(bytes("adam-8bit", Precision::kBf16) == 2'032);  // 2 moments of 1,000 B and scales of 4 blocks, 16 B
  CHECK(bytes("sgd", Precision::kBf16) == 4'000);
  CHECK(bytes("sgd-momentum", Precision::kBf16) == 8'000);
  CHECK(bytes("lion", Precision::kBf16) == 8'000);
  CHECK(bytes("adafactor", Precision::kBf16) == 4'000);
  CHECK(shipped("muon").states(1000, Precision::kBf16).count() == 12'000);
  CHECK(shipped("muon").matrix_states(1000, Precision::kBf16).count() == 8'000);  // master 4, momentum 4
}

TEST_CASE("a step moves what the software says of Adam, and twice what other states are more or less") {
  const auto bytes = [](const std::string& name, std::int64_t software) {
    return shipped(name).step_traffic(1000, Precision::kBf16, Bytes(software)).count();
  };
  CHECK(bytes("adam", 60) == 60'000);
  CHECK(bytes("adam", 0) == 0);
  CHECK(bytes("adam-bf16", 60) == 52'000);  // 60 - 2 * 12 + 2 * 8
  CHECK(bytes("adam-8bit", 60) == 40'064);  // 60 - 2 * 12 + 2 * 2.032
  CHECK(bytes("sgd", 60) == 44'000);
  CHECK(bytes("sgd", 10) == 4'000);  // gradients, at least
  // 60 - 2 * 12 + 2 * 8, and bf16 in and out of the products.
  CHECK(shipped("muon").matrix_step_traffic(1000, Precision::kBf16, Bytes(60)).count() == 56'000);
  OptimizerSpec stated = shipped("sgd");
  stated.traffic = Bytes(7);
  CHECK(stated.step_traffic(1000, Precision::kBf16, Bytes(60)).count() == 7'000);
}

TEST_CASE("Newton-Schulz iterations are three products of the short side") {
  // 5 * (2 * 64 * 64 * 128 + 2 * 64^3 + 2 * 64 * 64 * 128)
  CHECK(newton_schulz_flops(64, 128, 5).count() == 13'107'200);
  CHECK(newton_schulz_flops(128, 64, 5).count() == 13'107'200);
}

TEST_CASE("Muon keeps one momentum of matrices and Adam's states of embedding, head and norms") {
  const auto optimizer = [](const TrainingSpec& training) {
    return memory_needs(training).front()[MemoryUse::kOptimizer].count();
  };
  CHECK(optimizer(training_with(MatrixMode::kDuplicated, 1, 1, 0)) == 8 * kMatrices + 12 * kOthers);
  // Four replicas share all; or, without ZeRO, matrices alone.
  CHECK(optimizer(training_with(MatrixMode::kDuplicated, 1, 4, 1)) == (8 * kMatrices + 12 * kOthers) / 4);
  CHECK(optimizer(training_with(MatrixMode::kLayerWise, 1, 4, 0)) == 8 * kMatrices / 4 + 12 * kOthers);
}

// Parameters in bf16, master and momentum of matrices, master and two moments of others: 10 and 14 bytes.
TEST_CASE("checkpoints have Adam's states of what Muon does not update") {
  const TrainingSpec training = training_with(MatrixMode::kDuplicated, 1, 1, 0);
  CHECK(checkpoint_bytes(training, kAll, kMatrices).count() == 10 * kMatrices + 14 * kOthers);
}

// Ranks of 2 x 4 have one of 8 experts each, whole: its down product (32 x 64) is as large as a rank's part of the
// attention's projection (64 / 2 x 64). Dense matrices: 8 x (64 x 64 + 32 x 64), 64 x 192 + 96 x 64 of the dense layer,
// 7 x (64 x 32 + 16 x 64 of the shared expert, 64 x 8 of the router), together 92,672, and 33,856 = 2 x 256 x 64 +
// 17 x 64 others, a quarter of each on a rank. Experts' matrices: 7 x (64 x 64 + 32 x 64) = 43,008, all on the rank.
TEST_CASE("matrices of experts are told from those of attention that have the same sizes") {
  TrainingSpec training = training_with(MatrixMode::kDuplicated, 2, 4, 1);
  TransformerSpec model = small_experts();
  model.expert_hidden = 32;
  training.model.sizes = model;
  training.parallel.expert = 8;
  training.parallel.expert_tensor = 1;
  const Bytes states = memory_needs(training).front()[MemoryUse::kOptimizer];
  CHECK(states.count() == (8 * 92'672 + 12 * 33'856) / 4 + 8 * 43'008);
}

TEST_CASE("products and exchanges of whole matrices by mode, to the operation and the byte") {
  using Volumes = std::map<std::string, std::int64_t>;
  // 5 * (4 s^2 L + 2 s^3) of 64 x 128, 64 x 64, 64 x 384 and 192 x 64: 13,107,200 + 7,864,320 + 34,078,720 +
  // 18,350,080.
  constexpr std::int64_t kWhole = 8 * 73'400'320;
  SECTION("duplicated: parts of two tensor-parallel ranks are gathered in bf16, and all computed") {
    const Totals totals = of_matrices(training_with(MatrixMode::kDuplicated, 2, 1, 0));
    CHECK(totals.flops == kWhole);
    CHECK(totals.volumes == Volumes{{"tensor all_gather", 2 * kMatrices / 2}});
  }
  SECTION("duplicated under ZeRO: shares of four replicas are gathered") {
    const Totals totals = of_matrices(training_with(MatrixMode::kDuplicated, 1, 4, 1));
    CHECK(totals.flops == kWhole);
    CHECK(totals.volumes == Volumes{{"data all_gather", 2 * kMatrices / 4}});
  }
  SECTION("layer-wise over two tensor-parallel ranks: half of the matrices each, whole, there and back") {
    const Totals totals = of_matrices(training_with(MatrixMode::kLayerWise, 2, 1, 0));
    CHECK(totals.flops == kWhole / 2);
    CHECK(totals.volumes == Volumes{{"tensor all_to_all", 2 * (2 * kMatrices / 2)}});
  }
  SECTION("layer-wise over four replicas: a quarter each, and updated parameters for all") {
    const Totals totals = of_matrices(training_with(MatrixMode::kLayerWise, 1, 4, 0));
    CHECK(totals.flops == kWhole / 4);
    CHECK(totals.volumes == Volumes{{"data all_gather", 2 * kMatrices / 4}});
  }
  SECTION("layer-wise over four shards: shares go to whole matrices and come back") {
    const Totals totals = of_matrices(training_with(MatrixMode::kLayerWise, 1, 4, 1));
    CHECK(totals.flops == kWhole / 4);
    CHECK(totals.volumes == Volumes{{"data all_to_all", 2 * (2 * kMatrices / 4)}});
  }
  SECTION("blockwise: parts of 64 x 64, 32 x 64, 64 x 192 and 96 x 64, nothing exchanged") {
    const Totals totals = of_matrices(training_with(MatrixMode::kBlockwise, 2, 1, 0));
    CHECK(totals.flops == 8 * (7'864'320 + 1'638'400 + 18'350'080 + 10'485'760));
    CHECK(totals.volumes.empty());
  }
  SECTION("distributed: parts of 64, 32, 192 and 96 along the other side of Gram matrices of 64 x 64") {
    // 5 * (4 * 64^2 * part + 2 * 64^3); the Gram matrices of 4 matrices in 8 layers are added up 5 times in bf16.
    const Totals totals = of_matrices(training_with(MatrixMode::kDistributed, 2, 1, 0));
    CHECK(totals.flops == 8 * (7'864'320 + 5'242'880 + 18'350'080 + 10'485'760));
    CHECK(totals.volumes == Volumes{{"tensor all_reduce", 8 * 4 * 5 * 64 * 64 * 2}});
  }
}

// A matrix a layer of 64 x 384 is the largest: twice, and Gram matrices of 64 x 64 twice, in bf16. Four shards have two
// matrices of each of four shapes, 2 x 49,152 values of 8 layers.
TEST_CASE("layer-wise, whole matrices of all layers are at their ranks before the first is computed") {
  const auto workspace = [](const TrainingSpec& training) {
    const FakeTimes times;
    return matrix_workspace(StageRequests(training, times).all().front()).count();
  };
  constexpr std::int64_t kOne = 2 * (2 * 64 * 384 + 2 * 64 * 64);
  CHECK(workspace(training_with(MatrixMode::kDuplicated, 1, 4, 1)) == kOne);
  CHECK(workspace(training_with(MatrixMode::kLayerWise, 1, 4, 0)) == kOne);
  CHECK(workspace(training_with(MatrixMode::kLayerWise, 1, 4, 1)) == kOne + 2 * 2 * 49'152);
}

TEST_CASE("states on the host: gradients down, parameters up, and the host's own traffic in between") {
  TrainingSpec training = small_training(small_llama());
  training.offload.states = 1;
  training.offload.host = {Bandwidth(2'000'000'000), Bandwidth(1'000'000'000), Bandwidth(10'000'000'000), {}};
  const Copies copies = copies_of(training);
  CHECK(copies.down == 4 * kAll);
  CHECK(copies.up == 2 * kAll);
  CHECK(copies.time_down == Duration(4 * kAll * 1000));       // 1 GB/s: 1,000 ps a byte
  CHECK(copies.time_up == Duration(2 * kAll * 500));          // 2 GB/s
  CHECK(copies.host == Duration((4 + 24 + 2) * kAll * 100));  // gradients, states twice, parameters at 10 GB/s
  const MemoryNeed need = memory_needs(training).front();
  CHECK(need[MemoryUse::kOptimizer] == Bytes(0));
  CHECK(need.host == Bytes((12 + 4 + 2) * kAll));
}

TEST_CASE("states on the host that the device updates go up and down") {
  TrainingSpec training = small_training(small_llama());
  training.offload.states = 0.5;
  training.offload.on_host = false;
  training.offload.host = {Bandwidth(2'000'000'000), Bandwidth(1'000'000'000), {}, {}};
  const Copies copies = copies_of(training);
  CHECK(copies.down == 12 * kAll / 2);
  CHECK(copies.up == 12 * kAll / 2);
  CHECK(copies.host == Duration::zero());
  CHECK(memory_needs(training).front().host == Bytes(12 * kAll / 2));
}

TEST_CASE("activations of the first layers go to the host and come back once a micro-batch") {
  TrainingSpec training = small_training(small_llama());
  training.global_batch = 4;
  const Bytes kept = memory_needs(training).front()[MemoryUse::kActivations];
  training.offload.activations = 0.5;
  training.offload.host = {Bandwidth(2'000'000'000), Bandwidth(1'000'000'000), {}, {}};
  const MemoryNeed need = memory_needs(training).front();
  // One micro-batch at a time without a pipeline: the host has four layers of it.
  const Copies copies = copies_of(training);
  CHECK(need.host > Bytes(0));
  CHECK(copies.down == 4 * need.host.count());
  CHECK(copies.up == copies.down);
  // Room of two of the four layers stays.
  CHECK(kept - need[MemoryUse::kActivations] == need.host - Bytes(need.host.count() / 2));
}
