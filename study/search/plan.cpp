// SPDX-License-Identifier: MIT
#include "study/search/plan.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "core/config/quantity_text.h"

namespace orrery::study {
namespace {

using workload::ParallelDimension;

struct KeyText {
  std::string_view name;
  std::string_view path;
  std::string_view alias;
};

constexpr std::array<KeyText, kPlanKeyCount> kKeys = {{
    {"tensor", "workload.parallel.tensor", "tp"},
    {"pipeline", "workload.parallel.pipeline", "pp"},
    {"virtual_stages", "workload.schedule.virtual_stages", "vp"},
    {"context", "workload.parallel.context", "cp"},
    {"data", "workload.parallel.data", "dp"},
    {"expert", "workload.parallel.expert", "ep"},
    {"zero", "workload.parallel.zero", "fsdp"},
    {"sequence", "workload.parallel.sequence", "sp"},
    {"micro", "workload.batch.micro", "mbs"},
    {"recompute", "workload.recompute", "ac"},
}};

const KeyText& text_of(PlanKey key) { return kKeys[static_cast<std::size_t>(key)]; }

constexpr std::array<std::string_view, 3> kRecomputeNames = {"none", "selective", "full"};
constexpr std::int64_t kLeastTokens = 1024;  // of a sequence on a context-parallel rank
constexpr std::int64_t kMostVirtualStages = 16;

std::vector<std::int64_t> divisors_of(std::int64_t number, std::int64_t most) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t i = 1; i <= std::min(number, most); ++i)
    if (number % i == 0) divisors.push_back(i);
  return divisors;
}

// True if the layers divide evenly when the embedding and the head count as one each.
bool has_room_for_ends(const workload::TransformerSpec& model, std::int64_t chunks) {
  return chunks > 1 && (model.layers + 2) % chunks == 0 && model.layers >= 2 * chunks - 2;
}

// Numbers of layers of the chunks in order; empty if all have the same.
std::vector<std::int64_t> layers_of(const workload::TrainingSpec& base, std::int64_t chunks) {
  const workload::TransformerSpec* model = base.transformer();
  if (model == nullptr || model->layers % chunks == 0 || model->layers < chunks) return {};
  if (has_room_for_ends(*model, chunks)) {
    std::vector<std::int64_t> layers(static_cast<std::size_t>(chunks), (model->layers + 2) / chunks);
    --layers.front(), --layers.back();
    return layers;
  }
  std::vector<std::int64_t> layers(static_cast<std::size_t>(chunks), model->layers / chunks);
  const std::int64_t longer = model->layers % chunks;
  for (std::int64_t i = 0; i < longer; ++i) ++layers[static_cast<std::size_t>((chunks - longer) / 2 + i)];
  return layers;
}

bool is_one_behind_the_other(workload::ScheduleKind kind) {
  return kind == workload::ScheduleKind::kOneForwardOneBackward || kind == workload::ScheduleKind::kInterleaved;
}

// Goes through all values of all keys but `data`, which is the rest.
class Enumeration {
 public:
  Enumeration(const workload::TrainingSpec& base, std::int64_t devices, const PlanRanges& ranges)
      : base_(base), devices_(devices), ranges_(ranges) {}

  std::vector<Plan> take() && {
    choose(0);
    return std::move(plans_);
  }

 private:
  static constexpr std::array kOrder = {
      PlanKey::kTensor, PlanKey::kPipeline, PlanKey::kVirtualStages, PlanKey::kContext, PlanKey::kData,
      PlanKey::kExpert, PlanKey::kZero,     PlanKey::kSequence,      PlanKey::kMicro,   PlanKey::kRecompute};

  void choose(std::size_t depth) {
    if (depth == kOrder.size()) return plans_.push_back(plan_);
    const PlanKey key = kOrder[depth];
    const std::vector<std::int64_t>& allowed = ranges_[static_cast<std::size_t>(key)];
    for (const std::int64_t value : values_of(key, allowed)) {
      if (!allowed.empty() && matters(key) && std::ranges::find(allowed, value) == allowed.end()) continue;
      plan_[key] = value;
      choose(depth + 1);
    }
    plan_[key] = Plan()[key];
  }

