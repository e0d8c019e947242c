// SPDX-License-Identifier: MIT
// Neighbours in all keys that are no part of a search's plans.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config/key_path.h"
#include "core/config/quantity_text.h"
#include "study/explain/neighbour_job.h"

namespace orrery::study {
namespace {

using workload::ParallelDimension;

// One key with each of the other values that it may have.
template <std::size_t N>
void add_others(NeighbourJob& job, std::string_view name, std::string_view path, const ConfigValue* now,
                const std::array<std::string_view, N>& values) {
  if (now == nullptr) return;
  for (const std::string_view other : values)
    if (now->scalar != other) job.add(fmt::format("{} {}", name, other), {fmt::format("{}={}", path, other)});
}

bool has_modules(const NeighbourJob& job) { return job.training().recompute_modules.any(); }

// Neighbouring degrees change places: who is next to whom on the cluster. Those of one rank are skipped.
void order_of_ranks(NeighbourJob& job) {
  const workload::Parallelism& parallel = job.training().parallel;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < parallel.order.size(); ++i)
    if (parallel.degree(parallel.order[i]) > 1) places.push_back(i);
  for (std::size_t i = 0; i + 1 < places.size(); ++i) {
    auto order = parallel.order;
    std::swap(order[places[i]], order[places[i + 1]]);
    std::vector<std::string_view> all, used;
    for (const ParallelDimension dimension : order) {
      all.push_back(workload::name_of(dimension));
      if (parallel.degree(dimension) > 1) used.push_back(all.back());
    }
    job.add(fmt::format("ranks by {}", fmt::join(used, ", ")),
            {fmt::format("workload.parallel.order=[{}]", fmt::join(all, ", "))});
  }
}

// Copies that more or fewer ranks share, among them those of a node.
void shards(NeighbourJob& job) {
  const workload::Parallelism& parallel = job.training().parallel;
  if (parallel.zero == 0) return;
  job.add_lever("shard");
  const std::int64_t fewer = parallel.shard > 0 ? parallel.shard / 2 : parallel.node_devices / parallel.tensor();
  if (fewer > 1 && fewer < parallel.replicas())
    job.add(fmt::format("shard {}", fewer), {fmt::format("workload.parallel.shard={}", fewer)});
}

// Recomputes in place of all of every layer half of the layers, or the modules whose activations are largest for what
// they cost.
void modules(NeighbourJob& job) {
  const workload::TrainingSpec& training = job.training();
  if (job.transformer() == nullptr) return;
  if (has_modules(job)) job.add("recompute_modules []", {"workload.recompute_modules=[]"});
  if (training.recompute != workload::Recompute::kFull) return;
  const std::int64_t chunks = training.parallel.halves() * training.model_stages();
  const std::int64_t layers =
      training.recompute_layers > 0 ? training.recompute_layers : job.transformer()->layers / chunks;
  if (layers > 1)
    job.add(fmt::format("recompute {} of a stage's layers", layers / 2),
            {fmt::format("workload.recompute_layers={}", layers / 2)});
  workload::TrainingSpec selective = training;
  selective.recompute = workload::Recompute::kSelective;
  selective.recompute_modules = {};
  job.add_lever("recompute_modules", selective, {"recompute=selective"});
}

void dispatch(NeighbourJob& job) {
  constexpr std::array<std::string_view, 4> kLibraries = {"all-to-all", "deepep", "deepep-v2", "hybridep"};
  if (job.training().parallel.expert > 1)
    add_others(job, "dispatch", "workload.experts.dispatch", job.at("experts.dispatch.name"), kLibraries);
}

// Experts equally popular, where nothing is to drop or to copy; and one copy more on each rank, or none.
void balance_of_experts(NeighbourJob& job) {
  if (job.real("parallel.expert_skew") <= 0) return;
  const bool has_copies = job.real("experts.redundant") > 0;
  std::vector<std::string> even = {"workload.parallel.expert_skew=0", "workload.parallel.expert_seed=1"};
  if (has_copies) even.emplace_back("workload.experts.redundant=0");
  if (job.real("experts.capacity_factor") >= 1) even.emplace_back("workload.experts.capacity_factor=0");
  job.add("experts equally popular", std::move(even));
  const std::int64_t expert = job.training().parallel.expert;
  if (has_copies)
    job.add("no copies of experts", {"workload.experts.redundant=0"});
  else if (expert > 1)
    job.add(fmt::format("{} redundant experts", expert), {fmt::format("workload.experts.redundant={}", expert)});
}

// Overlaps that the job does without.
void overlaps(NeighbourJob& job) {
  const workload::TrainingSpec& training = job.training();
  const workload::Parallelism& parallel = training.parallel;
  const workload::SoftwareSpec& software = training.software;
  const bool has_replicas = parallel.replicas() > 1, is_piped = parallel.pipeline() > 1;
  const bool updates_shares = parallel.zero == 1 || parallel.zero == 2;
  const workload::TransformerSpec* model = job.transformer();
  const bool has_experts = model != nullptr && model->experts > 0;
  const struct {
    bool is_missing;
    std::string_view name, setting;
  } rows[] = {
      {has_replicas && !software.overlap_gradients, "gradients", "overlap.gradients=true"},
      {updates_shares && software.overlap_gradients && !software.overlap_parameters, "parameters",
       "software.overlap.parameters=true"},
      {is_piped && !software.overlap_pipeline, "sends of stages", "software.overlap.pipeline=true"},
      {has_experts && model->shared_experts > 0 && parallel.expert > 1 && !training.experts.overlap_shared,
       "shared experts", "experts.overlap_shared=true"},
      {has_experts && is_piped && !training.overlaps() && is_one_behind_the_other(training.schedule), "passes",
       "schedule.overlap_passes=true"},
  };
  for (const auto& row : rows)
    if (row.is_missing) job.add(fmt::format("overlap of {}", row.name), {fmt::format("workload.{}", row.setting)});
  if (parallel.tensor() == 1 || model == nullptr) return;
  const ConfigValue* tensor = job.at("software.overlap.tensor");
  constexpr std::string_view kPath = "workload.software.overlap.tensor";
  add_others(job, "tensor overlap", kPath, tensor, std::array<std::string_view, 1>{"weight-gradient"});
  if (parallel.sequence) add_others(job, "tensor overlap", kPath, tensor, std::array<std::string_view, 1>{"pieces"});
}

// Smaller gradients, and larger or smaller buckets of them.
void gradients(NeighbourJob& job) {
  if (job.training().parallel.replicas() == 1) return;
  job.add_lever("gradients");
  if (!job.training().software.overlap_gradients) return;
  job.add("buckets twice as large", {"workload.overlap.bucket*=2"});
  job.add("buckets half as large", {"workload.overlap.bucket*=0.5"});
}

void loss(NeighbourJob& job) { job.add_lever("loss.chunks"); }

// More kernels in CUDA graphs, where launching them takes time.
void graphs(NeighbourJob& job) {
  const ConfigValue *launch = job.at("software.host.launch"), *now = job.at("software.host.graphs");
  if (launch == nullptr || now == nullptr) return;
  const Parsed<Duration> time = parse_quantity<Duration>(launch->scalar);
  if (!time.value || *time.value <= Duration::zero()) return;
  if (now->scalar == "none")
    job.add("CUDA graphs of kernels of constant sizes", {"workload.software.host.graphs=dense"});
  if (now->scalar == "dense") job.add("a CUDA graph of the whole step", {"workload.software.host.graphs=step"});
}

// Other ways to whole matrices, where the optimizer needs them.
void matrices(NeighbourJob& job) {
  constexpr std::array<std::string_view, 4> kModes = {"duplicated", "distributed", "layer-wise", "blockwise"};
  add_others(job, "matrices", "workload.optimizer.matrices.mode", job.at("optimizer.matrices.mode"), kModes);
}

// Offloaded states and activations back on the device; and the update by the other of host and device.
void offload(NeighbourJob& job) {
  for (const std::string_view key : {"states", "activations"})
    if (job.real(fmt::format("offload.{}", key)) > 0)
      job.add(fmt::format("{} on the device", key), {fmt::format("workload.offload.{}=0", key)});
  const ConfigValue* update = job.at("offload.update");
  if (job.real("offload.states") <= 0 || update == nullptr) return;
  const std::string_view other = update->scalar == "host" ? "device" : "host";
  job.add(fmt::format("update by the {}", other), {fmt::format("workload.offload.update={}", other)});
}

// Others of the precisions that jobs train in, where the devices of all nodes have the peak. The recipe follows.
void precision(NeighbourJob& job) {
  const ConfigValue *now = job.at("precision"), *peaks = value_at_path(job.resolved(), "cluster.node.device.peak");
  if (now == nullptr || peaks == nullptr || job.transformer() == nullptr) return;
  constexpr std::array<std::string_view, 4> kTrained = {"bf16", "fp8", "mxfp8", "nvfp4"};
  if (std::ranges::find(kTrained, now->scalar) == kTrained.end()) return;
  for (const std::string_view other : kTrained) {
    if (other == now->scalar || peaks->find(other) == nullptr) continue;
    std::vector<std::string> settings = {fmt::format("workload.precision={}", other)};
    if (job.at("recipe") != nullptr) settings.emplace_back("workload.recipe=default");
    job.add(fmt::format("precision {}", other), std::move(settings));
  }
}

constexpr NeighbourKind kOtherKinds[] = {
    {"order of ranks", order_of_ranks, true},
    {"shards", shards, true},
    {"recomputation", modules, true},
    {"dispatch", dispatch},
    {"balance of experts", balance_of_experts},
    {"overlap", overlaps},
    {"gradients", gradients},
    {"loss", loss},
    {"CUDA graphs", graphs},
    {"optimizer", matrices},
    {"offload", offload},
    {"precision", precision},
};

}  // namespace

std::span<const NeighbourKind> kinds_of_settings() { return kOtherKinds; }

}  // namespace orrery::study
