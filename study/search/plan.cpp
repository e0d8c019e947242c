// SPDX-License-Identifier: MIT
#include "study/search/plan.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "core/config/other_names.h"
#include "core/config/quantity_text.h"
#include "workload/training/spec/mixer_sizes.h"

namespace orrery::study {
namespace {

using workload::ParallelDimension;
using workload::ScheduleKind;

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
    {"offload", "workload.offload.states", "offload_states"},
    {"schedule", "workload.schedule.kind", "schedule"},
    {"context_kind", "workload.parallel.context_kind", "ck"},
}};

const KeyText& text_of(PlanKey key) { return kKeys[static_cast<std::size_t>(key)]; }

constexpr std::array<std::string_view, 3> kRecomputeNames = {"none", "selective", "full"};
constexpr std::array<std::string_view, 4> kContextNames = {"ring", "all-gather", "all-to-all", "all-to-all+ring"};
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

std::int64_t schedule_value(ScheduleKind kind) {
  return static_cast<std::int64_t>(is_one_behind_the_other(kind) ? ScheduleKind::kOneForwardOneBackward : kind);
}

bool passes_round(workload::ContextKind kind) {
  return kind == workload::ContextKind::kRing || kind == workload::ContextKind::kAllToAllRing;
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
      PlanKey::kTensor,      PlanKey::kPipeline,  PlanKey::kSchedule, PlanKey::kVirtualStages, PlanKey::kContext,
      PlanKey::kContextKind, PlanKey::kData,      PlanKey::kExpert,   PlanKey::kZero,          PlanKey::kSequence,
      PlanKey::kMicro,       PlanKey::kRecompute, PlanKey::kOffload};

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
    if (key == PlanKey::kVirtualStages || key == PlanKey::kSchedule) return plan_[PlanKey::kPipeline] > 1;
    if (key == PlanKey::kZero) return has_replicas();
    if (key == PlanKey::kContextKind) return plan_[PlanKey::kContext] > 1;
    return key != PlanKey::kSequence || plan_[PlanKey::kTensor] > 1;
  }

  bool has_replicas() const { return plan_[PlanKey::kData] * plan_[PlanKey::kContext] > 1 || base_.parallel.both_ways; }

  std::int64_t rest() const {
    return devices_ / (plan_[PlanKey::kTensor] * plan_[PlanKey::kPipeline] * plan_[PlanKey::kContext]);
  }

  // Values of a key, with the keys before it as they are. What a user asks for is tried though we would not.
  std::vector<std::int64_t> values_of(PlanKey key, const std::vector<std::int64_t>& allowed) const {
    const workload::TransformerSpec* model = base_.transformer();
    switch (key) {
      case PlanKey::kTensor:
        return model == nullptr ? std::vector<std::int64_t>{1} : divisors_of(devices_, model->heads);
      case PlanKey::kPipeline:
        return model == nullptr ? std::vector<std::int64_t>{1} : divisors_of(rest(), model->layers);
      case PlanKey::kSchedule:
        return schedules(allowed);
      case PlanKey::kVirtualStages:
        return virtual_stages(allowed);
      case PlanKey::kContext:
        if (model == nullptr) return {1};
        return divisors_of(
            rest(), allowed.empty() ? std::max<std::int64_t>(model->sequence / kLeastTokens, 1) : model->sequence);
      case PlanKey::kContextKind:
        return context_kinds(allowed);
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
      case PlanKey::kOffload:
        return offloaded(allowed);
    }
    return {};
  }

  // It is slower: a job that needs it tries without, as other keys may leave room.
  std::vector<std::int64_t> offloaded(const std::vector<std::int64_t>& allowed) const {
    const std::int64_t own = plan_of(base_)[PlanKey::kOffload];
    if (!allowed.empty()) return allowed;
    return own > 0 ? std::vector<std::int64_t>{0, own} : std::vector<std::int64_t>{0};
  }

  // Kinds to try: the job's; all-to-all, where heads divide, for every job, and a ring for one by all-to-all.
  std::vector<std::int64_t> context_kinds(const std::vector<std::int64_t>& allowed) const {
    const auto number = [](workload::ContextKind kind) { return static_cast<std::int64_t>(kind); };
    if (plan_[PlanKey::kContext] == 1) return {number(base_.parallel.context_kind)};
    if (!allowed.empty()) return allowed;
    const workload::TransformerSpec& model = *base_.transformer();
    const bool has_ring = !workload::limits_sight(model);
    const std::int64_t whole = number(workload::ContextKind::kAllToAll);
    const std::int64_t other = number(has_ring ? workload::ContextKind::kRing : workload::ContextKind::kAllGather);
    const std::int64_t own =
        has_ring || !passes_round(base_.parallel.context_kind) ? number(base_.parallel.context_kind) : other;
    if (own == whole) return {whole, other};
    if (model.heads / plan_[PlanKey::kTensor] % plan_[PlanKey::kContext] != 0) return {own};
    return {own, whole};
  }

  // Behind a pipeline most frameworks share the optimizer's states only: each micro-batch would exchange gradients.
  std::vector<std::int64_t> zero_stages(const std::vector<std::int64_t>& allowed) const {
    if (!has_replicas()) return {0};
    const bool is_usual = plan_[PlanKey::kPipeline] == 1 || !allowed.empty() || base_.parallel.zero > 1;
    return is_usual ? std::vector<std::int64_t>{0, 1, 2, 3} : std::vector<std::int64_t>{0, 1};
  }

  // A framework that has one of the zero-bubble schedules has the others.
  std::vector<std::int64_t> schedules(const std::vector<std::int64_t>& allowed) const {
    const std::int64_t own = schedule_value(base_.schedule);
    if (plan_[PlanKey::kPipeline] == 1 || base_.transformer() == nullptr) return {own};
    if (!allowed.empty()) return allowed;
    if (!workload::splits_all(base_.schedule)) return {own};
    std::vector<std::int64_t> values;
    for (const auto kind : {ScheduleKind::kOneForwardOneBackward, ScheduleKind::kZeroBubble,
                            ScheduleKind::kZeroBubbleH2, ScheduleKind::kZeroBubbleV})
      values.push_back(schedule_value(kind));
    return values;
  }

  // Numbers of virtual stages among which the layers divide.
  std::vector<std::int64_t> virtual_stages(const std::vector<std::int64_t>& allowed) const {
    const std::int64_t stages = plan_[PlanKey::kPipeline];
    if (!is_one_behind_the_other(static_cast<ScheduleKind>(plan_[PlanKey::kSchedule]))) return {1};
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

// Drops modules that recomputation as a whole computes again.
void drop_modules(workload::TrainingSpec& training) {
  const bool selects = training.recompute == workload::Recompute::kSelective;
  if (training.recompute == workload::Recompute::kFull ||
      (selects && training.software.selective == workload::SelectiveKind::kOperators))
    training.recompute_modules = {};
  if (selects && workload::attention_of(training) == workload::AttentionKind::kPlain)
    training.recompute_modules.core = false;
}

// Drops what experts on one rank do not need, and copies of experts that ranks do not have as many of as others.
// Experts that drop tokens do so on one rank as well.
void drop_of_experts(workload::TrainingSpec& training) {
  workload::ExpertSpec& experts = training.experts;
  workload::Parallelism& parallel = training.parallel;
  const bool drops = experts.capacity > 0 && !experts.pads;
  if (parallel.expert == 1) {
    experts.dispatch = {};
    experts.overlap_shared = false;
    if (!drops) {
      parallel.expert_skew = 0;
      parallel.expert_seed = workload::Parallelism().expert_seed;
      experts.redundant = 0;
    }
  }
  if (const workload::TransformerSpec* model = training.transformer())
    experts.redundant =
        std::max<std::int64_t>(0, experts.redundant - (model->experts + experts.redundant) % parallel.expert);
}

// Drops settings that mean nothing with or without full recomputation, without experts on several ranks, or without
// sharding.
void drop_what_means_nothing(workload::TrainingSpec& training) {
  if (training.recompute != workload::Recompute::kFull) training.keep = {};
  drop_modules(training);
  drop_of_experts(training);
  if (training.parallel.context_ring() == 1 && training.parallel.context_kind != workload::ContextKind::kAllGather)
    training.parallel.context_balance = workload::ContextBalance::kZigzag;
  const std::int64_t inner = training.parallel.context_inner;
  if (inner > 0 && (training.parallel.context_kind != workload::ContextKind::kAllToAllRing ||
                    training.parallel.context() % inner != 0))
    training.parallel.context_inner = 0;
  const std::int64_t shard = training.parallel.shard;
  if (shard > 0 && (training.parallel.zero == 0 || training.parallel.replicas() % shard != 0 ||
                    shard * training.parallel.expert_columns() % training.parallel.expert != 0))
    training.parallel.shard = 0;
}

// The layers of other stages than the base has: by its rule if they divide so.
void place_layers(const workload::TrainingSpec& base, workload::TrainingSpec& training) {
  training.layout_predictions.reset();
  training.pipeline_layers.clear();
  if (!base.layer_rule.is_even() && training.transformer() != nullptr && !training.layers_by_rule().empty()) return;
  training.layer_rule = {};
  training.pipeline_layers = layers_of(base, training.model_stages());
}

// Groups of micro-batches that keep the pipeline full: the base's, else the shortest ones.
void choose_group(workload::TrainingSpec& training) {
  const bool interleaves = training.schedule == ScheduleKind::kInterleaved;
  const std::int64_t stages = training.parallel.pipeline();
  if (!interleaves || training.global_batch % (training.parallel.data() * training.micro_batch) != 0) {
    training.schedule_group = 0;
    return;
  }
  if (workload::is_group(training.group(), training.micro_batches(), stages)) return;
  const std::int64_t shortest = workload::shortest_group(training.micro_batches(), stages);
  training.schedule_group = shortest == stages ? 0 : shortest;
}

// States that go to hosts in a plan are updated by devices where hosts cannot: it is not known how fast they are, or
// the optimizer has products of matrices.
void offload_states(workload::TrainingSpec& training, double share) {
  workload::OffloadSpec& offload = training.offload;
  offload.states = share;
  if (share > 0 && (!offload.host.update || training.optimizer.matrices)) offload.on_host = false;
}

std::int64_t& degree(workload::TrainingSpec& training, ParallelDimension dimension) {
  return training.parallel.degrees[static_cast<std::size_t>(dimension)];
}

}  // namespace