  // True if the key can make a difference, given those before it.
  bool matters(PlanKey key) const {
    if (key == PlanKey::kVirtualStages) return plan_[PlanKey::kPipeline] > 1;
    if (key == PlanKey::kZero) return has_replicas();
    return key != PlanKey::kSequence || plan_[PlanKey::kTensor] > 1;
  }

  bool has_replicas() const { return plan_[PlanKey::kData] * plan_[PlanKey::kContext] > 1 || base_.parallel.both_ways; }

  std::int64_t rest() const {
    return devices_ / (plan_[PlanKey::kTensor] * plan_[PlanKey::kPipeline] * plan_[PlanKey::kContext]);
  }

  // With the keys before it as they are. What a user asks for is tried though we would not.
  std::vector<std::int64_t> values_of(PlanKey key, const std::vector<std::int64_t>& allowed) const {
    const workload::TransformerSpec* model = base_.transformer();
    switch (key) {
      case PlanKey::kTensor:
        return model == nullptr ? std::vector<std::int64_t>{1} : divisors_of(devices_, model->heads);
      case PlanKey::kPipeline:
        return model == nullptr ? std::vector<std::int64_t>{1} : divisors_of(rest(), model->layers);
      case PlanKey::kVirtualStages:
        return virtual_stages(allowed);
      case PlanKey::kContext:
        if (model == nullptr) return {1};
        return divisors_of(
            rest(), allowed.empty() ? std::max<std::int64_t>(model->sequence / kLeastTokens, 1) : model->sequence);
      case PlanKey::kData:
        return {rest()};
      case PlanKey::kExpert:
        if (model == nullptr || model->experts == 0) return {1};
        return divisors_of(model->experts, plan_[PlanKey::kData] * plan_[PlanKey::kContext] *
                                               (base_.parallel.expert_tensor == 1 ? plan_[PlanKey::kTensor] : 1));
      case PlanKey::kZero:
        return zero_stages(allowed);
      case PlanKey::kSequence:
        return plan_[PlanKey::kTensor] > 1 ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{0};
      case PlanKey::kMicro:
        return micro_batches(allowed);
      case PlanKey::kRecompute:
        return model == nullptr ? std::vector<std::int64_t>{plan_of(base_)[PlanKey::kRecompute]}
                                : std::vector<std::int64_t>{0, 1, 2};
    }
    return {};
  }

  // Behind a pipeline most frameworks share the optimizer's states only: each micro-batch would exchange gradients.
  std::vector<std::int64_t> zero_stages(const std::vector<std::int64_t>& allowed) const {
    if (!has_replicas()) return {0};
    const bool is_usual = plan_[PlanKey::kPipeline] == 1 || !allowed.empty() || base_.parallel.zero > 1;
    return is_usual ? std::vector<std::int64_t>{0, 1, 2, 3} : std::vector<std::int64_t>{0, 1};
  }

  // Numbers of virtual stages among which the layers divide.
  std::vector<std::int64_t> virtual_stages(const std::vector<std::int64_t>& allowed) const {
    const std::int64_t stages = plan_[PlanKey::kPipeline];
    if (!is_one_behind_the_other(base_.schedule)) return {base_.virtual_stages};
    const workload::TransformerSpec* model = base_.transformer();
    if (model == nullptr || stages == 1) return {1};
    if (!allowed.empty()) return allowed;
    std::vector<std::int64_t> values = {1};
    for (std::int64_t v = 2; v <= kMostVirtualStages && stages * v <= model->layers; ++v)
      if (model->layers % (stages * v) == 0 || has_room_for_ends(*model, stages * v)) values.push_back(v);
    return values;
  }

  std::vector<std::int64_t> micro_batches(const std::vector<std::int64_t>& allowed) const {
    const std::int64_t data = plan_[PlanKey::kData];
    if (base_.global_batch % data != 0) return {1};
    const std::int64_t of_replica = base_.global_batch / data;
    if (!allowed.empty()) return allowed;
    if (base_.transformer() == nullptr) return divisors_of(of_replica, of_replica);
    std::vector<std::int64_t> values;
    for (std::int64_t micro = 1; micro <= of_replica && of_replica % micro == 0; micro *= 2) values.push_back(micro);
    return values;
  }

