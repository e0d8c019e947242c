// SPDX-License-Identifier: MIT
#include "tests/experiment/random_training.h"

#include <algorithm>
#include <initializer_list>

namespace orrery::test {
namespace {

class Dice {
 public:
  explicit Dice(std::mt19937_64& random) : random_(random) {}

  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[random_() % values.size()];
  }
  bool chance(std::uint64_t in) { return random_() % in == 0; }
  std::mt19937_64& random() { return random_; }

 private:
  std::mt19937_64& random_;
};

workload::TransformerSpec random_transformer(Dice& dice) {
  workload::TransformerSpec model;
  model.heads = dice.one_of<std::int64_t>({4, 4, 8, 6});
  model.head_size = dice.one_of<std::int64_t>({4, 8});
  model.kv_heads = dice.one_of<std::int64_t>({model.heads, model.heads / 2, 1});
  model.hidden = dice.one_of<std::int64_t>({model.heads * model.head_size, 40});
  model.layers = dice.one_of<std::int64_t>({1, 2, 4, 4, 8, 5});
  model.ffn_hidden = dice.one_of<std::int64_t>({48, 64, 96});
  model.vocab = dice.one_of<std::int64_t>({0, 64, 101});
  model.sequence = dice.one_of<std::int64_t>({8, 16, 24});
  model.gated_mlp = dice.chance(2);
  model.biases = dice.chance(2);
  model.tied_embeddings = dice.chance(2);
  model.embedding_norm = dice.chance(4);
  model.causal = !dice.chance(4);
  model.position =
      dice.one_of({workload::PositionKind::kLearned, workload::PositionKind::kRotary, workload::PositionKind::kAlibi});
  if (dice.chance(3)) {
    model.experts = dice.one_of<std::int64_t>({4, 8});
    model.experts_per_token = dice.one_of<std::int64_t>({1, 2});
    model.expert_hidden = dice.one_of<std::int64_t>({16, 24});
    model.shared_experts = dice.one_of<std::int64_t>({0, 1});
    model.dense_layers = model.layers > 1 ? dice.one_of<std::int64_t>({0, 1}) : 0;
  }
  if (model.vocab > 0 && dice.chance(8)) model.mtp_layers = dice.one_of<std::int64_t>({1, 2});
  if (dice.chance(5)) {
    model.kv_heads = model.heads;
    model.position = workload::PositionKind::kRotary;
    model.latent = workload::LatentAttention{dice.one_of<std::int64_t>({0, 12}), 8, 4, 4, 8};
  }
  return model;
}

workload::Parallelism random_parallelism(Dice& dice) {
  workload::Parallelism parallel;
  const auto small = [&] { return dice.one_of<std::int64_t>({1, 1, 2, 2, 4, 3}); };
  for (std::int64_t& degree : parallel.degrees) degree = small();
  std::ranges::shuffle(parallel.order, dice.random());
  parallel.expert = dice.one_of<std::int64_t>({1, 1, 2, 4});
  parallel.expert_skew = dice.one_of({0.0, 0.0, 0.7, 2.0});
  parallel.sequence = dice.chance(2);
  parallel.zero = dice.one_of<std::int64_t>({0, 0, 1, 2, 3});
  parallel.shard = dice.one_of<std::int64_t>({0, 0, 0, 2});
  parallel.context_kind = dice.one_of({workload::ContextKind::kRing, workload::ContextKind::kAllGather,
                                       workload::ContextKind::kAllToAll, workload::ContextKind::kAllToAllRing});
  parallel.node_devices = dice.one_of<std::int64_t>({2, 4, 8});
  if (dice.chance(6)) {
    parallel = {};
    parallel.degrees[static_cast<std::size_t>(workload::ParallelDimension::kData)] = small();
    parallel.exchange = workload::ExchangeKind::kParameterServer;
    parallel.servers = small();
    parallel.asynchronous = dice.chance(2);
  }
  return parallel;
}

workload::SoftwareSpec random_software(Dice& dice) {
  workload::SoftwareSpec software;
  software.attention = dice.one_of({workload::AttentionKind::kFlash, workload::AttentionKind::kPlain});
  software.dropout = dice.chance(2);
  software.gradients = dice.one_of({Precision::kFp32, Precision::kBf16});
  software.accumulation = dice.one_of({Bytes(0), Bytes(6)});
  software.optimizer = dice.one_of({Bytes(0), Bytes(60)});
  software.overlap_gradients = dice.chance(2);
  software.overlap_parameters = dice.chance(2);
  software.selective = dice.one_of({workload::SelectiveKind::kScores, workload::SelectiveKind::kOperators});
  software.bucket = dice.one_of({Bytes(4'000), Bytes(30'001), Bytes(25'000'000)});
  software.overlap_tensor = dice.one_of(
      {workload::TensorOverlap::kNone, workload::TensorOverlap::kWeightGradient, workload::TensorOverlap::kPieces});
  software.bucket_first = dice.chance(3);
  software.reshard_pipeline = dice.chance(2);
  software.recompute_all = dice.chance(2);
  software.overlap_pipeline = dice.chance(2);
  software.scatter_gather = dice.chance(2);
  return software;
}

// Layers of the virtual stages, some of which have none.
std::vector<std::int64_t> random_layers(Dice& dice, std::int64_t layers, std::int64_t stages) {
  std::vector<std::int64_t> list(static_cast<std::size_t>(stages));
  for (std::int64_t i = 0; i < layers; ++i) ++list[dice.random()() % list.size()];
  return list;
}

// Forward and backward passes side by side, by a schedule for that or by 1F1B.
void overlap_passes(Dice& dice, workload::TrainingSpec& training) {
  if (training.schedule == workload::ScheduleKind::kOneForwardOneBackward ||
      training.schedule == workload::ScheduleKind::kInterleaved) {
    training.overlap_passes = true;
    return;
  }
  training.schedule = dice.one_of({workload::ScheduleKind::kDualPipe, workload::ScheduleKind::kDualPipeV});
  training.parallel.both_ways = training.schedule == workload::ScheduleKind::kDualPipe;
  training.virtual_stages = 1, training.schedule_group = 0;
  training.pipeline_layers.clear();
  const std::int64_t micro_batches = 2 * training.parallel.pipeline() + dice.one_of<std::int64_t>({0, 2});
  training.global_batch = micro_batches * training.micro_batch * training.parallel.data();
}

// Capacities, padding and copies of experts.
void choose_experts(Dice& dice, workload::TrainingSpec& training) {
  workload::ExpertSpec& experts = training.experts;
  if (dice.chance(3)) experts.row_multiple = 16;
  if (training.parallel.expert_skew > 0) {
    if (dice.chance(3)) experts.capacity = 1.5;
    if (training.parallel.expert > 1 && dice.chance(3)) experts.redundant = training.parallel.expert;
  } else if (dice.chance(3)) {
    experts.capacity = dice.one_of({0.75, 1.25});
    experts.pads = experts.capacity > 1 || dice.chance(2);
  }
}

// Parts of layers that are computed again.
workload::RecomputeModules random_modules(Dice& dice, const workload::TransformerSpec& model) {
  workload::RecomputeModules modules;
  modules.norm = dice.chance(3);
  modules.core = dice.chance(2);
  modules.up_projection = model.latent && dice.chance(2);
  modules.activation = dice.chance(3);
  modules.fp8_inputs = modules.activation && dice.chance(2);
  modules.perceptron = (model.experts == 0 || model.dense_layers > 0) && dice.chance(3);
  if (model.experts == 0) return modules;
  modules.experts = dice.chance(3);
  modules.expert_activation = !modules.experts && !modules.activation && dice.chance(2);
  modules.shared_experts = !modules.experts && model.shared_experts > 0 && dice.chance(2);
  return modules;
}

}  // namespace

