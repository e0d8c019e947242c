// SPDX-License-Identifier: MIT
// Memory against what Megatron-LM published: arXiv 2205.05198 (Korthikanti et al. 2022), section 4, table 5 and figures
// 1 and 7, as in the data of calculon.
#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "tests/workload/training/small_training.h"
#include "workload/training/layers/blocks.h"
#include "workload/training/layers/model_layers.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;

namespace {

// GPT with plain attention and dropout, 8 ranks to a tensor group.
TrainingSpec megatron(std::int64_t hidden, std::int64_t layers, std::int64_t heads) {
  TransformerSpec model;
  model.hidden = hidden;
  model.layers = layers;
  model.heads = model.kv_heads = heads;
  model.head_size = hidden / heads;
  model.ffn_hidden = 4 * hidden;
  model.vocab = 51200;
  model.sequence = 2048;
  TrainingSpec training = small_training(model);
  training.software.attention = AttentionKind::kPlain;
  training.software.dropout = true;
  training.precision = Precision::kFp16;
  degree(training, ParallelDimension::kTensor) = 8;
  return training;
}

TrainingSpec megatron_22b() {
  TrainingSpec training = megatron(6144, 48, 64);
  training.global_batch = training.micro_batch = 4;
  return training;
}

TrainingSpec megatron_530b() {
  TrainingSpec training = megatron(20480, 105, 128);
  degree(training, ParallelDimension::kPipeline) = 35;
  training.schedule = ScheduleKind::kInterleaved;
  training.virtual_stages = 3;
  training.global_batch = 280;
  return training;
}

// The columns of figure 7: tensor parallelism alone; with sequence parallelism; with selective recomputation; with
// both; everything recomputed.
struct Technique {
  bool sequence = false;
  Recompute recompute = Recompute::kNone;
};

constexpr std::array<Technique, 5> kTechniques = {
    Technique{}, Technique{true, Recompute::kNone}, Technique{false, Recompute::kSelective},
    Technique{true, Recompute::kSelective}, Technique{false, Recompute::kFull}};

TrainingSpec with(TrainingSpec training, const Technique& technique) {
  training.parallel.sequence = technique.sequence;
  training.recompute = technique.recompute;
  return training;
}

LayerProgram layer_of(const TrainingSpec& training) {
  return transformer_layer(layer_shape(training, 1), FeedForward::kDense);
}

// Bytes that a rank keeps of a layer: sbh(10 + 24/t + 5as/(ht)), or sbh(34 + 5as/h)/t with sequence parallelism;
// without the scores' part where they are made again; 2sbh, the input, where everything is.
std::int64_t closed_form(const TrainingSpec& training) {
  const TransformerSpec& model = *training.transformer();
  const std::int64_t t = training.parallel.tensor();
  const std::int64_t sbh = model.sequence * training.micro_batch * model.hidden;
  const std::int64_t scores = 5 * model.heads * training.micro_batch * model.sequence * model.sequence / t;
  if (training.recompute == Recompute::kFull) return 2 * sbh;
  const std::int64_t linear = training.parallel.sequence ? 34 * sbh / t : 10 * sbh + 24 * sbh / t;
  return linear + (training.recompute == Recompute::kSelective ? 0 : scores);
}

double gib(Bytes bytes) { return static_cast<double>(bytes.count()) / (1 << 30); }

// Within 5 % of what was published.
void check_close(const std::string& what, double model, double published) {
  INFO(fmt::format("{}: {:.2f}, published {:.2f}, {:+.1f} %", what, model, published, 100 * (model / published - 1)));
  CHECK(model == Approx(published).epsilon(0.05));
}

// What a rank of the stage keeps at its peak, as the paper counts: layers alone, and no scores that are made again.
double kept_by_layers(TrainingSpec training, std::int64_t stage) {
  std::get<TransformerSpec>(training.model.sizes).vocab = 0;
  const Bytes peak = memory_needs(training)[static_cast<std::size_t>(stage)][MemoryUse::kActivations];
  return gib(peak - layer_of(training).working);
}

}  // namespace