  const workload::TrainingSpec& base_;
  const std::int64_t devices_;
  const PlanRanges& ranges_;
  Plan plan_;
  std::vector<Plan> plans_;
};

// Drops settings that mean nothing without full recomputation, without experts on several ranks, or without sharding.
void drop_what_means_nothing(workload::TrainingSpec& training) {
  if (training.recompute != workload::Recompute::kFull) training.keep = {};
  if (training.parallel.expert == 1) {
    training.parallel.expert_skew = 0;
    training.parallel.expert_seed = workload::Parallelism().expert_seed;
    training.experts.dispatch = {};
    training.experts.overlap_shared = false;
  }
  const std::int64_t shard = training.parallel.shard;
  if (shard > 0 && (training.parallel.zero == 0 || training.parallel.replicas() % shard != 0))
    training.parallel.shard = 0;
}

std::int64_t& degree(workload::TrainingSpec& training, ParallelDimension dimension) {
  return training.parallel.degrees[static_cast<std::size_t>(dimension)];
}

}  // namespace

std::string_view name_of(PlanKey key) { return text_of(key).name; }

std::optional<PlanKey> plan_key_named(std::string_view name) {
  const auto found = std::ranges::find_if(
      kKeys, [&](const KeyText& key) { return name == key.name || name == key.path || name == key.alias; });
  if (found == kKeys.end()) return std::nullopt;
  return static_cast<PlanKey>(found - kKeys.begin());
}

std::vector<std::string> plan_key_names() {
  std::vector<std::string> names;
  for (const KeyText& key : kKeys) names.emplace_back(key.name);
  return names;
}

std::string value_text(PlanKey key, std::int64_t value) {
  if (key == PlanKey::kRecompute) return std::string(kRecomputeNames[static_cast<std::size_t>(value)]);
  if (key == PlanKey::kSequence) return value != 0 ? "true" : "false";
  return fmt::format("{}", value);
}

std::optional<std::int64_t> plan_value(PlanKey key, std::string_view text) {
  if (key == PlanKey::kRecompute) {
    const auto found = std::ranges::find(kRecomputeNames, text);
    return found == kRecomputeNames.end() ? std::nullopt : std::optional<std::int64_t>(found - kRecomputeNames.begin());
  }
  if (key == PlanKey::kSequence)
    return text == "true"    ? std::optional<std::int64_t>(1)
           : text == "false" ? std::optional<std::int64_t>(0)
                             : std::nullopt;
  const std::optional<std::int64_t> number = parse_whole_number(text);
  const bool is_zero = key == PlanKey::kZero;
  if (!number || *number < (is_zero ? 0 : 1) || (is_zero && *number > 3)) return std::nullopt;
  return number;
}

Plan plan_of(const workload::TrainingSpec& training) {
  Plan plan;
  plan[PlanKey::kTensor] = training.parallel.tensor();
  plan[PlanKey::kPipeline] = training.parallel.pipeline();
  plan[PlanKey::kVirtualStages] = training.virtual_stages;
  plan[PlanKey::kContext] = training.parallel.context();
  plan[PlanKey::kData] = training.parallel.data();
  plan[PlanKey::kExpert] = training.parallel.expert;
  plan[PlanKey::kZero] = training.parallel.zero;
  plan[PlanKey::kSequence] = training.parallel.sequence ? 1 : 0;
  plan[PlanKey::kMicro] = training.micro_batch;
  plan[PlanKey::kRecompute] = static_cast<std::int64_t>(training.recompute);
  return plan;
}