workload::TrainingSpec random_training(std::mt19937_64& random) {
  Dice dice(random);
  workload::TrainingSpec training;
  training.parallel = random_parallelism(dice);
  training.software = random_software(dice);
  training.schedule = dice.one_of({workload::ScheduleKind::kGpipe, workload::ScheduleKind::kOneForwardOneBackward,
                                   workload::ScheduleKind::kInterleaved, workload::ScheduleKind::kZeroBubble,
                                   workload::ScheduleKind::kPipedream, workload::ScheduleKind::kZeroBubbleH2,
                                   workload::ScheduleKind::kZeroBubbleV});
  const workload::TransformerSpec model = random_transformer(dice);
  training.model.sizes = model;
  if (dice.chance(10))
    training.model.sizes =
        workload::ConvolutionalSpec{{{"first", 3, 8, 3, 8, 1}, {"then", 8, 8, 3, 8, 1, 1, 3}}, 8, 10};
  if (dice.chance(10)) training.model.sizes = workload::RecurrentSpec{8, 50, 2, 1, 2, 3, 4};
  if (dice.chance(10)) training.model.sizes = workload::DlrmSpec{4, 100, 8, 2, 5, {16, 8}, {12, 1}};
  if (training.transformer() == nullptr) {
    const std::int64_t data = training.parallel.data();
    training.parallel.degrees = {1, 1, data, 1};
    training.parallel.expert = 1;
    training.parallel.sequence = false;
  } else {
    training.recompute =
        dice.one_of({workload::Recompute::kNone, workload::Recompute::kSelective, workload::Recompute::kFull});
    if (training.recompute == workload::Recompute::kFull)
      for (bool& kept : training.keep) kept = dice.chance(4);
    if (dice.chance(4)) training.recompute_layers = 1;
    if (dice.chance(5) && training.transformer()->experts == 0) {
      training.lora.emplace();
      training.lora->targets[1] = true;
    }
    if (training.schedule == workload::ScheduleKind::kInterleaved && training.parallel.pipeline() > 1)
      training.virtual_stages = dice.one_of<std::int64_t>({1, 2});
    if (dice.chance(3)) training.pipeline_layers = random_layers(dice, model.layers, training.model_stages());
  }
  training.micro_batch = dice.one_of<std::int64_t>({1, 1, 2});
  const std::int64_t micro_batches = dice.one_of<std::int64_t>({1, 2, training.parallel.pipeline(), 4});
  training.global_batch = micro_batches * training.micro_batch * training.parallel.data();
  if (training.virtual_stages > 1 && dice.chance(2)) training.schedule_group = micro_batches;
  training.iterations = dice.one_of<std::int64_t>({1, 1, 2});
  training.initial_broadcast = dice.chance(4);
  if (dice.chance(4))
    training.input =
        workload::InputSpec{.sample = Bytes(1001),
                            .decoded = std::nullopt,
                            .decode = dice.one_of({Duration(0), Duration(700), Duration(90'000)}),
                            .cores = dice.one_of<std::int64_t>({1, 3}),
                            .copy = dice.chance(2) ? std::optional(Bandwidth(1'000'000'000)) : std::nullopt,
                            .prefetch = dice.one_of<std::int64_t>({0, 1, 3})};
  if (dice.chance(4))
    training.checkpoint = workload::CheckpointSpec{dice.one_of<std::int64_t>({1, training.iterations}), dice.chance(2)};
  training.precision = dice.one_of({Precision::kBf16, Precision::kFp8, Precision::kFp32});
  if (training.transformer() != nullptr && dice.chance(4)) overlap_passes(dice, training);
  training.parallel.expert_tensor = training.transformer() != nullptr ? dice.one_of<std::int64_t>({0, 0, 1}) : 0;
  if (const workload::TransformerSpec* chosen = training.transformer()) {
    if (training.recompute != workload::Recompute::kFull && dice.chance(3))
      training.recompute_modules = random_modules(dice, *chosen);
    if (chosen->experts > 0) choose_experts(dice, training);
  }
  return training;
}

}  // namespace orrery::test