// Table 2 of the paper; the scores are 5as/h of sbh.
TEST_CASE("a layer keeps the activations of the closed forms, to the byte") {
  for (const TrainingSpec& training : {megatron_22b(), megatron_530b()})
    for (const Technique& technique : kTechniques)
      for (const std::int64_t tensor : {1, 2, 8}) {
        TrainingSpec job = with(training, technique);
        degree(job, ParallelDimension::kTensor) = tensor;
        INFO(tensor << " ranks, sequence " << technique.sequence << " recompute "
                    << static_cast<int>(technique.recompute));
        job.parallel.sequence = technique.sequence && tensor > 1;
        CHECK(layer_of(job).saved.count() == closed_form(job));
      }
}

TEST_CASE("activations shrink by the published percentages") {
  const std::array<double, 5> small = {100, 66.84, 49.42, 16.18, 7.64};
  const std::array<double, 5> large = {100, 58.31, 62.04, 20.27, 9.42};
  for (std::size_t i = 0; i < kTechniques.size(); ++i) {
    const auto percent = [&](const TrainingSpec& training) {
      return 100 * gib(layer_of(with(training, kTechniques[i])).saved) / gib(layer_of(training).saved);
    };
    check_close(fmt::format("22B, technique {}, percent", i), percent(megatron_22b()), small[i]);
    check_close(fmt::format("530B, technique {}, percent", i), percent(megatron_530b()), large[i]);
  }
}

TEST_CASE("the first stage keeps the published activations") {
  const Technique none{}, both{true, Recompute::kSelective};
  check_close("22B", kept_by_layers(with(megatron_22b(), none), 0), 59.25);
  check_close("22B, sequence and selective", kept_by_layers(with(megatron_22b(), both), 0), 9.5625);
  check_close("530B", kept_by_layers(with(megatron_530b(), none), 0), 114.02);
  check_close("530B, sequence and selective", kept_by_layers(with(megatron_530b(), both), 0), 23.08);
}

// The published figures are 18 bytes for each of a layer's 12 h^2: without the embedding, which the 22B's only stage
// has, and without biases and norms.
TEST_CASE("weights, gradients and optimizer states take the published memory") {
  const auto standing = [](const TrainingSpec& training, std::size_t stage) {
    return gib(memory_needs(training)[stage].standing());
  };
  TrainingSpec repeated = megatron_22b();
  repeated.iterations = 3;
  CHECK(memory_needs(repeated) == memory_needs(megatron_22b()));
  CHECK(generate_job(repeated, FakeTimes()).facts.memory.front().need == memory_needs(repeated).front());
  check_close("22B", standing(megatron_22b(), 0), 45.5625);
  check_close("530B, a middle stage", standing(megatron_530b(), 17), 31.64);
}

// Under 1F1B stage i of p has p - i micro-batches under way, under gpipe every stage has all; ZB-H1 keeps to the first
// stage's peak everywhere, and ZB-H2 to that of a pipeline of nearly twice the stages.
TEST_CASE("stages keep as many micro-batches as their schedule has under way") {
  for (const std::int64_t stages : {1, 2, 4, 8})
    for (const std::int64_t micro_batches : {stages, 3 * stages}) {
      TransformerSpec model = small_gpt();
      model.vocab = 0;
      TrainingSpec training = small_training(model);
      degree(training, ParallelDimension::kPipeline) = stages;
      training.global_batch = micro_batches;
      const std::int64_t chunk = layer_of(training).saved.count() * model.layers / stages;
      const auto check = [&](ScheduleKind schedule, auto expected) {
        training.schedule = schedule;
        const std::vector<MemoryNeed> needs = memory_needs(training);
        for (std::size_t stage = 0; stage < needs.size(); ++stage)
          CHECK(needs[stage][MemoryUse::kActivations].count() <= chunk * expected(static_cast<std::int64_t>(stage)));
        CHECK(needs.front()[MemoryUse::kActivations].count() == chunk * expected(0));
        if (!splits_all(schedule)) CHECK(needs.back()[MemoryUse::kActivations].count() == chunk * expected(stages - 1));
      };
      check(ScheduleKind::kGpipe, [&](std::int64_t) { return micro_batches; });
      check(ScheduleKind::kOneForwardOneBackward, [&](std::int64_t stage) { return stages - stage; });
      check(ScheduleKind::kZeroBubble, [&](std::int64_t) { return stages; });
      check(ScheduleKind::kZeroBubbleH2, [&](std::int64_t) { return std::min(micro_batches, 2 * stages - 1); });
    }
}