workload::TrainingSpec with_plan(const workload::TrainingSpec& base, const Plan& plan) {
  workload::TrainingSpec training = base;
  degree(training, ParallelDimension::kTensor) = plan[PlanKey::kTensor];
  degree(training, ParallelDimension::kPipeline) = plan[PlanKey::kPipeline];
  degree(training, ParallelDimension::kContext) = plan[PlanKey::kContext];
  degree(training, ParallelDimension::kData) = plan[PlanKey::kData];
  training.parallel.expert = plan[PlanKey::kExpert];
  training.parallel.zero = plan[PlanKey::kZero];
  training.parallel.sequence = plan[PlanKey::kSequence] != 0;
  training.micro_batch = plan[PlanKey::kMicro];
  training.recompute = static_cast<workload::Recompute>(plan[PlanKey::kRecompute]);
  training.virtual_stages = plan[PlanKey::kVirtualStages];
  drop_what_means_nothing(training);
  if (is_one_behind_the_other(base.schedule))
    training.schedule = training.virtual_stages > 1 ? workload::ScheduleKind::kInterleaved
                                                    : workload::ScheduleKind::kOneForwardOneBackward;
  const Plan own = plan_of(base);
  if (own[PlanKey::kPipeline] != plan[PlanKey::kPipeline] ||
      own[PlanKey::kVirtualStages] != plan[PlanKey::kVirtualStages])
    training.pipeline_layers = layers_of(base, training.model_stages());
  return training;
}

std::vector<std::string> settings_of(const workload::TrainingSpec& base, const Plan& plan) {
  const workload::TrainingSpec training = with_plan(base, plan);
  std::vector<std::string> settings;
  for (std::size_t i = 0; i < kPlanKeyCount; ++i)
    settings.push_back(fmt::format("{}={}", kKeys[i].path, value_text(static_cast<PlanKey>(i), plan.values[i])));
  if (is_one_behind_the_other(base.schedule))
    settings.push_back(fmt::format("workload.schedule.kind={}", workload::name_of(training.schedule)));
  if (training.keep != base.keep) settings.emplace_back("workload.keep=[]");
  if (training.parallel.expert_skew != base.parallel.expert_skew)
    settings.emplace_back("workload.parallel.expert_skew=0");
  if (training.parallel.expert_seed != base.parallel.expert_seed)
    settings.push_back(fmt::format("workload.parallel.expert_seed={}", training.parallel.expert_seed));
  if (training.experts.dispatch.name != base.experts.dispatch.name)
    settings.push_back(fmt::format("workload.experts.dispatch={}", training.experts.dispatch.name));
  if (training.experts.overlap_shared != base.experts.overlap_shared)
    settings.emplace_back("workload.experts.overlap_shared=false");
  if (training.parallel.shard != base.parallel.shard) settings.emplace_back("workload.parallel.shard=0");
  if (!base.pipeline_layers.empty() || !training.pipeline_layers.empty())
    settings.push_back(fmt::format("workload.pipeline_layers=[{}]", fmt::join(training.layers_of_stages(), ", ")));
  return settings;
}

std::vector<std::string> settings_of_one_rank() {
  const Plan plain;
  std::vector<std::string> settings;
  for (std::size_t i = 0; i < kPlanKeyCount; ++i)
    if (static_cast<PlanKey>(i) != PlanKey::kRecompute)
      settings.push_back(fmt::format("{}={}", kKeys[i].path, value_text(static_cast<PlanKey>(i), plain.values[i])));
  std::ranges::copy(settings_without_plan(), std::back_inserter(settings));
  return settings;
}

std::vector<std::string> settings_without_plan() {
  return {"workload.pipeline_layers=even", "workload.parallel.shard=0"};
}

std::vector<Plan> all_plans(const workload::TrainingSpec& base, std::int64_t devices, const PlanRanges& ranges) {
  std::vector<Plan> plans = Enumeration(base, devices, ranges).take();
  const Plan own = plan_of(base);
  const auto is_allowed = [&](std::size_t key) {
    return ranges[key].empty() || std::ranges::find(ranges[key], own.values[key]) != ranges[key].end();
  };
  bool belongs = base.parallel.ranks() == devices && std::ranges::find(plans, own) == plans.end();
  for (std::size_t key = 0; key < kPlanKeyCount; ++key) belongs = belongs && is_allowed(key);
  if (belongs) plans.push_back(own);
  return plans;
}

}  // namespace orrery::study