std::string_view name_of(PlanKey key) { return text_of(key).name; }

std::string_view path_of(PlanKey key) { return text_of(key).path; }

bool is_one_behind_the_other(ScheduleKind kind) {
  return kind == ScheduleKind::kOneForwardOneBackward || kind == ScheduleKind::kInterleaved;
}

std::optional<PlanKey> plan_key_named(std::string_view name) {
  const std::string path = plain_path(name);
  const auto found = std::ranges::find_if(
      kKeys, [&](const KeyText& key) { return name == key.name || path == key.path || name == key.alias; });
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
  if (key == PlanKey::kSchedule) return std::string(workload::name_of(static_cast<ScheduleKind>(value)));
  if (key == PlanKey::kContextKind) return std::string(kContextNames[static_cast<std::size_t>(value)]);
  if (key == PlanKey::kSequence) return value != 0 ? "true" : "false";
  return fmt::format("{}", value);
}

bool has_words(PlanKey key) {
  return key == PlanKey::kRecompute || key == PlanKey::kSchedule || key == PlanKey::kContextKind;
}

std::optional<std::int64_t> plan_value(PlanKey key, std::string_view text) {
  const auto place_in = [&](const auto& names) {
    const auto found = std::ranges::find(names, text);
    return found == names.end() ? std::nullopt : std::optional<std::int64_t>(found - names.begin());
  };
  if (key == PlanKey::kRecompute) return place_in(kRecomputeNames);
  if (key == PlanKey::kContextKind) return place_in(kContextNames);
  if (key == PlanKey::kSchedule) {
    for (std::size_t kind = 0; kind < workload::kScheduleKindCount; ++kind)
      if (text == workload::name_of(static_cast<ScheduleKind>(kind)))
        return schedule_value(static_cast<ScheduleKind>(kind));
    return std::nullopt;
  }
  if (key == PlanKey::kSequence)
    return text == "true"    ? std::optional<std::int64_t>(1)
           : text == "false" ? std::optional<std::int64_t>(0)
                             : std::nullopt;
  const std::optional<std::int64_t> number = parse_whole_number(text);
  if (key == PlanKey::kOffload) return number && *number >= 0 && *number <= 100 ? number : std::nullopt;
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
  plan[PlanKey::kOffload] = std::llround(training.offload.states * 100);
  plan[PlanKey::kSchedule] = schedule_value(training.schedule);
  plan[PlanKey::kContextKind] = static_cast<std::int64_t>(training.parallel.context_kind);
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
  training.parallel.context_kind = static_cast<workload::ContextKind>(plan[PlanKey::kContextKind]);
  training.virtual_stages = plan[PlanKey::kVirtualStages];
  if (plan[PlanKey::kOffload] != plan_of(base)[PlanKey::kOffload])
    offload_states(training, static_cast<double>(plan[PlanKey::kOffload]) / 100);
  drop_what_means_nothing(training);
  training.schedule = static_cast<ScheduleKind>(plan[PlanKey::kSchedule]);
  training.parallel.both_ways = training.schedule == ScheduleKind::kDualPipe;
  if (!is_one_behind_the_other(training.schedule))
    training.overlap_passes = base.overlap_passes && training.schedule == base.schedule;
  if (is_one_behind_the_other(training.schedule) && training.virtual_stages > 1)
    training.schedule = ScheduleKind::kInterleaved;
  choose_group(training);
  const Plan own = plan_of(base);
  if (own[PlanKey::kPipeline] != plan[PlanKey::kPipeline] ||
      own[PlanKey::kVirtualStages] != plan[PlanKey::kVirtualStages] || base.model_stages() != training.model_stages())
    place_layers(base, training);
  return training;
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