// In groups of 4 on 2 stages, 2 micro-batches that have come round wait at either end: a boundary each.
TEST_CASE("groups longer than the pipeline keep inputs that wait for their chunk") {
  const TransformerSpec model = small_gpt();
  TrainingSpec training = small_training(model);
  degree(training, ParallelDimension::kPipeline) = 2;
  training.global_batch = 4;
  training.schedule = ScheduleKind::kInterleaved;
  training.virtual_stages = 2;
  const Bytes boundary(model.sequence * model.hidden * 2);
  const auto before = memory_needs(training);
  training.schedule_group = 4;
  const auto after = memory_needs(training);
  for (std::size_t stage = 0; stage < 2; ++stage)
    CHECK(after[stage][MemoryUse::kCommunication] - before[stage][MemoryUse::kCommunication] == boundary * 2);
}

// 2 + g bytes a parameter, 12 of the optimizer; what replicas share is divided by their number.
TEST_CASE("ZeRO divides the optimizer's states, then gradients, then parameters") {
  const TransformerSpec model = small_gpt();
  const std::int64_t parameters = parameter_count(model);
  for (const std::int64_t data : {1, 2, 4, 8})
    for (const std::int64_t zero : {0, 1, 2, 3}) {
      TrainingSpec training = small_training(model);
      degree(training, ParallelDimension::kData) = data;
      training.global_batch = data;
      training.parallel.zero = zero;
      const MemoryNeed need = memory_needs(training).front();
      const std::int64_t shared = (parameters + data - 1) / data;
      CHECK(need[MemoryUse::kParameters] == Bytes(2 * (zero == 3 ? shared : parameters)));
      CHECK(need[MemoryUse::kGradients] == Bytes(4 * (zero >= 2 ? shared : parameters)));
      CHECK(need[MemoryUse::kOptimizer] == Bytes(12 * (zero >= 1 ? shared : parameters)));
    }
}

// 7 GiB and 8 % as fitted, or what the software says.
TEST_CASE("more memory is in use than a job needs by its arithmetic") {
  TrainingSpec training = small_training(small_gpt());
  const MemoryNeed need = memory_needs(training).front();
  const auto total = static_cast<double>(need.total().count());
  CHECK(need.in_use() == need.total() + Bytes(7LL << 30) + Bytes(std::llround(0.08 * total)));
  training.software.footprint.reserve = Bytes(5);
  training.software.footprint.fragments = 0;
  CHECK(memory_needs(training).front().in_use() == need.total() + Bytes(5));
}

// 2 bytes and 4 of each without a figure.
TEST_CASE("the loss holds what its software says of each logit") {
  TransformerSpec model = small_gpt();
  model.layers = 1;
  TrainingSpec training = small_training(model);
  training.global_batch = training.micro_batch = 1;
  const std::int64_t logits = model.sequence * model.vocab;
  const auto activations = [&](std::optional<Bytes> loss) {
    training.software.footprint.loss = loss;
    return memory_needs(training).front()[MemoryUse::kActivations];
  };
  CHECK(activations({}) == activations(Bytes(6)));
  CHECK(activations(Bytes(10)) - activations(Bytes(4)) == Bytes(6 * logits));
}
