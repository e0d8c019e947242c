// SPDX-License-Identifier: MIT
#include "experiment/plans/levers.h"

#include <algorithm>

#include <fmt/format.h>

#include "workload/training/spec/mixer_sizes.h"

namespace orrery::experiment {
namespace {

using workload::ParallelDimension;
using workload::Recompute;
using Edits = std::vector<LeverEdit>;

bool is_transformer(const LeverJob& job) { return job.training.transformer() != nullptr; }

Edits attention(const LeverJob& job) {
  if (!is_transformer(job) || workload::attention_of(job.training) == workload::AttentionKind::kFlash) return {};
  return {{"model.attention=flash"}};
}

Edits sequence(const LeverJob& job) {
  if (!is_transformer(job) || job.training.parallel.tensor() == 1 || job.training.parallel.sequence) return {};
  return {{"parallel.sequence=true"}};
}

// Modules whose activations are largest for what computing them again costs, the cheapest first.
Edits modules(const LeverJob& job) {
  const workload::TransformerSpec* model = job.training.transformer();
  if (model == nullptr || job.training.recompute == Recompute::kFull || job.training.recompute_modules.any()) return {};
  Edits edits = {
      {"recompute_modules=[norm]"}, {"recompute_modules=[activation]"}, {"recompute_modules=[norm, activation]"}};
  if (model->latent) edits.push_back({"recompute_modules=[norm, activation, up-projection]"});
  if (model->shared_experts > 0 && !job.training.experts.overlap_shared)
    edits.push_back({"recompute_modules=[norm, activation, shared-experts]"});
  const std::string_view largest = model->experts > 0 ? "experts" : "mlp";
  edits.push_back({fmt::format("recompute_modules=[{}]", largest)});
  edits.push_back({fmt::format("recompute_modules=[norm, {}]", largest)});
  return edits;
}

// Copies of popular experts, which balance ranks and take memory.
Edits redundant(const LeverJob& job) {
  if (job.training.experts.redundant == 0) return {};
  return {{"experts.redundant=0"}};
}

// Rows that pad experts up to their capacity.
Edits padding(const LeverJob& job) {
  if (!job.training.experts.pads || job.training.experts.capacity <= 1) return {};
  return {{"experts.capacity_factor=1"}, {"experts.pad_to_capacity=false", "experts.capacity_factor=0"}};
}

Edits recomputation(const LeverJob& job) {
  if (!is_transformer(job) || job.training.recompute == Recompute::kFull) return {};
  Edits edits;
  if (job.training.recompute == Recompute::kNone) edits.push_back({"recompute=selective"});
  // It computes modules again with all else.
  if (job.training.recompute_modules.any())
    edits.push_back({"recompute=full", "recompute_modules=[]"});
  else
    edits.push_back({"recompute=full"});
  return edits;
}

Edits zero(const LeverJob& job) {
  Edits edits;
  for (std::int64_t stage = job.training.parallel.zero + 1; stage <= 3; ++stage)
    edits.push_back({fmt::format("parallel.zero={}", stage)});
  return edits;
}

// Copies that more ranks share.
Edits shard(const LeverJob& job) {
  const workload::Parallelism& parallel = job.training.parallel;
  if (parallel.zero == 0 || parallel.shard == 0) return {};
  Edits edits;
  for (std::int64_t ranks = parallel.shard * 2; ranks < parallel.replicas(); ranks *= 2)
    edits.push_back({fmt::format("parallel.shard={}", ranks)});
  edits.push_back({"parallel.shard=0"});
  return edits;
}

Edits micro_batch(const LeverJob& job) {
  const std::int64_t of_replica = job.training.global_batch / job.training.parallel.data();
  Edits edits;
  for (std::int64_t micro = job.training.micro_batch - 1; micro >= 1; --micro)
    if (of_replica % micro == 0) edits.push_back({fmt::format("batch.micro={}", micro)});
  return edits;
}

// States of fewer bits, where they are Adam's in fp32.
Edits optimizer(const LeverJob& job) {
  const workload::OptimizerSpec& now = job.training.optimizer;
  const bool is_adam = now.masters && !now.matrices && now.moments == workload::Moments{};
  if (!is_adam || size_of(job.training.precision) >= Bytes(4)) return {};
  if (job.training.parallel.exchange == workload::ExchangeKind::kParameterServer) return {};
  return {{"optimizer=adam-bf16"}, {"optimizer=adam-8bit"}};
}

bool reaches_host(const workload::OffloadSpec& offload) { return offload.host.to_device && offload.host.from_device; }

Edits offloaded_activations(const LeverJob& job) {
  const workload::OffloadSpec& offload = job.training.offload;
  const bool is_one_by_one =
      !job.training.overlaps() && job.training.is_flushed() && !workload::splits_all(job.training.schedule);
  if (!reaches_host(offload) || !is_one_by_one || offload.activations > 0) return {};
  return {{"offload.activations=50 %"}, {"offload.activations=100 %"}};
}

// The host updates states where it is known how fast, and whatever is no product of matrices.
Edits offloaded_states(const LeverJob& job) {
  const workload::OffloadSpec& offload = job.training.offload;
  if (!reaches_host(offload) || offload.states > 0) return {};
  if (job.training.parallel.exchange == workload::ExchangeKind::kParameterServer) return {};
  if (offload.host.update && !job.training.optimizer.matrices) return {{"offload.states=100 %"}};
  return {{"offload.states=100 %", "offload.update=device"}};
}

Edits gradients(const LeverJob& job) {
  if (size_of(job.training.software.gradients) < Bytes(4) || job.training.parameter_size() != Bytes(2)) return {};
  return {{"gradients=bf16"}};
}

// Ranks of data parallelism become ranks of another.
Edits moved(const LeverJob& job, ParallelDimension to, std::int64_t most) {
  const workload::Parallelism& parallel = job.training.parallel;
  Edits edits;
  for (const std::int64_t times : {2, 4, 8}) {
    const std::int64_t degree = parallel.degree(to) * times;
    if (parallel.data() % times != 0 || degree > most) continue;
    edits.push_back({fmt::format("parallel.{}={}", workload::name_of(to), degree),
                     fmt::format("parallel.data={}", parallel.data() / times)});
  }
  return edits;
}

Edits tensor(const LeverJob& job) { return moved(job, ParallelDimension::kTensor, job.widest); }
// A ring passes on all keys, which is refused where queries see only part of them.
Edits context(const LeverJob& job) {
  Edits edits = moved(job, ParallelDimension::kContext, INT64_MAX);
  const workload::ContextKind kind = job.training.parallel.context_kind;
  const bool is_ring = kind == workload::ContextKind::kRing || kind == workload::ContextKind::kAllToAllRing;
  if (is_transformer(job) && is_ring && workload::limits_sight(*job.training.transformer()))
    for (LeverEdit& edit : edits) edit.emplace_back("parallel.context_kind=all-gather");
  return edits;
}
Edits pipeline(const LeverJob& job) { return moved(job, ParallelDimension::kPipeline, INT64_MAX); }

// Experts that more of the replicas share.
Edits experts(const LeverJob& job) {
  const workload::TransformerSpec* model = job.training.transformer();
  if (model == nullptr || model->experts == 0) return {};
  Edits edits;
  for (const std::int64_t times : {2, 4, 8})
    if (const std::int64_t degree = job.training.parallel.expert * times; model->experts % degree == 0)
      edits.push_back({fmt::format("parallel.expert={}", degree)});
  return edits;
}

// Schedules that hold fewer micro-batches, and shorter groups of them.
Edits schedule(const LeverJob& job) {
  using workload::ScheduleKind;
  const workload::TrainingSpec& training = job.training;
  if (training.parallel.pipeline() == 1) return {};
  if (training.schedule == ScheduleKind::kGpipe) return {{"schedule.kind=1f1b"}};
  if (training.schedule == ScheduleKind::kZeroBubbleH2)
    return {{fmt::format("schedule.kind={}", workload::name_of(ScheduleKind::kZeroBubbleV))},
            {fmt::format("schedule.kind={}", workload::name_of(ScheduleKind::kZeroBubble))}};
  const std::int64_t shortest = workload::shortest_group(training.micro_batches(), training.parallel.pipeline());
  if (shortest > 0 && shortest < training.schedule_group) return {{fmt::format("schedule.group={}", shortest)}};
  return {};
}

// Logits of an eighth of the tokens at a time, at next to no cost.
Edits loss(const LeverJob& job) {
  if (!is_transformer(job)) return {};
  const workload::TransformerSpec& model = *job.training.transformer();
  if (model.patches || model.vocab == 0 || job.training.loss.chunks > 1) return {};
  return {{"loss.chunks=8"}};
}

// Savings within a recipe of low precision: no copies of weights that are kept cast themselves, and inputs of GEMMs
// in two bytes. Scales of mxfp8 and nvfp4 do not transpose, so that their weights are cast from bf16.
Edits recipe(const LeverJob& job) {
  if (!is_transformer(job) || !is_of_products_only(job.training.precision)) return {};
  const workload::Recipe& recipe = job.training.recipe_of_casts();
  const std::string_view where = job.training.recipe ? "recipe" : "software.fp8";
  Edits edits;
  if (!recipe.saved) edits.push_back({fmt::format("{}.saved=true", where)});
  if (!recipe.parameters && recipe.copies > Bytes(0) && recipe.precision == Precision::kFp8)
    edits.push_back({fmt::format("{}.parameters=true", where)});
  return edits;
}

constexpr Lever kLevers[] = {
    {"attention", attention},
    {"loss.chunks", loss},
    {"recipe", recipe},
    {"sequence", sequence},
    {"schedule", schedule},
    {"zero", zero},
    {"shard", shard},
    {"experts.redundant", redundant},
    {"experts.capacity_factor", padding},
    {"recompute_modules", modules},
    {"recompute", recomputation},
    {"batch.micro", micro_batch},
    {"expert", experts},
    {"tensor", tensor},
    {"context", context},
    {"pipeline", pipeline},
    {"gradients", gradients},
    {"optimizer", optimizer},
    {"offload.activations", offloaded_activations},
    {"offload.states", offloaded_states},
};

}  // namespace

std::span<const Lever> memory_levers() { return kLevers; }

std::string text_of(const LeverEdit& edit) {
  std::string text;
  for (const std::string& setting : edit) {
    const std::size_t equals = setting.find('=');
    text += fmt::format("{}workload.{}: {}", text.empty() ? "" : " and ", setting.substr(0, equals),
                        setting.substr(equals + 1));
  }
  return text;
}

}  // namespace orrery::experiment
